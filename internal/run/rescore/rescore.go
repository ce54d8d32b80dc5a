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
}

// A Result is the score of a log.
type Result struct {
	*report.Accuracy
	Run      *report.Results // nil: none
	Warnings []string
	// Kept is the file that the score was written to; empty: none.
	Kept string
}

// harmless are the options that change only the output, and how much of a response can be judged: running programs gives
// the score that the benchmark wants.
var harmless = []string{"verbose", "compliance-images-path", "ids-path", "execute-code", "livecodebench"}

// Score scores an accuracy log. The score of a run's own log, model and data is kept with the run. With anything else
// it is a what-if: the record of the run stays as it is. The observer may be nil.
func Score(ctx context.Context, q Request, o harness.Observer) (out *Result, err error) {
	out = &Result{}
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	var whatIf []string // inputs that differ from the run's own
	if q.Run != "" {
		if out.Run, err = report.Read(q.Run); err != nil {
			return nil, err
		}
		for _, f := range []struct {
			name  string
			given *string
			own   string
		}{
			{"model", &q.Model, out.Run.Model}, {"log", &q.Log, filepath.Join(q.Run, mlperflog.AccuracyFile)}, {"dataset path", &q.DatasetPath, out.Run.Input.DatasetPath},
		} {
			if *f.given = cmp.Or(*f.given, f.own); !same(*f.given, f.own) {
				whatIf = append(whatIf, f.name)
			}
		}
		for option := range q.Options {
			if !slices.Contains(harmless, option) {
				whatIf = append(whatIf, "options of the script")
				break
			}
		}
	}
	if q.Model == "" || q.Log == "" {
		return nil, errors.New("the score needs the folder of a run, or a model, a log and a data set")
	}
	model, err := models.LookupAny(q.Model)
	if out.Run != nil && out.Run.Model == q.Model && out.Run.Limitations.Has(limitation.OwnModel) {
		model, err = models.Find("", q.Model)
	}
	if err != nil {
		return nil, userinput.Wrap("model", err)
	}
	if q.DatasetPath == "" && !model.ScoresLogAlone {
		return nil, userinput.Errorf("dataset_path", "missing: a log of %s is compared with its data set", model.Name)
	}
	if q.OpenImagesAnnotations != "" && model.Dataset == "openimages" && q.Options["annotations"] == "" {
		options := map[string]string{"annotations": q.OpenImagesAnnotations}
		maps.Copy(options, q.Options)
		q.Options = options
		if out.Run != nil {
			whatIf = append(whatIf, "annotations")
		}
		warn("the annotations are those of %s, which the environment names", q.OpenImagesAnnotations)
	}
	if err := model.CheckScoreOptions(q.Options); err != nil {
		return nil, err
	}

	how := workload.Scoring{DatasetDir: q.DatasetPath, Options: q.Options, Foreign: out.Run == nil}
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
	target := harness.Target{Quality: model.QualityIn(config.Newest)}
	switch run := out.Run; {
	case run == nil && builtin.IsDataset(q.DatasetPath):
		warn("%s", report.Sentence(limitation.Limitation{ID: limitation.BuiltInData}))
	case run == nil:
		rules, err := config.Rules(config.Newest)
		if err != nil {
			return nil, err
		}
		target.JudgeData = func(samples int) report.Limitations { return model.OtherSamples(rules, samples) }
	default: // its limitations are about its data
		target.Quality = model.QualityIn(run.Rules)
		how.Samples = run.Input.Samples
		reference := run.Input.Reference // as the score of the run would be compared
		target.None = run.Input.NoTarget()
		if a := run.Accuracy; a != nil {
			reference, target.None = a.Reference, a.NoTarget
		}
		if len(whatIf) == 0 {
			target.Reference = reference
			how.Keep = q.Run
		}
	}
	if model.ScoresWithEngine {
		if how.Engine, err = ort.Open(q.Library, "", nil); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, how.Engine.Close()) }()
	}
	score, err := harness.Score(ctx, q.Log, model, how, target)
	if err != nil && out.Run != nil && out.Run.Mode == loadgen.PerformanceOnly.String() {
		return nil, fmt.Errorf("%w; it was a run of performance, which logs no answers: one in accuracy mode does", err)
	}
	if err != nil {
		return nil, err
	}
	out.Accuracy, out.Warnings = score, append(out.Warnings, score.Warnings...)

	dir := filepath.Dir(q.Log)
	if out.Run != nil {
		if len(whatIf) == 0 {
			dir = q.Run
			before := out.Run.Accuracy
			if err := markLog(ctx, out.Run, q.Log); err != nil {
				return nil, err
			}
			if before != nil && score.Top5 == nil && len(out.Run.Doubts()) == 0 {
				score.Top5 = before.Top5 // which the log does not tell
			}
		}
		out.Warnings = append(out.Warnings, out.Run.Doubts().Sentences()...)
	}
	switch {
	case out.Run == nil && isRun(dir):
		warn("%s is the folder of a run, whose record stays as it is: the score is not kept", dir)
		return out, nil
	case len(whatIf) > 0:
		warn("this is a what-if (%s): the record of the run stays as it is", strings.Join(whatIf, ", "))
		return out, nil
	}
	record := cmp.Or(out.Run, &report.Results{})
	record.Accuracy = out.Accuracy
	if record.Files[harness.AccuracyFile] == "" && outdir.CheckText(filepath.Join(dir, harness.AccuracyFile), harness.AccuracyText(score)) != nil {
		warn("%s is not of this program, and stays: the score is not kept", filepath.Join(dir, harness.AccuracyFile))
		return out, nil
	}
	record.NotScored = ""
	out.Kept = filepath.Join(dir, harness.AccuracyFile)
	sum, err := harness.WriteAccuracy(dir, score)
	if err != nil || out.Run == nil {
		return out, err
	}
	if record.Files == nil {
		record.Files = map[string]string{}
	}
	record.Files[harness.AccuracyFile] = sum
	return out, record.Write(dir)
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

// isRun reports whether a folder has the record of a run.
func isRun(dir string) bool {
	_, err := report.ReadDocument(dir)
	return !errors.Is(err, report.ErrNoRun)
}

// same reports whether two names mean the same, as text or as files.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return a == b || errX == nil && errY == nil && os.SameFile(x, y)
}
