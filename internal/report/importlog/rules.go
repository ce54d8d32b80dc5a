package importlog

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A context decides the rules that a run is compared with.
type context struct {
	model       *config.Model // nil: not known
	interactive bool
	rules       *config.RuleSet // nil: not known
	division    config.Division
}

// context finds the rules, from the user's words, the path and the version of LoadGen.
func (l *logs) context(about About) (context, error) {
	var c context
	dir, err := filepath.Abs(l.dir)
	if err != nil {
		return c, fmt.Errorf("the path of %s: %w", l.dir, err)
	}
	path := strings.Split(filepath.ToSlash(dir), "/")
	slices.Reverse(path) // the innermost counts
	name := about.Model
	if about.Model != "" {
		m, ok := models.Rules(about.Model)
		if !ok {
			return c, userinput.Errorf("model", "unknown model %q: must be the name of a benchmark in the rules", about.Model)
		}
		c.model = &m
	}
	for _, folder := range path {
		c.interactive = c.interactive || strings.EqualFold(folder, "interactive")
		if m, ok := models.Rules(folder); ok && c.model == nil {
			c.model, name = &m, folder
			l.note("the model is %s, as the path says", folder)
		}
	}
	if about.Rules == "" {
		l.guessRules(&c, path)
	} else if c.rules, err = config.Rules(about.Rules); err != nil {
		return c, userinput.Wrap("rules", err)
	}
	if c.model != nil && c.rules != nil {
		m, _ := models.RulesIn(c.rules.Version, name) // which it is known by
		m.Interactive = c.interactive
		c.model = &m
	}
	for _, folder := range path {
		if d, err := config.ParseDivision(folder); err == nil && folder != "" {
			c.division = d
			l.note("%v division, as the path says", d)
			break
		}
	}
	return c, nil
}

var (
	// roundName is the name of the repositories with the results of a round.
	roundName = regexp.MustCompile(`^inference_results_(v\d+\.\d+)$`)
	// versionNumber is that of a LoadGen since v1.0: 5.1.0 @ b9ed3c7fec.
	versionNumber = regexp.MustCompile(`^(\d+\.\d+)\b`)
)

// guessRules finds the round by the path, or else by the seeds, or else by the version of LoadGen: submitters often build an older one.
func (l *logs) guessRules(c *context, path []string) {
	for _, folder := range path {
		if m := roundName.FindStringSubmatch(folder); m != nil && l.setRules(c, m[1], "as the path says") {
			return
		}
	}
	if seed, err := l.detail.Uint("requested_qsl_rng_seed"); err == nil {
		if rules, known := config.RulesBySeed(seed); known {
			l.setRules(c, rules.Version, "by its seeds")
			return
		}
	}
	if m := versionNumber.FindStringSubmatch(l.text("loadgen_version", "")); m != nil {
		l.setRules(c, m[1], "by the version of LoadGen")
		return
	}
	// Before v1.0 all had the same number. v0.5 was in 2019, v0.7 in 2020.
	date := l.text("loadgen_git_commit_date", "")
	for year, round := range map[string]string{"2019": "v0.5", "2020": "v0.7"} {
		if strings.HasPrefix(date, year+"-") {
			l.setRules(c, round, "by the date of LoadGen")
		}
	}
}

// setRules takes rules by their version, and reports whether they exist.
func (l *logs) setRules(c *context, version, why string) bool {
	rules, err := config.Rules(version)
	if err != nil {
		return false
	}
	c.rules = rules
	l.note("rules %s, %s", rules.Version, why)
	return true
}

// compare compares the requested settings with the rules.
func (c context) compare(l *logs) (limitations report.Limitations, notes []string) {
	switch {
	case c.model == nil:
		return nil, []string{"the settings are not compared with rules: the model is not known"}
	case c.rules == nil:
		return nil, []string{"the settings are not compared with rules: the round is not known"}
	}
	official, differences, err := c.differences(l)
	if err != nil {
		return nil, []string{fmt.Sprintf("the settings are not compared with rules: %v", err)}
	}
	limitations, notes = c.remarks(differences, l.origin)
	return limitations, append(notes, official.Warnings...)
}

// remarks are differences as limitations, and as notes where nothing is easier or the division allows it.
func (c context) remarks(differences []config.Difference, origin func(key string) string) (limitations report.Limitations, notes []string) {
	for _, d := range differences {
		d.Origin, d.Role = origin(d.Key), limitation.Log
		switch {
		case d.Allowed:
			notes = append(notes, report.Remark(d.Limitation(), c.division.String()))
		case d.Easier:
			limitations = append(limitations, d.Limitation())
		default:
			notes = append(notes, report.Remark(d.Limitation(), ""))
		}
	}
	return limitations, notes
}

// differences returns the official settings, and the differences of the requested ones from them.
func (c context) differences(l *logs) (*config.Resolved, []config.Difference, error) {
	scenario, err := l.detail.Scenario()
	if err != nil {
		return nil, nil, err
	}
	official, err := config.Resolve(config.Request{Model: *c.model, Scenario: scenario, Rules: c.rules})
	if err != nil {
		return nil, nil, err
	}
	settings, err := l.detail.Requested(official.Settings)
	l.find(err)
	if settings.Mode == loadgen.PerformanceOnly {
		settings.WithoutEarlyStopping = !l.stopping
	}
	differences, err := official.Differences(settings, c.division)
	return official, differences, err
}
