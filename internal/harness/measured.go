package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Test is what was measured in one test, and what decides its verdict.
type Test struct {
	Dir     string          // of its logs
	Traffic *loadgen.Result // statistics, faults and events
	Logged  *loadgen.Result // the test that the logs are of: of a short test in a search, the last at full length; nil: none
	// UnderWay is set at a checkpoint: the test has not ended, and fields that take long or are of its end are empty.
	UnderWay bool
	Failure  error // of the model or the data, which ended the test; nil: none
	Unlogged error // why the logs are not complete; nil: they are

	Settings    loadgen.TestSettings
	Made        []report.Setting // those that differ from the defaults
	Calibration *report.Calibration
	Phases      []report.PhaseTime // of the run so far
	Backend     report.Backend
	Input       Input
	Files       map[string]string // SHA-256 of those that were written, and of the charts, by their names

	Workers    []report.WorkerStats
	Queue      *report.QueueStats // nil: nothing waited
	Generation *report.Generation // nil: no prompts at servers
	Servers    Servers
	Metrics    []report.ServerMetric // that servers told
	// Cancelled reports whether the answer to a sample was given up on purpose.
	Cancelled   func(loadgen.ResponseID) bool
	Charts      *charts.Charts      // nil: none
	Operations  *report.Operations  // nil: the model is not an ONNX graph that this program reads
	Preparation *report.Preparation // nil: samples were made before the traffic
	Accuracy    *report.Accuracy
	NotScored   error // why there is no score of answers that were to be scored

	Impossible  error              // why the test is short; nil: it is not
	Warnings    []string           // of the run so far
	Limitations report.Limitations // by how the model was fed and how it answered
	Peak        *report.Peak       // the search that the test is the outcome of; nil: none
	// Replay compares the answers with recorded ones; nil: the samples are no turns of recorded conversations.
	Replay *workload.Replay
	// Order returns the sample that was answered as the n-th; nil: the one that LoadGen chose.
	Order func(n uint64) int
	// Prompt returns a prompt of the data set. It is nil if samples are no prompts.
	Prompt func(index int) *backend.Prompt

	// Earlier is the record of an earlier process, which is the outcome of its search; the fields above are those of no test then,
	// but for Dir and Peak.
	Earlier *report.Results
	// Kept says that Config.Keep had the test as it is here.
	Kept bool
}

// Input is what a test read.
type Input struct {
	ModelSHA256 string // empty: no file, or one that could not be read
	ModelBytes  int64
	Samples     int // of the data set
	// InMemory samples were loaded at once. Of the Seen ones that were loaded so far, Distinct have distinct contents.
	InMemory, Seen, Distinct int
	Binding                  []string // how the model file was understood
	RunSamples               int      // that one run of the model takes; 0: any number
	EndTokens                []int32
}

// measured gathers everything that is known about a test that has ended.
func (r *run) measured(ctx context.Context, traffic *loadgen.Result, dir string) *Test {
	t := r.known(dir)
	t.Traffic, t.Logged, t.Files, t.Charts = traffic, r.issued, maps.Clone(r.sums), r.charts
	if failure := r.failure.Load(); failure != nil {
		t.Failure = *failure
	}
	if r.impossible != nil {
		t.Impossible = r.impossible
	}
	r.hashModel(ctx, &t.Input) // may warn
	t.Warnings = slices.Clone(r.warnings.list)
	t.Queue, t.Generation = r.queueStats(traffic), r.generation(traffic)
	for _, w := range r.sut.workers {
		t.Workers = append(t.Workers, report.WorkerStats{
			Batches: w.batches.Load(),
			Samples: w.samples.Load(),
			Busy:    time.Duration(w.busy.Load()).Seconds(),
		})
	}
	busy := 0.0
	for _, w := range t.Workers {
		busy += w.Busy
	}
	t.Operations, t.Preparation = r.operations(), r.raw.preparation(busy)
	alike := r.workload.Alike
	if r.cfg.BuiltInData {
		alike = r.workload.Samples // answers are letters and numbers
	}
	bound := time.Duration(0)
	if s := r.cfg.Settings; s.Scenario == loadgen.Server && s.UseTokenLatencies {
		bound = s.ServerTTFTLatency
	}
	r.servers.judgeTokens(t.Generation, alike, r.workload.Samples, bound)
	t.Cancelled = r.cancelled()
	t.Servers, t.Metrics = r.servers.Servers, r.gauges.servers()
	r.addAnswers(t)
	if order := r.workload.Order; order != nil {
		of := r.expected(r.cfg.Settings)
		t.Order = func(n uint64) int { return order(n, of) }
	}
	if p := traffic.Performance; r.workload.Replayed != nil && p != nil {
		t.Replay = r.workload.Replayed(func(yield func(int, bool) bool) {
			n, more := uint64(0), true
			p.EachSample(func(s loadgen.SampleRecord) {
				more = more && yield(t.Order(n), s.Completed >= 0)
				n++
			})
		})
	}
	if r.workload.Prompts != nil {
		t.Prompt = r.workload.Prompts.Prompt
	}
	return t
}

// known is what is known of a test before its traffic.
func (r *run) known(dir string) *Test {
	return &Test{
		Dir: dir, Settings: r.cfg.Settings, Made: slices.Clone(r.cfg.Made), Calibration: r.calibration, Phases: slices.Clone(r.phases),
		Backend: r.backend(), Warnings: slices.Clone(r.warnings.list),
		Input: Input{Samples: r.workload.Samples, Binding: r.workload.Notes, RunSamples: r.workload.Batch, EndTokens: r.workload.EndTokens},
	}
}

// addAnswers adds what the traffic has shown of the samples and of the answers so far.
func (r *run) addAnswers(t *Test) {
	t.Input.InMemory = r.performanceSamples()
	if n := r.cfg.Settings.PerformanceSampleCountOverride; n > 0 { // LoadGen takes it, even if the data set has fewer samples
		t.Input.InMemory = int(min(n, uint64(r.workload.Samples)))
	}
	t.Input.Seen, t.Input.Distinct = r.qsl.contents.count()
	t.Limitations = slices.Clone(r.workload.Limitations)
	if r.workload.Answers != nil {
		t.Limitations = append(t.Limitations, r.workload.Answers()...)
	}
}

// Fill adds the measurements and the verdict to a record, which has the version of its rules.
func (t *Test) Fill(r *report.Results) {
	r.Created = t.Traffic.StartTime.UTC().Truncate(time.Second)
	r.Settings, r.Calibration, r.Phases, r.Backend = t.Made, t.Calibration, t.Phases, t.Backend
	r.Workers, r.Queue, r.Remote, r.Generation, r.Accuracy, r.Files = t.Workers, t.Queue, t.Servers.Remote, t.Generation, t.Accuracy, t.Files
	r.ServerMetrics = t.Metrics
	r.Operations, r.Preparation = t.Operations, t.Preparation
	r.Warnings = append(r.Warnings, t.Warnings...)
	if t.Impossible != nil {
		r.Problems = append(r.Problems, t.Impossible.Error())
	}
	r.Fill(t.Traffic, func(key string) string { return report.MadeBy(t.Made, key).Origin })
	if p := t.Replay; p != nil {
		r.ByMean(t.Traffic.Performance)
		if r.Generation != nil {
			r.Generation.Replay = &report.Replay{Score: p.Score, Issued: p.Issued, Compared: p.Compared, Missing: p.Missing}
		}
	}
	if r.Performance != nil && !t.UnderWay {
		r.Performance.LatencyTrend = report.TrendOf(t.Traffic.Performance)
	}
	r.Warnings = append(append(r.Warnings, t.Generation.Warnings()...), t.Servers.Warnings...)
	invalid := t.Failure != nil || len(t.Servers.Problems) > 0
	if t.Failure != nil { // the run stopped the test itself
		r.Result = report.Invalid
	}
	if q := t.Queue; r.Result == report.Invalid && q != nil && q.Backlog > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("overload: the queue grew from %s on, to %s when the last query was issued; "+
			"the target is more than the system can do", units.Text(q.GrewSeconds, "s"), units.Count(q.Backlog, "sample")))
	}
	r.Problems = append(r.Problems, t.Servers.Problems...)
	if invalid && r.Result == report.Valid {
		r.Result = report.Invalid
	}
	r.Incomplete("the logs are not complete", t.Unlogged)
	if t.NotScored != nil {
		r.NotScored = strings.Join(userinput.ErrorLines(t.NotScored), "; ")
	}
	t.FillPeak(r)
}

// Results are the measurements and the verdict as a record by the newest rules has them.
func (t *Test) Results() *report.Results {
	r := &report.Results{Schema: report.Schema}
	t.Fill(r)
	return r
}

// Score is the accuracy of a VALID test.
func (t *Test) Score() (float64, error) {
	r := t.Results()
	if !r.Valid() || r.Accuracy == nil {
		return 0, fmt.Errorf("the run is %s: %s", r.Result, strings.Join(r.Problems, "; "))
	}
	return r.Accuracy.Value, nil
}

// FillPeak adds the search whose outcome a record is, if it is one.
func (t *Test) FillPeak(r *report.Results) {
	if t.Peak == nil {
		return
	}
	r.Mode, r.Peak = "FindPeak", t.Peak
	switch {
	case r.Result == report.Interrupted:
		r.Problems = append(r.Problems, "the search is not over; the same command with the output folder "+t.Dir+" continues it")
	case t.Peak.Best == 0:
		r.Result = report.Invalid
		r.Problems = append(r.Problems, t.Peak.Unconfirmed())
	}
}

// queueStats say how the queue of the last test grew.
func (r *run) queueStats(test *loadgen.Result) *report.QueueStats {
	n, when, left := r.sut.queue.stats()
	if n == 0 {
		return nil
	}
	began := test.StartTime
	if p := test.Performance; p != nil && test.Effective.Mode != loadgen.SubmissionRun {
		began = began.Add(p.Started) // after loading
	}
	stats := &report.QueueStats{Peak: n, PeakSeconds: when.Sub(began).Seconds()}
	grew := began
	if left.since.After(began) {
		grew = left.since
	}
	// A few queries in the last moment are no backlog.
	if test.Effective.Scenario == loadgen.Server && left.samples > len(r.sut.workers)*r.model.shape.batch &&
		left.at.Sub(grew) >= left.at.Sub(began)/10 {
		stats.Backlog, stats.GrewSeconds = left.samples, grew.Sub(began).Seconds()
	}
	return stats
}

func (r *run) backend() report.Backend {
	info := r.model.info()
	devices := map[string]int{}
	for _, d := range info.Devices {
		devices[d.Device] = d.Nodes
	}
	cores, s := runtime.GOMAXPROCS(0), r.model.shape
	return report.Backend{
		Engine: info.Engine, Simulated: info.Simulated, Library: info.Library, Devices: devices, Facts: info.Facts,
		ReservedCores: cores - r.cfg.Cores(cores), PinnedTo: r.cfg.Processors[:min(s.workers*s.threads, len(r.cfg.Processors))],
		Threads: s.threads, Sessions: len(r.model.sessions),
		WarmUp:    report.WarmUp{Runs: r.warm.runs, Stable: r.warm.stable, LatencyNS: int64(r.warm.latency)},
		Instances: len(r.model.predictors), MaxBatch: s.batch, MaxDelay: r.cfg.MaxDelay.String(),
	}
}

// hashModel adds the hash of the model's files, which is computed once in a run. An interruption does not wait for it.
func (r *run) hashModel(ctx context.Context, in *Input) {
	path := r.cfg.Backend.ModelPath
	if path == "" {
		return // a simulated model
	}
	if r.model.changed(r.files) {
		r.warnings.add(errors.New("the model file was changed during the run, its hash is left out: " + path))
		return
	}
	if r.hash == "" {
		sum, prints, err := HashFiles(ctx, r.files)
		if err != nil {
			if ctx.Err() == nil {
				r.warnings.add(fmt.Errorf("the model file cannot be hashed: %w", err))
			}
			return
		}
		r.hash = sum
		for _, p := range prints {
			r.bytes += p.Bytes
		}
	}
	in.ModelSHA256, in.ModelBytes = r.hash, r.bytes
}

// HashFiles returns the SHA-256 of a model's file with its external data, or one of the sums of several, and the fingerprint
// of each file.
func HashFiles(ctx context.Context, files []workload.File) (sum string, prints []onnx.Fingerprint, err error) {
	all := sha256.New()
	for _, f := range files {
		model, err := onnx.FingerprintOf(ctx, f.Path)
		if err != nil {
			return "", nil, err
		}
		sum, prints = model.SHA256, append(prints, model)
		fmt.Fprintf(all, "%s %s\n", sum, f.Role)
	}
	if len(files) > 1 {
		sum = hex.EncodeToString(all.Sum(nil))
	}
	return sum, prints, nil
}

// writeReplay writes what answers and recorded ones have in common, turn by turn.
func (t *Test) writeReplay() error {
	if t.Replay == nil {
		return nil
	}
	if err := fileio.WriteFileIn(t.Dir, report.ReplayFile, t.Replay.Document); err != nil {
		return fmt.Errorf("writing the inline score: %w", err)
	}
	if t.Files == nil {
		t.Files = map[string]string{}
	}
	sum := sha256.Sum256(t.Replay.Document)
	t.Files[report.ReplayFile] = hex.EncodeToString(sum[:])
	return nil
}

// writeLog writes the log of the workload.
func (r *run) writeLog(ctx context.Context, t *Test) error {
	log := r.workload.Log
	if log == nil {
		return nil
	}
	sum := ""
	err := fileio.WriteIn(t.Dir, log.Name, log.Write)
	if err == nil {
		sum, _, err = fileio.SHA256(context.WithoutCancel(ctx), filepath.Join(t.Dir, log.Name))
	}
	if err != nil {
		return fmt.Errorf("writing the log of the calls: %w", err)
	}
	if t.Files == nil {
		t.Files = map[string]string{}
	}
	t.Files[log.Name] = sum
	return nil
}

// score scores the test if it has responses of all samples, and returns the error that stopped it.
func (r *run) score(ctx context.Context, t *Test) error {
	switch test := t.Traffic; {
	case t.Failure != nil:
		return fmt.Errorf("%w: %w", errFailed, t.Failure)
	case test.Interrupted != nil:
		return test.Interrupted
	case len(test.Faults) > 0 || test.Effective.Mode == loadgen.PerformanceOnly || test.Effective.Mode == loadgen.FindPeakPerformance:
		return nil
	}
	r.cfg.Observer.Phase("scoring")
	how := workload.Scoring{
		DatasetDir: r.cfg.DatasetDir, Interactive: r.cfg.Model.Rules.Interactive, Samples: r.workload.Samples, Options: r.cfg.Model.Shared(r.cfg.Options), Best: r.workload.Best,
		Engine: r.cfg.ScoreEngine, Keep: r.cfg.OutputDir, Progress: r.cfg.Observer.Items,
	}
	maps.Copy(how.Options, r.workload.ScoreOptions)
	switch {
	case r.cfg.Model.ScoresWithServers:
		how.Servers = r.cfg.Engine
	case how.Engine == nil && !r.asksServers():
		how.Engine = r.cfg.Engine
	}
	target := TargetOf(r.cfg.Model, r.cfg.Rules, report.Input{Samples: r.workload.Samples, Part: r.cfg.Count > 0, Reference: r.cfg.Reference})
	a, err := Score(ctx, filepath.Join(t.Dir, mlperflog.AccuracyFile), r.cfg.Model, how, target)
	if errors.Is(err, workload.ErrScoredElsewhere) { // the test is complete
		t.NotScored = err
		return nil
	}
	if err != nil {
		t.NotScored = err
		return err
	}
	t.Accuracy = a
	sum, err := WriteAccuracy(t.Dir, a)
	if err == nil {
		if t.Files == nil {
			t.Files = map[string]string{}
		}
		t.Files[AccuracyFile] = sum
	}
	return err
}

// checkpoint returns a function that keeps a test that has not ended, so that a program that is
// killed leaves logs and results. It does not hash the model file.
func (r *run) checkpoint(dir string) func(*loadgen.Result) {
	known := r.known(dir)
	known.UnderWay = true
	return func(traffic *loadgen.Result) {
		t := *known
		t.Traffic = traffic
		r.addAnswers(&t)
		_, err := r.writeLogs(traffic, dir)
		_ = errors.Join(err, r.keep(&t)) // an error now is one when the test has ended, too
	}
}

// keep hands a test on.
func (r *run) keep(t *Test) error {
	if r.cfg.Keep == nil {
		return nil
	}
	return r.cfg.Keep(t)
}
