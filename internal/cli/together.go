package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/suite"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// runTogether runs the benchmark of the request and those of --with at the same time.
func (o *runFlags) runTogether(cmd *cobra.Command, q run.Request) error {
	requests := []run.Request{q}
	for _, text := range o.with {
		more, err := tenants(q, text)
		if err != nil {
			return err
		}
		requests = append(requests, more...)
	}
	var list []*run.Resolved
	for i, r := range requests {
		if i > 0 && q.Output != "" {
			r.Output = filepath.Join(q.Output, fmt.Sprintf("with-%d", i))
		}
		resolved, err := run.Resolve(r)
		if err != nil {
			return err
		}
		list = append(list, resolved)
	}
	display := newDisplay(cmd)
	defer display.Done()
	display.About(fmt.Sprintf("%d benchmarks at the same time", len(list)))
	results, err := run.Together(cmd.Context(), list, display)
	display.Done()
	results = slices.DeleteFunc(results, func(r *report.Results) bool { return r == nil })
	w := cmd.OutOrStdout()
	if o.asJSON && len(results) > 0 {
		err = errors.Join(err, printJSON(w, "together", results))
	} else {
		for _, r := range results {
			err = errors.Join(err, report.Summary(w, r))
		}
		for i, r := range list {
			_ = say(w, "Logs and results %d: %s\n", i+1, r.Request.Output)
		}
		if all := run.Overlap(results); all > 0 && len(results) == len(list) {
			var shares []string
			for _, r := range results {
				shares = append(shares, fmt.Sprintf("%.0f %% of the traffic of %s %s", 100*float64(all)/float64(r.Performance.DurationNS), r.Model, r.Scenario))
			}
			_ = say(w, "At the same time for %s: %s\n", units.Duration(all), strings.Join(shares, ", "))
		}
	}
	for _, r := range results { // the first that is not VALID decides
		if status := exitOfRun(r, err); status != nil {
			return status
		}
	}
	return err
}

// ofAll reports whether a setting is for all benchmarks that run at the same time.
func ofAll(key string) bool { return key == "min_duration" || key == "max_duration" }

// tenants are the requests of one --with: MODEL/SCENARIO, with a rate MODEL/SCENARIO@RATE, or all performance runs of a suite.
func tenants(q run.Request, text string) ([]run.Request, error) {
	// What is of the one benchmark stays with it.
	q.Model, q.Scenario, q.ModelPath, q.DatasetPath, q.AuditConf, q.Profile, q.AutoLatency = "", "", "", "", "", "", false
	q.Settings = slices.DeleteFunc(slices.Clone(q.Settings), func(o config.Override) bool {
		return slices.ContainsFunc(settingFlags(), func(s setting) bool { return s.Key == o.Key && !ofAll(s.Key) })
	})
	q.Options, q.SLO = nil, nil
	model, rest, isOne := strings.Cut(text, "/")
	if !isOne || strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml") {
		s, err := suite.Load(text)
		if err != nil {
			return nil, userinput.Wrap("with", err)
		}
		plan, err := suite.NewPlan(s, suite.Request{Base: q, NoAccuracy: true})
		if err != nil {
			return nil, err
		}
		return plan.Performance(), nil
	}
	scenario, rate, hasRate := strings.Cut(rest, "@")
	if f, err := strconv.ParseFloat(rate, 64); hasRate && (err != nil || !(f > 0)) {
		return nil, userinput.Invalid("with", text, "MODEL/SCENARIO, or MODEL/SCENARIO@RATE with a rate above 0")
	}
	q.Model, q.Scenario = model, cmp.Or(scenario, "?")
	if hasRate {
		q.Settings = append(q.Settings, config.Override{Key: "target_qps", Value: rate, Origin: "flag --with", Role: limitation.Flag})
	}
	return []run.Request{q}, nil
}
