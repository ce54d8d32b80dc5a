package field_test

import (
	"errors"
	"io"
	"testing"

	"github.com/mlperf-go/mlperf/internal/field"
)

func TestTheTextNamesTheFieldAsItWasGiven(t *testing.T) {
	given := &field.Error{Field: "target_qps", Origin: "environment MLPERF_TARGET_QPS", Err: errors.New("must be above 0")}
	for _, c := range []struct {
		err         error
		plain, flag string
	}{
		{field.Invalid("max_batchsize", -1, "a positive number"), "max_batchsize is -1, want a positive number", "--max-batchsize is -1, want a positive number"},
		{field.Invalid("layout", "x", "NCHW or NHWC"), `layout is "x", want NCHW or NHWC`, `--layout is "x", want NCHW or NHWC`},
		{field.Wrap("model", errors.New(`unknown model "x"`)), `model: unknown model "x"`, `--model: unknown model "x"`},
		{given, "environment MLPERF_TARGET_QPS: must be above 0", "--target-qps: must be above 0"},
	} {
		var e *field.Error
		if !errors.As(c.err, &e) {
			t.Fatalf("%v is no *field.Error", c.err)
		}
		if got := e.Error(); got != c.plain {
			t.Errorf("Error() = %q, want %q", got, c.plain)
		}
		if got := e.Named("--" + e.Flag()); got != c.flag {
			t.Errorf("Named() = %q, want %q", got, c.flag)
		}
	}
}

func TestTheReasonIsKept(t *testing.T) {
	if err := field.Wrap("log", io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("errors.Is does not find the reason of %v", err)
	}
	if err := field.Wrap("log", nil); err != nil {
		t.Errorf("Wrap without an error = %v, want nil", err)
	}
}
