package build

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// number is the first number of a line of a score, behind no letter: that of rouge1 is none.
var number = regexp.MustCompile(`(?:^|[^\pL\pN_.])([0-9]+(?:\.[0-9]+)?)`)

// score is the accuracy of a result with five significant figures; of runs of other programs,
// the metrics that accuracy.txt has of the benchmark, or else the first number in it.
func (b *builder) score(r *result) string {
	if run := r.accuracy.results; run != nil && run.Accuracy != nil {
		text, err := round(fmt.Sprintf("%.12f", run.Accuracy.Value))
		if err == nil {
			return strings.TrimSpace(run.Accuracy.Metric + " " + text + " " + run.Accuracy.Unit)
		}
	}
	data, err := fileio.ReadFile(filepath.Join(r.accuracy.folder, scoreFile), largestText)
	if err != nil {
		return ""
	}
	if text := metricsIn(string(data), b.round.Model(r.benchmark).AccuracyOf(r.scenario)); text != "" {
		return text
	}
	if m := number.FindStringSubmatch(string(data)); m != nil {
		text, _ := round(m[1]) // which is a number
		return text
	}
	return ""
}

// metricsIn are those that a text of lines has, with their names where there is more than one.
func metricsIn(text string, metrics []rounds.Metric) string {
	var list []string
	for _, m := range metrics {
		value := lastOf(m.Name, text)
		if value != "" && len(metrics) > 1 {
			value = m.Name + " " + value
		}
		if value != "" {
			list = append(list, value)
		}
	}
	return strings.Join(list, ", ")
}

// lastOf is the last value of a metric in a text of lines, rounded; empty: there is none.
func lastOf(metric, text string) (value string) {
	for line := range strings.Lines(text) {
		if written, ok := rounds.Match(metric, strings.TrimRight(line, "\r\n")); ok {
			value, _ = round(written) // what is no number is none
		}
	}
	return value
}

// readme says how a result came about.
func (b *builder) readme(r *result) (string, error) {
	value, unit, err := r.value(b)
	if err != nil {
		return "", err
	}
	var w strings.Builder
	fmt.Fprintf(&w, "# %s, %s\n\nRules %s, division %s, system %s.\n\n", b.modelFolder(r), r.scenario, b.Rules, b.Division, b.System)
	if r.from != nil {
		fmt.Fprintf(&w, "Inferred from %s, as the rules allow on edge systems: %s. Logs and tests are those of %s.\n\n", r.from.scenario, r.how(), r.from.scenario)
	}
	fmt.Fprintf(&w, "- Result: %.8g %s\n- Accuracy: %s (five significant figures, round half to even)\n", value, unit, b.score(r))
	run := r.performance.results
	if run == nil {
		version, _ := r.performance.log.Text("loadgen_version")
		fmt.Fprintf(&w, "- LoadGen: %s\n\n%s\n", version, checker.Placeholder("how the benchmark was run, command by command"))
		return w.String(), nil
	}
	fmt.Fprintf(&w, "- Program: %s, which is not an official LoadGen\n", run.Program)
	r.system(&w)
	w.WriteString("\n## Settings\n\nWhat the test had besides the defaults of the rules:\n\n")
	for _, s := range run.Settings {
		if !strings.HasPrefix(s.Origin, "rules ") {
			fmt.Fprintf(&w, "- %s = %s (%s)\n", s.Key, s.Value, s.Origin)
		}
	}
	for _, note := range run.Notes {
		fmt.Fprintf(&w, "\n%s.\n", note)
	}
	return w.String(), nil
}

// system says what answered the queries.
func (r *result) system(w *strings.Builder) {
	run := r.performance.results
	in, be := run.Input, run.Backend
	fmt.Fprintf(w, "- Model: %s, SHA-256 %s, precision %s\n", filepath.Base(in.ModelPath), in.ModelSHA256, orNotKnown(in.Precision))
	for _, line := range in.Binding {
		fmt.Fprintf(w, "- Model: %s\n", line)
	}
	fmt.Fprintf(w, "- Data: %d samples\n", in.Samples)
	fmt.Fprintf(w, "- Engine: %s, %d instances with %d threads each, batches of %d at most\n", be.Engine, be.Instances, be.Threads, be.MaxBatch)
}

func orNotKnown(text string) string {
	if text == "" {
		return report.NotKnown
	}
	return text
}

// sourceText says which program made a result.
func (b *builder) sourceText(r *result) string {
	if run := r.performance.results; run != nil {
		return fmt.Sprintf("# Code\n\nThe results were made with %s, which is one program: load generator, pre-processing, model and scores.\n", run.Program)
	}
	return "# Code\n\n" + checker.Placeholder("the code of the benchmark, and how it is built and run") + "\n"
}

// bandwidth writes what the rules ask of the network of a datacenter system: the formula's
// number for the rate that was measured, and how it is met.
func (b *builder) bandwidth(_ context.Context, results []*result) error {
	path := b.home() + "/documentation/bandwidth.md"
	if !strings.Contains(b.Description["system_type"], "datacenter") || b.keeps(path) {
		return nil
	}
	var w strings.Builder
	w.WriteString("# Bandwidth\n\nWhat the rules ask of a datacenter system's network, at the rates that were measured:\n\n")
	for _, r := range results {
		if s := r.asLogged(); s != "Offline" && s != "Server" {
			continue
		}
		line, err := b.needs(r)
		if err != nil {
			return err
		}
		w.WriteString("- " + r.name() + ": " + line + "\n")
	}
	statement := b.Bandwidth
	if statement == "" {
		statement = checker.Placeholder("how this bandwidth is there: measured with which tool, or provided by which network cards and links")
	}
	fmt.Fprintf(&w, "\n%s\n", statement)
	return b.write(path, []byte(w.String()))
}

// needs is the bandwidth that the rules' formula asks for.
func (b *builder) needs(r *result) (string, error) {
	rate, err := r.performance.log.Float(b.round.Metric[r.asLogged()]) // samples/s, where the result may be tokens/s
	if err != nil {
		return "", err
	}
	m, err := models.Lookup(r.benchmark)
	if err != nil {
		return fmt.Sprintf("%.6g/s; %s", rate, checker.Placeholder("the bandwidth of this model")), nil
	}
	bytes := map[string]int{"fp32": 4, "fp16": 2}[r.measured(b.Division)["input_data_types"]]
	if bytes == 0 {
		bytes = 1
	}
	need, err := config.MinBandwidth(m.Rules, rate, bytes)
	if err != nil {
		return fmt.Sprintf("%.6g/s; %v", rate, err), nil
	}
	return fmt.Sprintf("%.6g samples/s with %d bytes a value need %.4g bytes/s in and %.4g bytes/s out", rate, bytes, need.Ingress, need.Egress), nil
}
