package compliance

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// usualTolerance is how much TEST08's entropy may differ (run_verification.py, --tolerance).
const usualTolerance = 0.001

// easier marks a verdict that what was given as a bound makes easier than the reference's does.
func (v *Verdict) easier(l Logs, o Options) error {
	of, err := boundsOf(l, o)
	if err != nil {
		of = bounds{} // a model whose bounds nobody knows
	}
	results, err := resultsIn(l.Audit)
	if err != nil {
		return err
	}
	ends := []int32(nil)
	if results != nil {
		ends = results.Input.EndTokens
	}
	says := ""
	switch v.Test {
	case Test06:
		says = easierEnd(o.EOS, ends)
	case Test07:
		says = easierScore(o.LeastScore, of)
	case Test08:
		says = easierTolerance(o.Tolerance)
	case Test09:
		says = easierLength(o, of)
	}
	v.mark(says)
	return nil
}

// mark adds a caveat about the test, if there is something to say.
func (v *Verdict) mark(says string) {
	if says != "" {
		v.Caveats = append(v.Caveats, v.Test+": "+says)
	}
}

// sampledLess marks a run that was asked to keep fewer responses than its audit.config says: the
// fewer there are, the easier all are right. Logs of LoadGens that did not know that say nothing,
// and neither do those of a model that nobody knows.
func (v *Verdict) sampledLess(l Logs, o Options) error {
	model, err := modelOf(l, o)
	if err != nil {
		return err
	}
	want := sampledOf(v.Test, model, o.Rules)
	if want == 0 {
		return nil
	}
	run, err := mlperflog.ReadDetail(filepath.Join(l.Audit, mlperflog.DetailFile))
	if err != nil {
		return err
	}
	if kept, err := run.Uint("effective_accuracy_log_sampling_target"); err == nil && kept < uint64(want) {
		v.mark(fmt.Sprintf("the run was to keep %d responses, by the rules %d", kept, want))
	}
	return nil
}

// sampledOf is how many responses a run under a test is to keep; 0: nobody knows, or it is no
// number of them.
func sampledOf(test, model, rules string) int {
	switch {
	case test == Test01 && model != "" && model != report.NotKnown && rules != "v0.5":
		return samplingTarget(model)
	case test == Test06:
		return samples06
	case test == Test08:
		return usualSamples
	}
	return 0
}

// fewer marks a verdict on fewer responses than the test has samples.
func (v *Verdict) fewer(responses, want int) {
	if responses < want {
		v.mark(fmt.Sprintf("%d responses were judged, by the rules %d", responses, want))
	}
}

func easierEnd(given int32, ends []int32) string {
	if given == 0 || len(ends) == 0 || slices.Contains(ends, given) {
		return ""
	}
	return fmt.Sprintf("answers of the model end with %v, and %d was looked for", ends, given)
}

func easierScore(given float64, of bounds) string {
	if given == 0 || given >= of.leastScore {
		return ""
	}
	return fmt.Sprintf("a score of %v was enough, by the rules %v", given, of.leastScore)
}

func easierTolerance(given float64) string {
	if given <= usualTolerance {
		return ""
	}
	return fmt.Sprintf("entropies could differ by %v %%, by the rules %v %%", given*100, usualTolerance*100)
}

func easierLength(o Options, of bounds) string {
	wider := o.LeastTokens > 0 && o.LeastTokens < of.leastTokens || of.mostTokens > 0 && o.MostTokens > of.mostTokens
	if !wider {
		return ""
	}
	return fmt.Sprintf("the bounds of lengths were wider than the rules', %v to %v tokens", of.leastTokens, of.mostTokens)
}
