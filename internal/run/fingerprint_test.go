package run

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

// A run of an older build, whose fields were fewer, is the same run as long as the new ones have no value.
func TestFingerprintsOfNewFields(t *testing.T) {
	type older struct {
		Name string
		Wait time.Duration
	}
	type newer struct {
		More  []string
		Name  string
		Inner struct{ Share float64 }
		Wait  time.Duration
		Other map[string]int
		Last  bool
	}
	was := digest(older{"m", time.Second}, 5)
	if got := digest(newer{Name: "m", Wait: time.Second}, 5); got != was {
		t.Errorf("with fields that are zero %s, want %s", got, was)
	}
	for _, n := range []newer{{Name: "m"}, {Name: "m", Wait: time.Second, Last: true}, {Name: "m", Wait: time.Second, More: []string{""}}, {Wait: time.Second}} {
		if digest(n, 5) == was {
			t.Errorf("%+v has the name of another", n)
		}
	}
	if digest(older{"m", time.Second}, 0) == digest(older{"m", time.Second}) || digest("a\xff") == digest("a") {
		t.Error("other values have the same name")
	}
	asked := engine.Config{Name: "openai", Remote: engine.Remote{Endpoints: []string{"http://server"}, Timeout: time.Second, Cancel: 0.1}}
	if text, err := json.Marshal([]any{asked, backend.Options{}, loadgen.TestSettings{}, config.Override{}}, digested); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}
