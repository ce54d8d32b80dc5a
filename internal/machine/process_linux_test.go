package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestPin(t *testing.T) {
	runtime.LockOSThread() // the test reads the state of this thread
	defer runtime.UnlockOSThread()
	all := Processors()
	if len(all) == 0 || !slices.IsSorted(all) || len(all) != Describe("").CPU.Affinity {
		t.Fatalf("Processors() = %v", all)
	}
	for _, n := range all {
		release, err := Pin(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := processorsOf(0); !slices.Equal(got, []int{n}) {
			t.Errorf("pinned to %d, the thread may use %v", n, got)
		}
		release()
		if got := processorsOf(0); !slices.Equal(got, all) {
			t.Errorf("released from %d, the thread may use %v, want %v", n, got, all)
		}
	}
}

func TestPinToAMissingProcessor(t *testing.T) {
	if _, err := Pin(1023); err == nil || !strings.Contains(err.Error(), "pinning a thread to processor 1023: ") {
		t.Errorf("error %v", err)
	}
}

// TestPeakRSSIsNotTheParents runs itself in a process that a larger one starts.
func TestPeakRSSIsNotTheParents(t *testing.T) {
	const asked = "MLPERF_TEST_PEAK"
	if os.Getenv(asked) != "" {
		fmt.Printf("peak %d\n", PeakRSS())
		os.Exit(0)
	}
	block := make([]byte, 256<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestPeakRSSIsNotTheParents$")
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
