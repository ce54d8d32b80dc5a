package userinput_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestError(t *testing.T) {
	given := &userinput.Error{Field: "target_qps", Origin: "environment MLPERF_TARGET_QPS", Err: errors.New("must be above 0")}
	inner := userinput.Errorf("tls_ca", "no certificate: %w", io.EOF)
	for _, c := range []struct {
		err         error
		text, named string // named by the flag
	}{
		{userinput.Invalid("max_batchsize", -1, "a positive number"), "max_batchsize is -1: must be a positive number", "--max-batchsize is -1: must be a positive number"},
		{userinput.Invalid("mode", "fast\n", "slow"), `mode is "fast\n": must be slow`, `--mode is "fast\n": must be slow`},
		{userinput.Invalid("delay", 90*time.Second, "a minute"), "delay is 1m30s: must be a minute", "--delay is 1m30s: must be a minute"},
		{userinput.Missing("model", "must be one of the catalogue"), "model: is missing: must be one of the catalogue", "--model: is missing: must be one of the catalogue"},
		{given, "environment MLPERF_TARGET_QPS: must be above 0", "--target-qps: must be above 0"},
		{fmt.Errorf("opening the engine: %w", inner), "opening the engine: tls_ca: no certificate: EOF", "--tls-ca: no certificate: EOF"},
		{userinput.Wrap("backend", inner), "backend: tls_ca: no certificate: EOF", "--backend: tls_ca: no certificate: EOF"}, // the outer field
	} {
		var e *userinput.Error
		if !errors.As(c.err, &e) || c.err.Error() != c.text || e.Named("--"+e.Flag()) != c.named {
			t.Errorf("%v, named %s, want %s and %s", c.err, e.Named("--"+e.Flag()), c.text, c.named)
		}
	}
	if !errors.Is(inner, io.EOF) || userinput.Wrap("log", nil) != nil {
		t.Error("the reason is lost, or made of nothing")
	}
}
