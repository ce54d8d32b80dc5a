package report

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Conversion says how far a model was brought from FP32 to another precision, and how its answers compare.
type Conversion struct {
	Precision   string     `json:"precision"`
	Nodes       int        `json:"nodes"`                  // that compute in it; of integers, those with weights
	Of          int        `json:"of"`                     // that compute with floats in FP32; of integers, those with weights
	Agreement   *Agreement `json:"agreement,omitempty"`    // absent: answers were not compared
	NotCompared string     `json:"not_compared,omitempty"` // why
}

// An Agreement compares answers with those of the FP32 model to the same inputs. An answer is the place of the largest of the
// scores along the channels of an image or the last axis of other floats, or a whole number.
type Agreement struct {
	Samples      int     `json:"samples"`
	Answers      int     `json:"answers"`
	Equal        int     `json:"equal_answers"`
	LargestError float64 `json:"largest_error"`         // difference of a float, as a part of the largest magnitude that its output has
	Noise        float64 `json:"noise"`                 // root mean square of the differences of an output, as a part of that of its floats; the largest
	Broken       int     `json:"not_numbers,omitempty"` // floats that are numbers in FP32 only
}

// String is the comparison as users read it.
func (a Agreement) String() string {
	text := fmt.Sprintf("largest difference %s of the output's largest value, noise %s of the signal, over %s", units.Number(a.LargestError),
		units.Number(a.Noise), units.Count(a.Samples, "sample"))
	if a.Answers > 0 {
		text = fmt.Sprintf("%s of %s equal, %s", units.Percent(float64(a.Equal)/float64(a.Answers)), units.Count(a.Answers, "answer"), text)
	}
	if a.Broken > 0 {
		text += fmt.Sprintf("; %d values are not numbers", a.Broken)
	}
	return text
}

// Useless reports whether a model that answers so is no longer the FP32 model: it disagrees more often than it agrees, there is as
// much noise as signal in an output, or it gives values that are not numbers.
func (a Agreement) Useless() bool {
	return 2*a.Equal < a.Answers || a.Noise >= 1 || a.Broken > 0
}

// Limitations are what the conversion takes away from a result.
func (c *Conversion) Limitations() (list Limitations) {
	if c == nil {
		return nil
	}
	if c.Nodes < c.Of {
		id := limitation.PartlyConverted
		if c.Precision != "fp16" {
			id = limitation.PartlyQuantized
		}
		list = append(list, limitation.Limitation{ID: id, Key: c.Precision, Value: fmt.Sprint(c.Nodes), Of: fmt.Sprint(c.Of)})
	}
	if a := c.Agreement; a != nil && a.Useless() {
		list = append(list, limitation.Limitation{ID: limitation.OtherAnswers, Key: c.Precision, Value: a.String()})
	}
	return list
}
