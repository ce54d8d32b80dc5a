package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A percentile from the environment is not for a plan whose command line has a model.
func TestPlanQuestion(t *testing.T) {
	inFolder(t)
	for _, c := range []struct {
		args, percentile, model string
		status                  int
		want                    string
	}{
		{"plan --percentile 99", "", "", ExitDone, "99 % tail latency"},
		{"plan", "90", "", ExitDone, "90 % tail latency"},
		{"plan", "90", "mobilenet", ExitDone, "90 % tail latency"},
		{"plan --percentile 95", "90", "mobilenet", ExitDone, "95 % tail latency"},
		{"plan --model resnet50", "90", "", ExitDone, "resnet50 … rules v6.1"},
		{"plan --percentile 90 --margin 0.5", "", "", ExitDone, "23,886 queries … 8,192 … 24,576"},
		{"plan --percentile 99 --rules v5.1", "", "", ExitUsage, "--rules … model"},
		{"plan --percentile 99 --network", "", "", ExitUsage, "--network … model"},
		{"plan --model resnet50 --margin 1", "", "", ExitUsage, "--margin … --percentile"},
		{"plan --percentile NaN", "", "", ExitUsage, "percentile … fraction"},
		{"plan --percentile 99 --confidence Inf", "", "", ExitUsage, "confidence … fraction"},
	} {
		t.Setenv("MLPERF_PERCENTILE", c.percentile)
		t.Setenv("MLPERF_MODEL", c.model)
		if o := mlperf(t, strings.Fields(c.args)...); o.status != c.status || !testenv.Tells(o.stdout+o.stderr, c.want) {
			t.Errorf("%+v: status %d: %s%s", c, o.status, o.stdout, o.stderr)
		}
	}
	var queries struct{ Queries, Rounded uint64 }
	if fromJSON(t, mlperf(t, "plan", "--percentile", "99", "--json"), &queries); queries.Queries != 262742 || queries.Rounded != 270336 {
		t.Errorf("%+v", queries)
	}
}

// The flags of trace are the settings of the trace.
func TestTraceFlags(t *testing.T) {
	inFolder(t)
	seeds := config.NewestSeeds()
	for _, c := range []struct {
		args        string
		total, perf uint64
		change      func(s *loadgen.TestSettings)
	}{
		{"--scenario server --target-qps 200 --min-duration 500ms --min-query-count 30", 50000, 1024, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = loadgen.Server, 500*time.Millisecond, 30
			s.SetTargetQPS(200)
		}},
		{"--scenario offline --total-sample-count 100 --performance-sample-count 0 --min-query-count 100 --min-duration 0", 100, 100, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = loadgen.Offline, 0, 100
		}},
		{"--scenario single-stream --qsl-seed 1 --sample-seed 2 --schedule-seed 3 --total-sample-count 40 --performance-sample-count 10 --min-query-count 25 --min-duration 0 --permutation", 40, 10, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.SampleConcatenatePermutation = loadgen.SingleStream, 0, 25, true
			s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = 1, 2, 3
		}},
		{"--scenario single-stream --issue-same --issue-same-index 3 --min-query-count 5 --min-duration 0", 50000, 1024, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = loadgen.SingleStream, 0, 5, true, 3
		}},
		{"--scenario multi-stream --samples-per-query 3 --max-query-count 4 --min-duration 0 --min-query-count 9", 50000, 1024, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.MaxQueryCount, s.MultiStreamSamplesPerQuery = loadgen.MultiStream, 0, 9, 4, 3
		}},
		{"--scenario offline --mode accuracy --total-sample-count 30 --performance-sample-count 7", 30, 7, func(s *loadgen.TestSettings) {
			s.Scenario, s.Mode = loadgen.Offline, loadgen.AccuracyOnly
		}},
	} {
		s := loadgen.DefaultSettings()
		s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = seeds.QSL, seeds.SampleIndex, seeds.Schedule
		c.change(&s)
		want, err := loadgen.NewTrace(t.Context(), s, c.perf, c.total)
		if err != nil {
			t.Fatal(err)
		}
		var got loadgen.Trace
		fromJSON(t, mlperf(t, append([]string{"trace", "--json"}, strings.Fields(c.args)...)...), &got)
		if got.Queries != want.Queries || !slices.Equal(got.Samples, want.Samples) || !slices.Equal(got.ScheduledNS, want.ScheduledNS) || len(got.Loads) != len(want.Loads) || got.Queries == 0 {
			t.Errorf("%s: %d queries, %d samples, %d loads, want %d, %d, %d", c.args, got.Queries, len(got.Samples), len(got.Loads), want.Queries, len(want.Samples), len(want.Loads))
		}
	}
	for args, want := range map[string]string{
		"--scenario offline --total-sample-count 100000001":                         "--total-sample-count … 100000001",
		"--scenario multi-stream --samples-per-query 1000000000":                    "--samples-per-query",
		"--scenario multi-stream --samples-per-query 1000 --min-query-count 200000": "200,000,000 samples",
		"--scenario server --target-qps 1000 --min-duration 1000h":                  "3,600,000,000 samples … 100,000,000",
		"--pairs 5":                      "--pairs … --aggregation",
		"--aggregation --pairs 5 --json": "--json",
	} {
		if o := mlperf(t, append([]string{"trace"}, strings.Fields(args)...)...); o.status != ExitUsage || !testenv.Tells(o.stderr, want) {
			t.Errorf("%s: status %d: %s, want %s", args, o.status, o.stderr, want)
		}
	}
}

func TestPrintDiagnosis(t *testing.T) {
	d := &diagnosis{
		Program: "mlperf 1", Cache: "/cache", Library: "/lib/ort.so", Version: "1.24",
		Machine: machine.Machine{OS: "Linux", Kernel: "6", Arch: "amd64", Go: "go1", Load1: 0.256, ClockSource: "tsc",
			CPU:    machine.CPU{Model: "A CPU", Cores: 4, Threads: 8, Usable: 2.5, Features: []string{"avx2", "vnni"}},
			Memory: machine.Memory{TotalBytes: 16 << 30, AvailableBytes: 3 << 30}, Disk: &machine.Disk{FreeBytes: 5 << 30},
			GPUs: []machine.GPU{{Name: "NVIDIA H100", Vendor: "NVIDIA", PCI: "0000:18:00.0", Driver: "nvidia 570.1"}, {Name: "Instinct", Vendor: "AMD", PCI: "0000:19:00.0"}}},
		Timers: machine.Timers{ReadNS: 41.6, Sleep: machine.Oversleep{MedianNS: 60_000, P99NS: 1_100_000}, Nano: machine.Oversleep{MedianNS: 5_000, P99NS: 70_000}},
		Candidates: []ort.Candidate{{Path: "/none", Where: "data directory", Reason: "no such file"}, {Path: "/lib/ort.so", Where: "system", Version: "1.24", Chosen: true},
			{Path: "/lib/ort.so.1", Where: "system", Version: "1.24", Reason: ort.SameFile}, {Path: "/v/ort.so", Where: "loader", Version: "1.30", Reason: "another was found before it"}},
		Providers: []ort.Provider{{Device: "cpu", Compiled: true, Usable: true}, {Device: "cuda", Compiled: true, Reason: "no driver"}, {Device: "rocm"}},
		Missing:   []remedy{{What: "memory", Fix: "buy some"}},
	}
	want := `program      mlperf 1, go1
system       Linux, kernel 6, amd64
processor    A CPU, 4 cores, 8 threads, 2.5 usable
features     avx2 vnni
memory       16.0 GiB, 3.00 GiB available
GPU          NVIDIA H100 at 0000:18:00.0, driver nvidia 570.1
GPU          AMD Instinct at 0000:19:00.0, no driver is loaded
disk         5.37 GB free for /cache
clock        tsc, 41.6 ns to read
timer        wakes 60 µs late at the median, 1.1 ms at p99
nanosleep    wakes 5 µs late at the median, 70 µs at p99
load         0.256 in the last minute
ONNX Runtime 1.24, /lib/ort.so (system)
  not used   1.30, /v/ort.so (loader): another was found before it
  cpu        works
  cuda       cannot be used: no driver
  rocm       not in this library
MISSING: memory
  fix: buy some
`
	var b strings.Builder
	if err := printDiagnosis(&b, d); err != nil || b.String() != want {
		t.Errorf("%s, %v, want\n%s", b.String(), err, want)
	}
}

func TestDiagnose(t *testing.T) {
	for free, want := range map[uint64]bool{2<<30 - 1: true, 2 << 30: false} {
		d := &diagnosis{Cache: "/cache", Machine: machine.Machine{Disk: &machine.Disk{FreeBytes: free}}}
		if d.checkDisk(); (len(d.Missing) == 1) != want || want && !testenv.Tells(d.Missing[0].What, "2047 MiB … /cache … 2048") {
			t.Errorf("%d bytes are free: missing %+v", free, d.Missing)
		}
	}
	d, err := diagnose(t.Context(), "nowhere.so", "", false)
	if err != nil || len(d.Missing) == 0 || d.Fetches != "" || framework("nowhere.so") != "" {
		t.Errorf("without the library: %+v, %v", d, err)
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "MLPERF_DATA_DIR"} {
		t.Setenv(name, "")
	}
	for cache, want := range map[string]string{"": "MLPERF_CACHE_DIR", t.TempDir(): "MLPERF_DATA_DIR"} {
		t.Setenv("MLPERF_CACHE_DIR", cache)
		if _, err := diagnose(t.Context(), "", "", false); err == nil || !strings.HasSuffix(err.Error(), "; set "+want) {
			t.Errorf("without a home: %v, want an error that asks for %s", err, want)
		}
	}
}
