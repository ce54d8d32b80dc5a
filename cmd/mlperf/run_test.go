package main

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func TestAMissedTargetInINT8HasARemedy(t *testing.T) {
	for _, c := range []struct {
		precision string
		accuracy  *report.Accuracy
		want      bool
	}{
		{"int8", &report.Accuracy{}, true},
		{"int8", &report.Accuracy{Met: true}, false},
		{"int8", nil, false},
		{"fp32", &report.Accuracy{}, false},
	} {
		o := &runOptions{model: "ssd-mobilenet", precision: c.precision}
		got := o.remedy(&report.Results{Accuracy: c.accuracy})
		if strings.Contains(got, "mlperf quantize --model ssd-mobilenet --target 0.99 ") != c.want {
			t.Errorf("%s, %+v: %q", c.precision, c.accuracy, got)
		}
	}
}
