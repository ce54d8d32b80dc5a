package report

import (
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A client is a Server run at servers, whose traffic began some seconds after noon and lasted a minute.
func client(folder string, after time.Duration, seed uint64, servers ...string) Run {
	p := passed(loadgen.Server)
	p.Effective.ScheduleRNGSeed = seed
	r := filled(tested(p))
	began := time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC).Add(after)
	r.Performance.Began, r.Performance.DurationNS = &began, int64(time.Minute)
	r.Remote = &Remote{}
	for _, s := range servers {
		r.Remote.Endpoints = append(r.Remote.Endpoints, Endpoint{URL: s})
	}
	return Run{folder, r}
}

func TestClientsOfOneService(t *testing.T) {
	const one, two = "http://10.0.0.1:8000", "http://10.0.0.2:8000"
	a, b, c := client("a", 0, 1, one, two), client("b", 6*time.Second, 2, two, one), client("c", 3*time.Second, 1, one, two)
	c.Results.Result, c.Results.Problems = Invalid, []string{"late"}
	got, err := OfOneService([]Run{a, b, c})
	if err != nil {
		t.Fatal(err)
	}
	// From b's beginning to a's end.
	if got.Valid != 2 || got.Seconds != 54 || got.Clients[1].Share != 0.9 {
		t.Errorf("%+v, want 2 VALID, and 54 s, 90 %% of each", got)
	}
	if len(got.Same) != 1 || got.Same[0] != [2]string{"a", "c"} {
		t.Errorf("the same traffic: %v, want that of a and c", got.Same)
	}
	var text strings.Builder
	if err := got.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 3 clients VALID", "at once for 54 s", "INVALID", "same seeds: a and c"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

func TestRunsThatAreNotOfOneService(t *testing.T) {
	const one = "http://10.0.0.1:8000"
	a := client("a", 0, 1, one)
	here, other, unmeasured := client("b", 0, 2), client("b", 0, 2, one), client("b", 0, 2, one)
	other.Results.Model = "bert"
	unmeasured.Results.Performance = nil
	for _, test := range []struct {
		run   Run
		facts string
	}{
		{client("b", 0, 2, "http://10.0.0.2:8000"), "a … http://10.0.0.1:8000 … b … http://10.0.0.2:8000"},
		{client("b", time.Minute, 2, one), "same time … 2026-07-08T12:01:00Z"},
		{here, "b … no server"},
		{other, "a … resnet50 Server … b … bert Server"},
		{unmeasured, "b … performance"},
	} {
		if _, err := OfOneService([]Run{a, test.run}); !testenv.Names(err, test.facts) {
			t.Errorf("error %v, want one that names %s", err, test.facts)
		}
	}
	if _, err := OfOneService([]Run{a}); !testenv.Names(err, "1 … two") {
		t.Errorf("of one run: %v", err)
	}
}
