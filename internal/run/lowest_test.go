package run

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func TestInvalidRunIsLowest(t *testing.T) {
	valid, slow := &report.Results{Result: report.Valid, Metric: &report.Metric{Value: 1}}, &report.Results{Result: report.Valid, Metric: &report.Metric{Value: 0.5}}
	invalid := &report.Results{Result: report.Invalid, Metric: &report.Metric{Value: 3}}
	if !lower(invalid, slow) || lower(slow, invalid) || !lower(slow, valid) || lower(valid, slow) {
		t.Error("the order is wrong")
	}
}
