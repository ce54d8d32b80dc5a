//go:build ort

package cli

import (
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestORTDoctor(t *testing.T) {
	library := os.Getenv("MLPERF_ORT_LIB")
	d, err := diagnose(t.Context(), library, "", false)
	testenv.Must(t, err)
	if d.Library != library || d.Version == "" || len(d.Providers) == 0 || framework(library) != "ONNX Runtime "+d.Version {
		t.Errorf("%+v, framework %q, want a version and devices of %s", d, framework(library), library)
	}
}
