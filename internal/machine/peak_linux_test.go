package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestThePeakIsNotTheParents runs this test in a process that a larger one starts.
func TestThePeakIsNotTheParents(t *testing.T) {
	const asked = "MLPERF_TEST_PEAK"
	if os.Getenv(asked) != "" {
		fmt.Printf("peak %d\n", PeakRSS())
		os.Exit(0)
	}
	block := make([]byte, 256<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestThePeakIsNotTheParents$")
	cmd.Env = append(os.Environ(), asked+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var peak uint64
	if _, err := fmt.Sscanf(string(out), "peak %d", &peak); err != nil || peak == 0 || peak > 128<<20 {
		t.Errorf("the child says %q, %v; it holds much less than 256 MB", out, err)
	}
	runtime.KeepAlive(block)
}

func TestHighWaterIsReadFromTheStatus(t *testing.T) {
	for status, want := range map[string]uint64{
		"Name:\tx\nVmHWM:\t   12 kB\nVmRSS:\t 3 kB\n": 12 << 10,
		"VmHWM:\tmuch\n":   0,
		"Name:\tkthread\n": 0,
	} {
		if got := highWater(status); got != want {
			t.Errorf("%q: %d bytes, want %d", status, got, want)
		}
	}
}

func FuzzHighWater(f *testing.F) {
	f.Add("VmHWM:\t 12 kB\n")
	f.Fuzz(func(t *testing.T, status string) { highWater(status) })
}
