package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A run that has not ended is not an interrupted one: here its lock shows it, on another machine its last checkpoint.
func TestRunsUnderWay(t *testing.T) {
	here, err := os.Hostname()
	testenv.Must(t, err)
	for name, c := range map[string]struct {
		r      report.Results
		locked bool
		age    time.Duration
		want   bool
	}{
		"it runs here":            {report.Results{Host: here, Result: report.Interrupted}, true, time.Hour, true},
		"it was killed here":      {report.Results{Host: here, Result: report.Interrupted}, false, 0, false},
		"it ended here":           {report.Results{Host: here, Result: report.Valid}, true, 0, false},
		"it was stopped here":     {report.Results{Host: here, Result: report.Interrupted, Files: map[string]string{"a": "b"}}, true, 0, false},
		"it runs elsewhere":       {report.Results{Host: here + "2", Result: report.Interrupted}, false, time.Minute, true},
		"it was killed elsewhere": {report.Results{Host: here + "2", Result: report.Interrupted}, false, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, report.FileName)
			testenv.Must(t, os.WriteFile(path, nil, 0o644))
			testenv.Must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-c.age)))
			if c.locked {
				release, err := outdir.Lock(dir)
				testenv.Must(t, err)
				defer release()
			}
			c.r.UnderWay = underWay(dir, &c.r)
			if got := c.r.Verdict() == report.UnderWay; got != c.want {
				t.Errorf("the verdict is %s", c.r.Verdict())
			}
		})
	}
}
