package figures

import (
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// Values are numbers of which four digits are drawn.
type Values = charts.Column

func scaled(c charts.Column, by float64) Values {
	out := make(Values, len(c))
	for i, v := range c {
		out[i] = v * by
	}
	return out
}
