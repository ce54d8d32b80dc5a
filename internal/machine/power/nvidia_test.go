//go:build unix

package power

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// smi is a program that prints as nvidia-smi does: $now is the time in its form.
func smi(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/bash\nnow() { date '+%Y/%m/%d %H:%M:%S.%3N'; }\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCards(t *testing.T) {
	read := filepath.Join(t.TempDir(), "read")
	if err := os.WriteFile(read, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	program := smi(t, `while :; do echo "$(now), 2, 0, NVIDIA H100 80GB HBM3, 100.00"; echo "$(now), 2, 1, NVIDIA H100 80GB HBM3, 300.50"; echo >> '`+read+`'; sleep 0.02; done`)
	r, err := start(t.Context(), Source{Kind: NVML}, nil, program)
	if err != nil || r.String() != "NVML NVIDIA H100 80GB HBM3 (0), NVML NVIDIA H100 80GB HBM3 (1)" {
		t.Fatalf("%v, %v", r, err)
	}
	readings := func() int {
		text, err := os.ReadFile(read)
		if err != nil {
			t.Fatal(err)
		}
		return len(text)
	}
	from, enough := time.Now(), readings()+5
	for end := time.Now().Add(time.Minute); readings() < enough && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	to := time.Now()
	record, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	e, err := record.Between(from, to)
	roughly := func(a, b float64) bool { return math.Abs(a-b) < 1e-3*b } // the clock of the readings may be put right meanwhile
	if err != nil || len(e.Parts) != 2 || !roughly(e.MeanWatts, 400.5) || !roughly(e.Parts[1].Joules, 300.5*to.Sub(from).Seconds()) {
		t.Errorf("%+v, %v, want 100 W and 300.5 W", e, err)
	}
}

func TestCardErrors(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'No devices were found'; exit 6":                "NVML: nvidia-smi says: No devices were found",
		`echo "$(now), 1, 0, GeForce GT 710, [N/A]"; sleep 9`: `NVML: GeForce GT 710 (0): "[N/A]" is not a power in watts`,
		"exit 1":                             "NVML: nvidia-smi ended",
		`echo "$(now), 1, 3, A, 1"; sleep 9`: "nvidia-smi lists card 3 after 0 cards",
		`echo "noon, 1, 0, A, 1"; sleep 9`:   "nvidia-smi says: noon, 1, 0, A, 1: parsing time",
		`echo "$(now), 1, 0, A, 1"; echo "$(now), 1, 0, A, [GPU lost]"`:  `NVML: A (0): "[GPU lost]" is not a power`,
		`echo "$(now), 1, 0, A, 1"; echo "$(now), 1, 0, A, 2"; sleep .1`: "NVML: nvidia-smi ended",
	} {
		r, err := start(t.Context(), Source{Kind: NVML}, nil, smi(t, script))
		if err == nil {
			<-r.cards.done
			_, err = r.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}
