package accuracy

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// near compares sums that the reference adds in another order; NaN equals NaN.
var near = cmp.Options{cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

// exact compares results that must not differ in a bit.
var exact = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

// readTestdata returns the content of a file below testdata, which may be there with .gz.
func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if data, err := os.ReadFile(path); err == nil {
		return data
	}
	return testenv.Read(t, path+".gz")
}

// openTestdata is readTestdata for readers of files.
func openTestdata(t testing.TB, name string) Input {
	t.Helper()
	return Named(filepath.Base(name), bytes.NewReader(readTestdata(t, name)))
}

// decodeTestdata decodes a JSON file below testdata.
func decodeTestdata[T any](t testing.TB, name string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(readTestdata(t, name), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// text is an Input of a string.
func text(content string) Input { return Named("test.json", strings.NewReader(content)) }

// number is a float64 in golden JSON, where null and "NaN" stand for NaN.
type number float64

func (n *number) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `null`, `"NaN"`:
		*n = number(math.NaN())
	case `"inf"`:
		*n = number(math.Inf(1))
	case `"-inf"`:
		*n = number(math.Inf(-1))
	default:
		return json.Unmarshal(data, (*float64)(n))
	}
	return nil
}

func floats(numbers []number) []float64 {
	v := make([]float64, len(numbers))
	for i, n := range numbers {
		v[i] = float64(n)
	}
	return v
}

// decodeRLE expands value, count, value, count …
func decodeRLE(t *testing.T, runs []int) []uint8 {
	t.Helper()
	var v []uint8
	for i := 0; i < len(runs); i += 2 {
		v = append(v, bytes.Repeat([]byte{byte(runs[i])}, runs[i+1])...)
	}
	return v
}

// wantError fails unless err's text has every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}
