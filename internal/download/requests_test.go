package download

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Verifying the data of DLRMv3 reads all requests, and names the user and the entry that is wrong.
func TestVerifyReadsRequests(t *testing.T) {
	m, err := Load()
	testenv.Must(t, err)
	it, err := m.Lookup(Dataset, "dlrm-v3")
	testenv.Must(t, err)
	dir := filepath.Join(t.TempDir(), "requests")
	testenv.Must(t, synth.WriteRequests(t.Context(), dir, synth.RequestSpec{Seed: 1, Requests: 12, Candidates: 4}, nil))
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
	if err != nil || !r.OK() || !strings.Contains(strings.Join(r.Fine, "\n"), "12 requests of 10 time stamps can be read") {
		t.Errorf("%+v, %v", r, err)
	}
	path := filepath.Join(dir, "0.csv")
	testenv.Must(t, os.WriteFile(path, []byte(strings.Replace(string(testenv.Read(t, path)), "4.5,", "9.5,", 1)), 0o644))
	r, err = Verify(t.Context(), it, VerifyOptions{Dir: dir})
	if err != nil || r.OK() || !strings.Contains(strings.Join(r.Problems, "\n"), "which must be a number from 1 to 5") {
		t.Errorf("a rating of 9.5: %+v, %v", r, err)
	}
}
