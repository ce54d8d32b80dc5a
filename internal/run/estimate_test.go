package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func override(key, value string) config.Override {
	return config.Override{Key: key, Value: value, Origin: "flag --" + key}
}

// TestTheTimeOfARunIsItsQueriesAtTheSpeedOfTheSystem computes by hand what the rules of a round come to.
func TestTheTimeOfARunIsItsQueriesAtTheSpeedOfTheSystem(t *testing.T) {
	for _, c := range []struct {
		name    string
		q       Request
		speed   float64
		samples int
		want    time.Duration
	}{
		{"a fast stream lasts as long as the rules ask", Request{Scenario: "single-stream"}, 1000, 0, 10 * time.Minute},
		{"a slow one until early stopping knows", Request{Scenario: "single-stream", Settings: []config.Override{override("min_query_count", "64")}}, 0.05, 0, 64 * 20 * time.Second},
		{"Server at 60 % of what the system does, before somebody gave a rate", Request{Scenario: "server"}, 100, 0, 10 * time.Minute},
		{"five runs of Server until each has its queries", Request{Scenario: "server", Rules: "v0.5", Settings: []config.Override{override("target_qps", "1000")}}, 2000, 0, 5 * 270336 * time.Millisecond},
		{"one quick run of them at the given rate", Request{Scenario: "server", Rules: "v0.5", Quick: true, Settings: []config.Override{override("target_qps", "100")}}, 2000, 0, 10 * time.Second},
		{"a quick run of Offline has a share more samples than it needs", Request{Scenario: "offline", Quick: true}, 50, 0, 14 * time.Second},
		{"and those of the rate that somebody gave: a tenth more", Request{Scenario: "offline", Quick: true, Settings: []config.Override{override("target_qps", "50")}}, 50, 0, 11 * time.Second},
		{"all samples once for their accuracy", Request{Scenario: "offline", Mode: "accuracy"}, 4, 100, 25 * time.Second},
		{"and before the performance of a submission", Request{Scenario: "offline", Mode: "submission"}, 4, 100, 25 * time.Second},
		{"nobody knows how fast the system is", Request{Scenario: "server"}, 0, 100, 10 * time.Minute},
		{"nor how long accuracy takes", Request{Scenario: "server", Mode: "accuracy"}, 0, 100, 0},
	} {
		r := resolve(t, c.q)
		got, err := r.Estimate(c.speed, c.samples)
		if slack := c.want / 100; err != nil || got < c.want-slack || got > c.want+slack {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestATimeIsNoLongerThanTimesCanBe(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{0: 0, 1.5: 1500 * time.Millisecond, 1e-9: 1, 1e300: longest, math.Inf(1): longest} {
		if got := lasting(seconds); got != want {
			t.Errorf("lasting(%g) = %v, want %v", seconds, got, want)
		}
	}
	if sum := lasting(1e300) + lasting(1e300); sum < 0 {
		t.Errorf("two of the longest times are %v", sum)
	}
}

func TestASlowQuickRunHasTheQueriesThatTheMedianNeeds(t *testing.T) {
	for _, c := range []struct {
		scenario string
		over     uint64
	}{{"single-stream", 1}, {"multi-stream", 1}, {"server", 5}} {
		r := resolve(t, Request{Scenario: c.scenario, Quick: true})
		const query = 7 * time.Second
		if got, want := r.few(query), time.Duration(loadgen.NeededQueries(c.over, 0.5))*query; got != want {
			t.Errorf("%s: %v, want %v", c.scenario, got, want)
		}
		if got := r.few(time.Millisecond); got != 10*time.Second {
			t.Errorf("%s: fast queries take %v, want the 10 s of a quick run", c.scenario, got)
		}
	}
}

// TestLinksCarryWhatTheirBitsAllow computes by hand: 94 % of a gigabit are 117.5 MB/s.
func TestLinksCarryWhatTheirBitsAllow(t *testing.T) {
	list := links(1e6, 10) // ten samples of 100 kB a second
	want := []Link{{1, 1175, 117.5}, {10, 11750, 1175}, {25, 29375, 2937.5}, {100, 117500, 11750}}
	if len(list) != len(want) {
		t.Fatalf("%d links, want %d", len(list), len(want))
	}
	for i, w := range want {
		if g := list[i]; g.Gigabits != w.Gigabits || math.Abs(g.Samples-w.Samples) > 1e-6*w.Samples || math.Abs(g.Machines-w.Machines) > 1e-6*w.Machines {
			t.Errorf("link %d is %+v, want %+v", i, g, w)
		}
	}
	for _, c := range [][2]float64{{0, 10}, {-1, 10}, {1e6, 0}, {1e6, -1}} {
		if list := links(c[0], c[1]); list != nil {
			t.Errorf("links(%g, %g) = %v, want none", c[0], c[1], list)
		}
	}
}

func TestAPlanOfEveryModelAndRoundCanBeMade(t *testing.T) {
	models, err := Models()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v0.5", "v1.1", config.Newest} {
		for _, m := range models {
			p, err := PlanRuns(PlanRequest{Model: m.Name, Rules: version, Speed: 12.5, ValueBytes: 2})
			if err != nil || len(p.Scenarios) != len(loadgen.Scenarios()) {
				t.Errorf("%s of %s: %+v, %v", m.Name, version, p, err)
				continue
			}
			for _, s := range p.Scenarios {
				if s.Why == "" && (s.Queries == 0 || s.Samples < s.Queries || s.Runs < 1 || s.Duration <= 0) {
					t.Errorf("%s of %s: %+v", m.Name, version, s)
				}
			}
			if (p.Ingress > 0) != (len(p.Links) > 0) {
				t.Errorf("%s of %s takes %g bytes/s, over %d kinds of links", m.Name, version, p.Ingress, len(p.Links))
			}
		}
	}
}

func TestAPlanWantsNumbersThatMean(t *testing.T) {
	for _, c := range []struct {
		q    PlanRequest
		want string
	}{
		{PlanRequest{Speed: 1, ValueBytes: 1}, "model: is missing: want a model of the catalogue"},
		{PlanRequest{Model: "resnet50", Speed: 1}, "value_bytes is 0, want at least 1"},
		{PlanRequest{Model: "resnet50", Speed: 1, ValueBytes: -4}, "value_bytes is -4, want at least 1"},
		{PlanRequest{Model: "resnet50", Speed: 1e-7, ValueBytes: 1}, "samples_per_second is 1e-07, want at least 1e-06"},
		{PlanRequest{Model: "resnet50", ValueBytes: 1}, "samples_per_second: "},
		{PlanRequest{Model: "resnet50", Speed: -2, ValueBytes: 1}, "samples_per_second: "},
		{PlanRequest{Model: "resnet50", Speed: math.NaN(), ValueBytes: 1}, "samples_per_second: "},
		{PlanRequest{Model: "resnet50", Speed: math.Inf(1), ValueBytes: 1}, "samples_per_second: "},
		{PlanRequest{Model: "resnet50", Speed: 1, ValueBytes: 1, Rules: "v9"}, "rules: unknown rules"},
	} {
		if p, err := PlanRuns(c.q); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("PlanRuns(%+v) = %+v, %v, want %s", c.q, p, err, c.want)
		}
	}
	if _, err := PlanRuns(PlanRequest{Model: "resnet50", Speed: leastSpeed, ValueBytes: 1}); err != nil {
		t.Errorf("the least speed: %v", err)
	}
}
