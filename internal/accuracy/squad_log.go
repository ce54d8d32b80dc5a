package accuracy

import (
	"errors"
	"fmt"
	"math"
)

// SpanOptions say how the logits of answers lie in an accuracy log.
type SpanOptions struct {
	DType      DType // of a logit (--output_dtype), by default float32
	Transposed bool  // all starts come before all ends (--output_transposed)
}

// noLogit is what the official script puts where a response is too short.
const noLogit = -10000

// ReadSpanLogits reads the log of a model that marks answers in windows of a given length:
// for each record it calls read with a start and an end logit for every place. Where a
// response is shorter, the rest is −10000. The slices are overwritten afterwards. Records of
// a window that was seen before come too, and in the official script the last one counts.
func ReadSpanLogits(log Input, windows, length int, o SpanOptions, read func(window int, starts, ends []float64)) (Coverage, error) {
	c := Coverage{Samples: windows}
	dtype, err := o.DType.check("output_dtype", Float32, Int8, Int16, Int32, Int64, Float16, Float64)
	if err != nil {
		return c, err
	}
	starts, ends, seen := make([]float64, length), make([]float64, length), make([]bool, windows)
	for rec, err := range Records(log) {
		if err != nil {
			return c, err
		}
		if rec.QSLIndex >= uint64(windows) {
			return c, rec.errorf(log, "the data set has only %d windows", windows)
		}
		if err := spanLogits(rec.Data, dtype, o.Transposed, starts, ends); err != nil {
			return c, rec.errorf(log, "%w", err)
		}
		c.count(seen[rec.QSLIndex])
		seen[rec.QSLIndex] = true
		read(int(rec.QSLIndex), starts, ends)
	}
	if c.Scored == 0 {
		return c, fmt.Errorf("%s: the log has no record", log.Name())
	}
	return c, nil
}

// spanLogits fills in the logits of a response.
func spanLogits(data []byte, dtype DType, transposed bool, starts, ends []float64) error {
	n, err := spanPairs(data, dtype, len(starts))
	if err != nil {
		return err
	}
	number := numbers(data, dtype)
	for i := n; i < len(starts); i++ {
		starts[i], ends[i] = noLogit, noLogit
	}
	for i := range n {
		if starts[i], ends[i] = number(2*i), number(2*i+1); transposed {
			starts[i], ends[i] = number(i), number(n+i)
		}
		if math.IsNaN(starts[i]) || math.IsNaN(ends[i]) {
			return fmt.Errorf("a logit of place %d is not a number", i)
		}
	}
	return nil
}

// spanPairs is how many pairs of logits a response has.
func spanPairs(data []byte, dtype DType, most int) (int, error) {
	if err := dtype.checkPayload(data); err != nil {
		return 0, err
	}
	n := len(data) / dtype.size()
	if n%2 != 0 {
		return 0, errors.New("response has an odd number of logits, want a start and an end for every place")
	}
	if n /= 2; n > most {
		return 0, fmt.Errorf("response has %d pairs of logits, want at most %d", n, most)
	}
	return n, nil
}
