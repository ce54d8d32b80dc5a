package quantize

import (
	"fmt"
	"strconv"
	"strings"
)

// A Method says how the range of an activation follows from what was observed.
type Method struct {
	Name MethodName `json:"name"`
	// Percentile says, for the method of that name, between which percentiles the range
	// lies: 99.99 leaves out 0.01 % of the values at either end.
	Percentile float64 `json:"percentile,omitempty"`
}

// A MethodName names a way to choose ranges.
type MethodName string

const (
	// MinMax takes the smallest and the largest value.
	MinMax MethodName = "min-max"
	// Percentile leaves out the outermost values.
	Percentile MethodName = "percentile"
	// Entropy takes the range in which the distribution of the integers is most alike to
	// that of the values, by the Kullback-Leibler divergence.
	Entropy MethodName = "entropy"
	// AtRunTime calibrates nothing: each run of the model has the ranges of what it reads then (Dynamic).
	AtRunTime MethodName = "dynamic"
)

// defaultPercentile is that of ParseMethod("percentile").
const defaultPercentile = 99.99

// ParseMethod reads a method as users write it: min-max, entropy, percentile,
// percentile:99.9 or dynamic.
func ParseMethod(text string) (Method, error) {
	name, number, given := strings.Cut(text, ":")
	m := Method{Name: MethodName(name)}
	if m.Name == Percentile {
		m.Percentile = defaultPercentile
		if given {
			p, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return Method{}, fmt.Errorf("calibration method %q: %q is no number", text, number)
			}
			m.Percentile = p
		}
	} else if given {
		return Method{}, fmt.Errorf("calibration method %q: only %s takes a number", text, Percentile)
	}
	if m.Name == AtRunTime {
		return m, nil
	}
	return m, m.validate()
}

// String formats the method as ParseMethod reads it.
func (m Method) String() string {
	if m.Name == Percentile {
		return fmt.Sprintf("%s:%v", m.Name, m.Percentile)
	}
	return string(m.Name)
}

// OrDefault returns the method, or MinMax for the zero value.
func (m Method) OrDefault() Method {
	if m == (Method{}) {
		return Method{Name: MinMax}
	}
	return m
}

func (m Method) validate() error {
	switch m.Name {
	case MinMax, Entropy:
		return nil
	case Percentile:
		if !(m.Percentile > 50 && m.Percentile <= 100) {
			return fmt.Errorf("calibration percentile %v: must be above 50 and at most 100", m.Percentile)
		}
		return nil
	}
	return fmt.Errorf("unknown calibration method %q; methods are %s, %s and %s, or %s", m.Name, MinMax, Percentile, Entropy, AtRunTime)
}

// Ranges are the ranges of a model's activations, by the names of the values.
type Ranges struct {
	Method  Method           `json:"method"`
	Samples int              `json:"samples"` // that were observed
	Values  map[string]Range `json:"values"`
	// Means are the mean of each channel of the activations that layers with weights read.
	Means map[string][]float32 `json:"means,omitempty"`
}
