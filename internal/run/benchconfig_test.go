package run

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
)

func TestADeviceThatDoesOneThingAtATimeHasOneWorkerUnlessMoreAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		device      string
		asked, want int
	}{
		{"", 0, 0}, {"cpu", 0, 0}, {"cuda", 0, 0}, {"cuda,webgpu", 0, 0}, {"no such", 0, 0},
		{"webgpu", 0, 1}, {"WebGPU,cpu", 0, 1}, {"webgpu", 3, 3}, {"cpu", 2, 2},
	} {
		q := Request{Instances: c.asked, Backend: backend.Options{Device: c.device}}
		if got := q.instances(); got != c.want {
			t.Errorf("%q with %d asked for: %d, want %d", c.device, c.asked, got, c.want)
		}
	}
}
