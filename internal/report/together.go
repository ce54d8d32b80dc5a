package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Together are runs of clients that loaded one service at the same time. Each measured its own requests and has its own verdict: no
// rule adds results of clients, so there is no sum.
type Together struct {
	Servers []string  `json:"servers"`
	Clients []Client  `json:"clients"`
	Valid   int       `json:"valid"`          // clients whose runs are VALID
	Began   time.Time `json:"began"`          // when the last client began its traffic
	Seconds float64   `json:"common_seconds"` // from then to the first client's end
	// Same are pairs of clients that drew the same samples at the same intervals: less than the traffic of two.
	Same [][2]string `json:"same_traffic"`
}

// A Client is one of several.
type Client struct {
	Folder  string    `json:"folder"`
	Host    string    `json:"host"`
	Result  string    `json:"result"`
	Reason  string    `json:"reason,omitempty"` // why it is not VALID, in a few words
	Metric  *Metric   `json:"metric,omitempty"`
	Began   time.Time `json:"began"` // its traffic, by the client's own clock
	Seconds float64   `json:"seconds"`
	Share   float64   `json:"common_share"` // of its traffic during which all others sent theirs, too
}

// OfOneService puts runs of several clients side by side, without those in accuracy mode. It is an error if they did not ask the same
// servers for the same model in the same scenario, or if no moment had the traffic of all.
func OfOneService(runs []Run) (*Together, error) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Results.Mode == loadgen.AccuracyOnly.String() })
	if len(runs) < 2 {
		return nil, fmt.Errorf("%s: must be the runs of two or more clients", units.Count(len(runs), "performance run"))
	}
	t := &Together{Same: [][2]string{}}
	first, end := runs[0], time.Time{}
	for i, run := range runs {
		r := run.Results
		p := r.Performance
		servers := slices.Sorted(slices.Values(r.Servers()))
		switch {
		case p == nil || p.Began == nil || p.DurationNS <= 0:
			return nil, fmt.Errorf("%s has no performance test", run.Folder)
		case len(servers) == 0:
			return nil, fmt.Errorf("%s used no server", run.Folder)
		case i == 0:
			t.Servers = servers
		case !slices.Equal(servers, t.Servers):
			return nil, fmt.Errorf("different servers: %s asked %s, %s asked %s", first.Folder, strings.Join(t.Servers, ", "), run.Folder,
				strings.Join(servers, ", "))
		case r.Model != first.Results.Model || r.ScenarioName() != first.Results.ScenarioName():
			return nil, fmt.Errorf("different tests: %s is %s %s, %s is %s %s", first.Folder, first.Results.Model, first.Results.ScenarioName(),
				run.Folder, r.Model, r.ScenarioName())
		}
		ended := p.Began.Add(time.Duration(p.DurationNS))
		if p.Began.After(t.Began) {
			t.Began = *p.Began
		}
		if end.IsZero() || ended.Before(end) {
			end = ended
		}
		if r.Verdict() == Valid {
			t.Valid++
		}
		for _, other := range runs[:i] {
			if other.Results.Test.SameTraffic(r.Test) {
				t.Same = append(t.Same, [2]string{other.Folder, run.Folder})
			}
		}
		t.Clients = append(t.Clients, Client{
			Folder: run.Folder, Host: r.Host, Result: r.Verdict(), Reason: r.Reason(), Metric: r.Metric,
			Began: *p.Began, Seconds: time.Duration(p.DurationNS).Seconds(),
		})
	}
	if t.Seconds = end.Sub(t.Began).Seconds(); t.Seconds <= 0 {
		return nil, fmt.Errorf("not at the same time: one client ended at %s, before another began at %s", end.Format(time.RFC3339),
			t.Began.Format(time.RFC3339))
	}
	for i := range t.Clients {
		t.Clients[i].Share = t.Seconds / t.Clients[i].Seconds
	}
	return t, nil
}

// Write prints the clients as a table, and what holds for all.
func (t *Together) Write(w io.Writer) error {
	table := tables.New("client", "result", "reason", "metric", "traffic began", "lasted", "with all others", "folder")
	for _, c := range t.Clients {
		metric := "-"
		if c.Metric != nil {
			metric = number(*c.Metric)
		}
		table.Row(c.Host, c.Result, c.Reason, metric, c.Began.Format(time.RFC3339), seconds(c.Seconds), units.Percent(c.Share), c.Folder)
	}
	var b strings.Builder
	b.WriteString(table.Text(tables.Width(w)))
	fmt.Fprintf(&b, "%d of %d clients VALID; all sent to %s at once for %s\n", t.Valid, len(t.Clients), strings.Join(t.Servers, ", "),
		units.Duration(seconds(t.Seconds)))
	for _, pair := range t.Same {
		fmt.Fprintf(&b, "same seeds: %s and %s drew the same samples at the same intervals; give each client its own seeds\n", pair[0], pair[1])
	}
	b.WriteString("Each client measured its own requests. No rule adds results of clients, so no sum is shown.\n")
	return say(w, b.String())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
