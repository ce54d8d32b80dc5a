package accuracy

import (
	"encoding/binary"
	"fmt"
	"math"
)

// An Expected has what an output of a model should be: Length numbers for each sample, floats or else whole numbers.
type Expected struct {
	Name            string // of the output
	Samples, Length int
	Floats          []float32
	Wholes          []int64
}

// tolerance is how far a number may be from the expected one: so much, and this part of the expected one besides.
// ONNX Runtime judges the models of the ONNX zoo so (onnxruntime/test/providers/cpu/model_tests.cc, per_sample_tolerance).
const tolerance = 1e-3

// ScoreExpected scores a log of outputs: the accuracy is the part of the samples, in percent, all of whose numbers are the
// expected ones within the tolerance; whole numbers have none.
func ScoreExpected(log Input, list []Expected) (*Score, error) {
	size, samples := 0, list[0].Samples
	for _, e := range list {
		samples = min(samples, e.Samples)
		if size += 4 * e.Length; e.Floats == nil {
			size += 4 * e.Length
		}
	}
	score := &Score{Coverage: Coverage{Samples: samples}, Right: make([]byte, (samples+7)/8)}
	equal, farthest, where := 0, 0.0, ""
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		if len(rec.Data) != size {
			return nil, rec.errorf(log, "payload has %d bytes, expected %d", len(rec.Data), size)
		}
		same, data := true, rec.Data
		for _, e := range list {
			at := int(rec.QSLIndex) * e.Length
			for i := range e.Length {
				far := 0.0
				if e.Floats == nil {
					far = math.Abs(float64(int64(binary.LittleEndian.Uint64(data)) - e.Wholes[at+i]))
					same, data = same && far == 0, data[8:]
				} else {
					got, want := math.Float32frombits(binary.LittleEndian.Uint32(data)), e.Floats[at+i]
					if got != want && (got == got || want == want) { // infinities are equal, and so is NaN
						far = math.Abs(float64(got) - float64(want))
					}
					same, data = same && (far == 0 || far <= tolerance+tolerance*math.Abs(float64(want)) && !math.IsInf(far, 0)), data[4:]
				}
				if !(far <= farthest) && farthest == farthest { // NaN is farthest
					farthest, where = far, fmt.Sprintf("sample %d, %s", rec.QSLIndex, e.Name)
				}
			}
		}
		if same {
			equal++
			setBit(score.Right, rec.QSLIndex)
		}
	}
	n := score.Coverage.Scored
	if n == 0 {
		return nil, errNoRecord(log)
	}
	score.Values = []Value{{Name: "accuracy", Value: 100 * float64(equal) / float64(n), Unit: "%"}}
	if where != "" {
		where = " (" + where + ")"
	}
	score.printf("equal=%d of %d within %g + %g·|expected|, largest difference %.3g%s", equal, n, tolerance, tolerance, farthest, where)
	return score, nil
}
