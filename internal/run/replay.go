package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Replay gives settings whose arrivals are those of a file the times of its first rows (0: of all), and as many queries at that rate.
// It returns what it set, and leaves settings with other arrivals as they are. Of sessions only the first request arrives; the others follow.
func Replay(s *loadgen.TestSettings, count int, sessions bool) ([]config.Override, error) {
	a := s.ServerArrivals
	if a.Replay == "" {
		return nil, nil
	}
	table, err := prompts.Read(a.Replay, prompts.Options{Count: count})
	if err != nil {
		return nil, fmt.Errorf("the arrivals: %w", err)
	}
	times, err := table.Schedule()
	if err != nil {
		return nil, fmt.Errorf("the arrivals: %w", err)
	}
	if sessions {
		var firsts []time.Duration
		for _, rows := range table.Sessions() {
			firsts = append(firsts, times[rows[0]])
		}
		times = firsts
	}
	for i, t := range times {
		times[i] = time.Duration(float64(t) / a.Factor)
	}
	rate := 1.0
	if last := times[len(times)-1]; last > 0 {
		rate = max(float64(len(times)-1)/last.Seconds(), 1e-4)
	}
	s.ServerReplay, s.MinQueryCount, s.MinDuration, s.ServerTargetQPS = times, uint64(len(times)), 0, rate
	set := func(key, value string) config.Override {
		return config.Override{Key: key, Value: value, Origin: "the file " + a.Replay, Role: limitation.Flag}
	}
	return []config.Override{
		set("min_query_count", strconv.Itoa(len(times))), set("min_duration", "0s"), set("target_qps", strconv.FormatFloat(rate, 'g', 6, 64)),
	}, nil
}

// replays reports whether the arrivals are those of a file.
func (q *Request) replays() bool {
	return slices.ContainsFunc(q.Settings, func(o config.Override) bool { return o.Key == "arrivals" && strings.HasPrefix(o.Value, "replay:") })
}

// replay reads the file of the arrivals. What follows from it the user cannot set.
func (r *Resolved) replay(c *config.Request) error {
	q := &r.Request
	i := slices.IndexFunc(q.Settings, func(o config.Override) bool { return o.Key == "arrivals" })
	if i < 0 || c.Scenario != loadgen.Server {
		return nil
	}
	a, err := loadgen.ParseArrivals(q.Settings[i].Value)
	if err != nil || a.Replay == "" {
		return nil // which config.Resolve says
	}
	if mode := q.Mode; mode != "" && mode != "performance" || q.Quick {
		if q.Quick {
			mode = "a quick run"
		}
		return userinput.Errorf("arrivals", "a file is replayed in performance mode, not in %s", mode)
	}
	s := loadgen.TestSettings{ServerArrivals: a}
	made, err := Replay(&s, q.Count, q.Prompts.Turns != "")
	if err != nil {
		return err
	}
	r.replayed = s.ServerReplay
	for _, o := range q.Settings {
		if slices.ContainsFunc(made, func(m config.Override) bool { return m.Key == o.Key }) {
			return userinput.Errorf(o.Key, "follows from the time stamps of %s: give a speed (replay:2x:FILE), count or max_duration instead", a.Replay)
		}
	}
	c.Options = append(c.Options, made...)
	r.Notes = append(r.Notes, fmt.Sprintf("replaying %d arrivals of %s", len(r.replayed), a.Replay))
	return nil
}
