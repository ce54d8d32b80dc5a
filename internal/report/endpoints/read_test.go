package endpoints

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestReadsTheOfficialFiles(t *testing.T) {
	s, err := ReadSummary("testdata/out_online/performance/result_summary.json")
	if err != nil {
		t.Fatal(err)
	}
	if s.Issued != 36 || *s.Duration != 3708724422 || !s.Complete || *s.TPS != 744.3743468649496 || s.TTFT.Max != 28330401 || s.Input.Spread != nil {
		t.Errorf("%+v", s)
	}
	if v := s.Latency.EarlyStopping; v["99.0"] != nil || v["80.0"] == nil || *v["80.0"] != 64261708 {
		t.Errorf("early stopping %v", v)
	}
	c, err := ReadConfig("testdata/out_online/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if run := c.Settings.Runtime; c.Type != "online" || run.MinDurationMS != 3000 || run.ScheduleSeed != 16159082839903944936 || *c.Settings.LoadPattern.TargetQPS != 8 {
		t.Errorf("%+v", c)
	}
	scores, err := ReadScores("testdata/out_edge/accuracy/accuracy_results.json")
	if err != nil {
		t.Fatal(err)
	}
	if list := scores.Sets; len(list) != 2 || list[0].Units != 36 || list[0].Counts.Issued != 36 || list[1].Type != "performance" || string(list[1].Score) != "0.1667" {
		t.Errorf("%+v", list)
	}
}

func TestErrorsNameFileAndKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result_summary.json")
	for text, want := range map[string]string{
		`{"latency": {"percentiles": {"99.0": "fast"}}}`: "result_summary.json … latency.percentiles … string … number",
		`{"qps": 1`: "result_summary.json",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSummary(path); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The estimates of the official client follow from the number of values: what it writes for 12 and 36 values is what is written here.
func TestEarlyStoppingIsThatOfTheOfficialClient(t *testing.T) {
	for _, folder := range []string{"out_online", "out_edge", "out_wan"} {
		s, err := ReadSummary(filepath.Join("testdata", folder, SummaryFile))
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float64, s.Completed)
		for i := range values { // which have the official order statistics where these are known
			values[i] = s.Latency.Min + float64(i)*(s.Latency.Max-s.Latency.Min)/float64(max(1, len(values)-1))
		}
		ours := newSeries(values, true)
		for p, want := range s.Latency.EarlyStopping {
			if got := ours.EarlyStopping[p]; (got == nil) != (want == nil) {
				t.Errorf("%s: the estimate at %s of %d values is %v, want %v", folder, p, s.Completed, got, want)
			}
		}
		if want := s.Latency.EarlyStopping["80.0"]; want != nil && math.Abs(*ours.EarlyStopping["80.0"]-s.Latency.Max) > 1e-6*s.Latency.Max {
			t.Errorf("%s: the estimate at 80.0 is %g, want the greatest value %g", folder, *ours.EarlyStopping["80.0"], s.Latency.Max)
		}
	}
}

func FuzzSummary(f *testing.F) {
	data, err := os.ReadFile("testdata/out_online/performance/result_summary.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Summary{}
		if parse(data, s) != nil {
			return
		}
		text, err := json.Marshal(s)
		again := &Summary{}
		if err != nil || parse(text, again) != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if diff := cmp.Diff(s, again, cmp.Comparer(func(a, b map[string]*float64) bool { return len(a) == len(b) || len(a)*len(b) == 0 })); diff != "" {
			t.Errorf("after a round trip (-first +again):\n%s", diff)
		}
	})
}

func FuzzScores(f *testing.F) {
	data, err := os.ReadFile("testdata/out_edge/accuracy/accuracy_results.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { _ = parse(data, &Scores{}) })
}

func FuzzConfig(f *testing.F) {
	data, err := os.ReadFile("testdata/out_online/config.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = parseConfig(data) })
}
