// Package rescore scores accuracy logs as the official scripts do: that of a run again, or any other.
package rescore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/report/importlog"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks to score an accuracy log.
type Request struct {
	Run         string            // folder of a run; empty: none, and the next three are needed
	Model       string            // empty: the run's
	Log         string            // file; empty: the run's
	DatasetPath string            // folder; empty: the run's; some logs need none (workload.Model.ScoresLogAlone)
	Options     map[string]string // of the official script, by the names of workload.Model.ScoreOptions
	// OpenImagesAnnotations is the file that the official script for OpenImages takes from the
	// environment if no option names one. Empty: the data set's own.
	OpenImagesAnnotations string
	Library               string // file of ONNX Runtime, for scores that networks compute; empty: the installed one
	Output                string // folder that gets accuracy.txt; empty: the run's, if the score is of its own inputs, or else none
}

// A Result is the score of a log.
type Result struct {
	*report.Accuracy
	Run      *report.Results // nil: none
	Warnings []string
	// Kept is the file that the score was written to; empty: none.
	Kept string
}

// harmless are the options that change only the output, and how much of a response can be judged: running programs, what VBench found
// and another judge give the score that the benchmark wants.
var harmless = []string{"verbose", "compliance-images-path", "ids-path", "execute-code", "livecodebench", "vbench-results", "videos-path", "judge-endpoint", "judge-model"}

// A job scores a log. What is given that differs from the run's own makes it a what-if, whose score the record of the run does not get.
type job struct {
	Request
	run      *report.Results // nil: none
	model    workload.Model
	whatIf   []string // inputs that differ from the run's own
	warnings []string
}

func (j *job) warn(format string, args ...any) {
	j.warnings = append(j.warnings, fmt.Sprintf(format, args...))
}

// Score scores an accuracy log. The score of a run's own log, model and data is kept with the run. With anything else
// it is a what-if: the record of the run stays as it is. The observer may be nil.
func Score(ctx context.Context, q Request, o harness.Observer) (*Result, error) {
	j := &job{Request: q}
	if q.Run != "" && q.Log == "" && importlog.OfClient(q.Run) {
		return scoredElsewhere(q)
	}
	if err := j.complete(); err != nil {
		return nil, err
	}
	score, err := j.score(ctx, o)
	if err != nil {
		return nil, err
	}
	kept, err := j.keep(ctx, score)
	if err != nil && kept == "" {
		return nil, err
	}
	return &Result{Accuracy: score, Run: j.run, Warnings: j.warnings, Kept: kept}, err
}

// scoredElsewhere is the score that mlcommons/endpoints left in the folder of a run, compared with the target.
func scoredElsewhere(q Request) (*Result, error) {
	r, err := importlog.Read(q.Run, importlog.About{Model: q.Model})
	if err == nil && r.Accuracy == nil {
		err = fmt.Errorf("%s: expected a score in %s", q.Run, endpoints.ScoresFile)
	}
	if err != nil {
		return nil, err
	}
	return &Result{Accuracy: r.Accuracy, Run: r, Warnings: r.Warnings}, nil
}

// complete fills in the inputs of the run, and checks them.
func (j *job) complete() (err error) {
	if j.Run != "" {
		if j.run, err = report.Read(j.Run); err != nil {
			return err
		}
		j.takeInputs()
	}
	if j.Model == "" || j.Log == "" {
		return errors.New("the score needs the folder of a run, or a model, a log and a data set")
	}
	j.model, err = models.LookupAny(j.Model)
	if j.run != nil && j.run.Model == j.Model && j.run.Limitations.Has(limitation.OwnModel) {
		j.model, err = models.Find("", j.Model)
	}
	if err != nil {
		return userinput.Wrap("model", err)
	}
	if j.DatasetPath == "" && !j.model.ScoresLogAlone {
		return userinput.Errorf("dataset_path", "missing: a log of %s is compared with its data set", j.model.Name)
	}
	if j.OpenImagesAnnotations != "" && j.model.Dataset == "openimages" && j.Options["annotations"] == "" {
		options := map[string]string{"annotations": j.OpenImagesAnnotations}
		maps.Copy(options, j.Options)
		j.Options = options
		if j.run != nil {
			j.whatIf = append(j.whatIf, "annotations")
		}
		j.warn("the annotations are those of %s, which the environment names", j.OpenImagesAnnotations)
	}
	j.model.Rules.Interactive = j.run != nil && j.run.Interactive
	return j.model.CheckScoreOptions(j.Options)
}

// takeInputs takes the inputs of the run that are not given.
func (j *job) takeInputs() {
	for _, f := range []struct {
		name  string
		given *string
		own   string
	}{
		{"model", &j.Model, j.run.Model}, {"log", &j.Log, filepath.Join(j.Run, mlperflog.AccuracyFile)},
		{"dataset path", &j.DatasetPath, j.run.Input.DatasetPath},
	} {
		if *f.given = cmp.Or(*f.given, f.own); !same(*f.given, f.own) {
			j.whatIf = append(j.whatIf, f.name)
		}
	}
	for option := range j.Options {
		if !slices.Contains(harmless, option) {
			j.whatIf = append(j.whatIf, "options of the script")
			break
		}
	}
}

// target is what the score is compared with: for a run's own inputs as the score of the run would be.
func (j *job) target() (harness.Target, error) {
	if j.run != nil { // its limitations are about its data
		target := harness.TargetOf(j.model, j.run.Rules, j.run.Input)
		if a := j.run.Accuracy; a != nil {
			target.Reference, target.None = a.Reference, a.NoTarget
		}
		if len(j.whatIf) > 0 {
			target.Reference = 0
		}
		return target, nil
	}
	target := harness.TargetOf(j.model, config.Newest, report.Input{})
	if builtin.IsDataset(j.DatasetPath) {
		j.warn("%s", report.Sentence(limitation.Limitation{ID: limitation.BuiltInData}))
		return target, nil
	}
	var err error
	target.Rules, err = config.Rules(config.Newest)
	return target, err
}

// score computes the score and compares it with its target.
func (j *job) score(ctx context.Context, o harness.Observer) (score *report.Accuracy, err error) {
	how := workload.Scoring{DatasetDir: j.DatasetPath, Interactive: j.model.Rules.Interactive, Options: j.Options, Foreign: j.run == nil}
	if o != nil {
		began := false
		how.Progress = func(done, of int) { // only scores that take long call it
			if !began {
				o.Phase("scoring")
			}
			began = true
			o.Items(done, of)
		}
	}
	if j.run != nil {
		how.Samples = j.run.Input.Samples
		if len(j.whatIf) == 0 {
			how.Keep = j.Run
		}
	}
	target, err := j.target()
	if err != nil {
		return nil, err
	}
	if j.model.ScoresWithEngine {
		if how.Engine, err = ort.Open(j.Library, "", nil); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, how.Engine.Close()) }()
	}
	if j.model.ScoresWithServers {
		if how.Servers, err = j.servers(ctx); err != nil {
			return nil, err
		}
		if how.Servers != nil {
			defer func() { err = errors.Join(err, how.Servers.Close()) }()
		}
	}
	score, err = harness.Score(ctx, j.Log, j.model, how, target)
	if err != nil && j.run != nil && j.run.Mode == loadgen.PerformanceOnly.String() {
		return nil, fmt.Errorf("%w; it was a run of performance, which logs no answers: one in accuracy mode does", err)
	}
	if err != nil {
		return nil, err
	}
	j.warnings = append(j.warnings, score.Warnings...)
	return score, nil
}

// servers are those of the run; nil: it has none.
func (j *job) servers(ctx context.Context) (backend.Engine, error) {
	if j.run == nil || j.run.Generation == nil {
		return nil, nil
	}
	remote := engine.Remote{Model: j.run.Backend.Facts["endpoint_model"]}
	for _, s := range j.run.Generation.Servers {
		remote.Endpoints = append(remote.Endpoints, s.URL)
	}
	servers, _, err := remote.OpenOpenAI(ctx, "", false, false, 1, openai.Extras{}, false)
	return servers, err
}

// keep writes the score into the output folder, and into the folder and the record of a run whose own inputs it is of. A log alone may
// lie among data of others: nothing is written beside it. It returns the last file; empty: the score is not kept.
func (j *job) keep(ctx context.Context, score *report.Accuracy) (file string, err error) {
	if j.Output != "" {
		file = filepath.Join(j.Output, harness.AccuracyFile)
		if err := outdir.CheckText(file, harness.AccuracyText(score)); err != nil {
			return "", userinput.Wrap("output", err)
		}
		if err := os.MkdirAll(j.Output, 0o755); err != nil {
			return "", userinput.Wrap("output", err)
		}
		if _, err := harness.WriteAccuracy(j.Output, score); err != nil {
			return "", err
		}
	}
	if j.run != nil {
		if len(j.whatIf) == 0 {
			if err := markLog(ctx, j.run, j.Log); err != nil {
				return "", err
			}
			if before := j.run.Accuracy; before != nil && score.Top5 == nil && len(j.run.Doubts()) == 0 {
				score.Top5 = before.Top5 // which the log does not tell
			}
		}
		j.warnings = append(j.warnings, j.run.Doubts().Sentences()...)
	}
	if j.run == nil {
		return file, nil
	}
	if len(j.whatIf) > 0 {
		j.warn("this is a what-if (%s): the record of the run stays as it is", strings.Join(j.whatIf, ", "))
		return file, nil
	}
	own := filepath.Join(j.Run, harness.AccuracyFile)
	if written := j.run.Files[harness.AccuracyFile] != ""; !written && outdir.CheckText(own, harness.AccuracyText(score)) != nil {
		j.run.Accuracy = score
		j.warn("%s is not of this program, and stays: the score is not kept", own)
		return file, nil
	}
	sum, err := harness.WriteAccuracy(j.Run, score)
	if err != nil {
		return file, err
	}
	j.run.Accuracy, j.run.NotScored = score, ""
	if j.run.Files == nil {
		j.run.Files = map[string]string{}
	}
	j.run.Files[harness.AccuracyFile] = sum
	return own, j.run.Write(j.Run)
}

// markLog marks a run by its accuracy log, and takes back what marks the score before.
func markLog(ctx context.Context, run *report.Results, log string) error {
	changed := limitation.Limitation{ID: limitation.FileChanged, Key: mlperflog.AccuracyFile}
	run.Limitations = slices.DeleteFunc(run.Limitations, func(l limitation.Limitation) bool {
		return l == changed || l.Key == harness.AccuracyFile && (l.ID == limitation.FileChanged || l.ID == limitation.FileMissing)
	})
	logged := run.Files[mlperflog.AccuracyFile]
	if logged == "" {
		return nil
	}
	sum, _, err := fileio.SHA256(ctx, log)
	if err != nil {
		return fmt.Errorf("reading the accuracy log: %w", err)
	}
	if sum != logged {
		run.Limitations = append(run.Limitations, changed)
	}
	return nil
}

// same reports whether two names mean the same, as text or as files.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}
