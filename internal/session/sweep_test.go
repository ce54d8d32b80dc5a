package session

import (
	"encoding/csv"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/longtest"
	"github.com/mlperf-go/mlperf/internal/tokenserver"
)

func TestASweepRunsAtEachLoadAndKeepsATable(t *testing.T) {
	longtest.Skip(t, "four runs in real time")
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{Prefill: 5 * time.Millisecond, PerToken: time.Millisecond}))
	defer server.Close()
	for _, test := range []struct {
		sweep  Sweep
		folder string
	}{
		{Sweep{Rates: []float64{20, 60}}, "qps-60"},
		{Sweep{Concurrency: []int{1, 4}}, "concurrency-4"},
	} {
		q := atServers()
		q.Engine.Remote.Endpoints, q.Output, q.Quick, q.Prompts.Answer = []string{server.URL}, t.TempDir(), true, 8
		q.Settings = []config.Override{{Key: "min_duration", Value: "300ms"}, {Key: "min_query_count", Value: "20"}, {Key: "target_qps", Value: "50"}}
		points, err := test.sweep.Run(t.Context(), q, silent{})
		if err != nil || len(points) != 2 {
			t.Fatalf("%+v: %v, %+v", test.sweep, err, points)
		}
		for _, p := range points {
			if p.Failures != 0 || p.RequestsPerSecond <= 0 || p.TokensPerSecond <= 0 || p.FirstTokenP50 < 5 || p.PerTokenP50 < 0.5 || p.LatencyP50 < 11 {
				t.Errorf("%+v", p)
			}
		}
		if points[1].RequestsPerSecond < 1.5*points[0].RequestsPerSecond {
			t.Errorf("%v and %v requests/s", points[0].RequestsPerSecond, points[1].RequestsPerSecond)
		}
		text, err := os.ReadFile(filepath.Join(q.Output, SweepCSV))
		rows, err2 := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err := errors.Join(err, err2); err != nil || len(rows) != 3 || rows[2][14] != test.folder {
			t.Errorf("%v, rows %q", err, rows)
		}
		if _, err := os.Stat(filepath.Join(q.Output, test.folder, "mlperf_log_summary.txt")); err != nil {
			t.Error(err)
		}
	}
}

func TestASweepThatCannotBeIsRefused(t *testing.T) {
	for want, test := range map[string]struct {
		sweep  Sweep
		change func(*Request)
	}{
		"want the engine openai": {Sweep{Rates: []float64{1}}, func(q *Request) { q.Engine.Name = Simulated }},
		"want one of the two":    {Sweep{Rates: []float64{1}, Concurrency: []int{1}}, func(*Request) {}},
		"is missing":             {Sweep{Rates: []float64{1}}, func(q *Request) { q.Output = "" }},
		"want loads above 0":     {Sweep{Concurrency: []int{2, 0}}, func(*Request) {}},
	} {
		q := atServers()
		q.Output = t.TempDir()
		test.change(&q)
		_, err := test.sweep.Run(t.Context(), q, silent{})
		var f *field.Error
		if !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
