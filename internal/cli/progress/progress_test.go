package progress_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
)

// Where a phase says nothing, or seldom, it is said how long it takes already.
func TestAPhaseThatTakesLongIsSeenToGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := progress.New(&out, progress.Auto)
		p.Phase("model")
		time.Sleep(11500 * time.Millisecond)
		p.Phase("traffic")
		for i := range 12 {
			time.Sleep(time.Second)
			p.Loading(i, 12)
		}
		time.Sleep(7 * time.Second)
		p.Done()
		p.Done()
		time.Sleep(time.Minute)
		want := []string{
			"model …", "model: 5s so far", "model: 10s so far",
			"traffic …", "traffic: 4 of 12 samples loaded", "traffic: 9 of 12 samples loaded", "traffic: 18s so far", "",
		}
		if got := out.String(); got != strings.Join(want, "\n") {
			t.Errorf("got\n%swant\n%s", got, strings.Join(want, "\n"))
		}
	})
}
