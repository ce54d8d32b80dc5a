package measure

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestAMissedTargetInINT8NamesTheCommandThatReachesIt(t *testing.T) {
	r := &report.Results{Model: "ssd-mobilenet", Input: report.Input{Precision: "int8"}, Accuracy: &report.Accuracy{Reference: 80, Target: 79.2}}
	if got, want := finer(r), "mlperf quantize --model ssd-mobilenet --target 0.99 "; !strings.Contains(got, want) {
		t.Errorf("%q does not contain %q", got, want)
	}
	r.Accuracy.Met = true
	if got := finer(r); got != "" {
		t.Errorf("%q, though the target is met", got)
	}
}

func TestARunThatNoRateCanSaveNamesTheCommandsThatWork(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	os.Args = []string{"mlperf", "run", "--model-path", "my model.onnx", "--set", "a=b"}
	err := hopeless(fmt.Errorf("calibration: %w", &harness.HopelessError{Latency: 20 * time.Millisecond, Bound: 15 * time.Millisecond}))
	for _, want := range []string{
		"no rate can meet it", "\n  mlperf run --model-path 'my model.onnx' --set a=b --target-latency auto ", "\n  mlperf run --model-path 'my model.onnx' --set a=b --anyway ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q has no %q", err, want)
		}
	}
}
