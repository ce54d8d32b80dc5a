package audit

import (
	"fmt"
	"slices"
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
	if says != "" {
		v.Caveats = append(v.Caveats, v.Test+": "+says)
	}
	return nil
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
