package machine

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestAPinnedThreadHasOneProcessorUntilItIsReleased(t *testing.T) {
	runtime.LockOSThread() // what is looked at is this thread
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

func TestNobodyIsPinnedToAProcessorThatIsNotThere(t *testing.T) {
	if _, err := Pin(1023); err == nil || !strings.Contains(err.Error(), "pinning a thread to processor 1023: ") {
		t.Errorf("error %v", err)
	}
}
