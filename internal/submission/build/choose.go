package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A result is what a folder of a scenario is made from.
type result struct {
	benchmark, scenario   string
	performance, accuracy *run
	audits                []*audit
	from                  *result // it is inferred from another scenario's; nil: measured
}

func (r *result) name() string { return r.benchmark + " " + r.scenario }

// A candidate may take a part of a result.
type candidate struct {
	part  string // performance, accuracy, or a test
	run   *run   // nil: the test has no logs of performance
	audit *audit
}

func (c candidate) folder() string {
	if c.audit != nil {
		return c.audit.folder
	}
	return c.run.folder
}

// candidates lists what was found, by the result that it is for.
func (f *found) candidates() map[[2]string][]candidate {
	all := map[[2]string][]candidate{}
	add := func(c candidate) {
		key := [2]string{c.run.benchmark, c.run.scenario}
		all[key] = append(all[key], c)
	}
	for _, r := range f.runs {
		if r.mode == loadgen.PerformanceOnly || r.mode == loadgen.SubmissionRun {
			add(candidate{part: "performance", run: r})
		}
		if r.mode == loadgen.AccuracyOnly || r.mode == loadgen.SubmissionRun {
			add(candidate{part: "accuracy", run: r})
		}
	}
	for _, a := range f.audits {
		add(candidate{part: a.test, run: a.run, audit: a})
	}
	return all
}

// results chooses a run for each part of each result, and adds those that are inferred.
func (b *builder) results(ctx context.Context) ([]*result, error) {
	f, err := b.find(ctx)
	if err != nil {
		return nil, err
	}
	var list []*result
	var errs []error
	for key, candidates := range f.candidates() {
		r, err := b.choose(key[0], key[1], candidates)
		list, errs = append(list, r), append(errs, err)
	}
	if len(list) == 0 {
		errs = append(errs, fmt.Errorf("no runs in %s: want folders with mlperf_log_detail.txt", strings.Join(b.Runs, ", ")))
	}
	if err := join(errs); err != nil {
		for _, run := range b.built.LeftOut { // which may be what is missing
			err = errors.Join(err, errors.New("left out: "+run))
		}
		return nil, err
	}
	if b.Infer {
		if list, err = b.infer(list); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(x, y *result) int { return strings.Compare(x.name(), y.name()) })
	slices.Sort(b.built.LeftOut)
	return list, err
}

// join joins errors in the order of their texts, as they come from a map.
func join(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	slices.SortFunc(errs, func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return errors.Join(errs...)
}

// choose makes a result of its candidates.
func (b *builder) choose(benchmark, scenario string, candidates []candidate) (*result, error) {
	r := &result{benchmark: benchmark, scenario: scenario}
	parts := map[string][]candidate{"performance": nil, "accuracy": nil} // which a result needs
	for _, c := range candidates {
		parts[c.part] = append(parts[c.part], c)
	}
	var errs []error
	for part, list := range parts {
		if len(list) == 0 {
			errs = append(errs, fmt.Errorf("%s: there is no %s run", r.name(), part))
			continue
		}
		c, err := b.one(r.name()+": "+part, list)
		if errs = append(errs, err); err == nil {
			r.take(c)
		}
	}
	slices.SortFunc(r.audits, func(x, y *audit) int { return strings.Compare(x.test, y.test) })
	if err := join(errs); err != nil {
		return r, err
	}
	return r, r.fits()
}

// take gives a candidate its part.
func (r *result) take(c candidate) {
	switch {
	case c.audit != nil:
		r.audits = append(r.audits, c.audit)
	case c.part == "performance":
		r.performance = c.run
	default:
		r.accuracy = c.run
	}
}

// one chooses one candidate for a part.
func (b *builder) one(part string, list []candidate) (candidate, error) {
	var may []candidate
	var refused []string
	for _, c := range list {
		if why := refuse(c.run, c.part, b.Division); why != "" {
			refused = append(refused, fmt.Sprintf("%s may not enter the division %s: %s", c.folder(), b.Division, why))
			continue
		}
		may = append(may, c)
	}
	if len(may) == 0 {
		return candidate{}, fmt.Errorf("%s: %s", part, strings.Join(refused, "\n"))
	}
	b.built.LeftOut = append(b.built.LeftOut, refused...)
	if len(may) > 1 && !b.Newest {
		folders := []string{}
		for _, c := range may {
			folders = append(folders, c.folder())
		}
		return candidate{}, fmt.Errorf("%s: %d runs could be it: name one, or take the newest: %s", part, len(may), strings.Join(folders, ", "))
	}
	return slices.MaxFunc(may, func(x, y candidate) int { return x.run.made.Compare(y.run.made) }), nil
}

// fits refuses runs that are not of the same system and model, as far as they say.
func (r *result) fits() error {
	first := r.performance
	others := []*run{r.accuracy}
	for _, a := range r.audits {
		others = append(others, a.run)
	}
	for _, other := range others {
		if first.results == nil || other.results == nil {
			continue
		}
		x, y := first.results, other.results
		for _, c := range []struct{ what, x, y string }{
			{"model file", x.Input.ModelSHA256, y.Input.ModelSHA256}, {"precision", x.Input.Precision, y.Input.Precision},
			{"engine", x.Backend.Engine, y.Backend.Engine}, {"data set", x.Input.DatasetPath, y.Input.DatasetPath},
			{"rules", x.Rules, y.Rules},
		} {
			if c.x != c.y {
				return fmt.Errorf("%s: %s and %s are of different tests: %s %q and %q", r.name(), first.folder, other.folder, c.what, c.x, c.y)
			}
		}
	}
	return nil
}
