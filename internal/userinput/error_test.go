package userinput_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestTheTextNamesTheFieldAsItWasGiven(t *testing.T) {
	given := &userinput.Error{Field: "target_qps", Origin: "environment MLPERF_TARGET_QPS", Err: errors.New("must be above 0")}
	for _, c := range []struct {
		err         error
		plain, flag string
	}{
		{userinput.Invalid("max_batchsize", -1, "a positive number"), "max_batchsize is -1, want a positive number", "--max-batchsize is -1, want a positive number"},
		{userinput.Invalid("layout", "x", "NCHW or NHWC"), `layout is "x", want NCHW or NHWC`, `--layout is "x", want NCHW or NHWC`},
		{userinput.Wrap("model", errors.New(`unknown model "x"`)), `model: unknown model "x"`, `--model: unknown model "x"`},
		{given, "environment MLPERF_TARGET_QPS: must be above 0", "--target-qps: must be above 0"},
	} {
		var e *userinput.Error
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
	if err := userinput.Wrap("log", io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("errors.Is does not find the reason of %v", err)
	}
	if err := userinput.Wrap("log", nil); err != nil {
		t.Errorf("Wrap without an error = %v, want nil", err)
	}
}

func TestAnErrorSaysWhatAFieldIsAndWhatItMayBe(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a number", userinput.Invalid("count", 0, "1 or more"), "count is 0, want 1 or more"},
		{"a text", userinput.Invalid("mode", "fast\n", "slow"), `mode is "fast\n", want slow`},
		{"an empty text", userinput.Invalid("mode", "", "slow"), `mode is "", want slow`},
		{"a time", userinput.Invalid("delay", 90*time.Second, "a minute"), "delay is 1m30s, want a minute"},
		{"nothing", userinput.Invalid("x", nil, "something"), "x is <nil>, want something"},
		{"words", userinput.Errorf("pin", "%d of %q", 3, "a"), `pin: 3 of "a"`},
		{"what is missing", userinput.Missing("model", "want one of the catalogue"), "model: is missing: want one of the catalogue"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTheInnermostFieldIsFoundBehindOtherWords(t *testing.T) {
	inner := userinput.Errorf("tls_ca", "no certificate: %w", io.EOF)
	err := fmt.Errorf("opening the engine: %w", inner)
	var of *userinput.Error
	if !errors.As(err, &of) || of.Field != "tls_ca" || of.Flag() != "tls-ca" || !errors.Is(err, io.EOF) {
		t.Errorf("%v is of the field %+v", err, of)
	}
	// The outer one is found first where there are two, as a door wants it.
	if outer := userinput.Wrap("backend", inner); !errors.As(outer, &of) || of.Field != "backend" || outer.Error() != "backend: tls_ca: no certificate: EOF" {
		t.Errorf("%v is of the field %+v", outer, of)
	}
}

func ExampleError() {
	err := fmt.Errorf("resolving: %w", userinput.Invalid("max_batchsize", -1, "a positive number"))
	var of *userinput.Error
	if errors.As(err, &of) {
		fmt.Println(of.Named("--" + of.Flag()))
	}
	// Output: --max-batchsize is -1, want a positive number
}
