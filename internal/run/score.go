package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A ScoreRequest asks to score an accuracy log.
type ScoreRequest struct {
	Run         string            // folder of a run; empty: there is none, and the next three are needed
	Model       string            // empty: the run's
	Log         string            // file; empty: the run's
	DatasetPath string            // folder; empty: the run's
	Options     map[string]string // of ScoreOptions
	// OpenImagesAnnotations is the file that the official script for OpenImages takes from the
	// environment: what is in its images, if no option says. Empty: the data set's own.
	OpenImagesAnnotations string
	// Engine is ONNX Runtime for scores that are computed with networks.
	Engine Engine
}

// A Scored log is its score, and what was done with it.
type Scored struct {
	*report.Accuracy
	Run      *report.Results // nil: there is none
	Warnings []string
	// Kept is the file that the score was written to; empty: none.
	Kept string
}

// Score scores an accuracy log as the official script does, and tells o, which may be nil, how that goes on. The score of a run's own log,
// model and data is kept with the run. With anything else it is a what-if: the record of
// the run stays as it is.
func Score(ctx context.Context, q ScoreRequest, o Observer) (*Scored, error) {
	if o == nil {
		o = silent{}
	}
	s := &scoring{ScoreRequest: q, out: &Scored{}, observer: o}
	if err := s.fill(); err != nil {
		return nil, err
	}
	if err := s.model.CheckScoreOptions(s.Options); err != nil {
		return nil, err
	}
	if err := s.score(ctx); err != nil {
		return nil, err
	}
	return s.out, s.keep()
}

// A scoring is one call of Score.
type scoring struct {
	ScoreRequest
	out      *Scored
	model    workload.Model
	whatIf   []string // what differs from the run's own
	observer Observer
	told     bool // the observer knows
}

// fill takes what was not given from the run.
func (s *scoring) fill() (err error) {
	if s.Run != "" {
		if err := s.fillFromRun(); err != nil {
			return err
		}
	}
	if s.Model == "" || s.Log == "" || s.DatasetPath == "" {
		return errors.New("the score needs the folder of a run, or a model, a log and a data set")
	}
	if s.model, err = models.LookupAsked(s.Model); err != nil {
		return userinput.Wrap("model", err)
	}
	s.fillAnnotations()
	return nil
}

// fillAnnotations takes the file of OpenImages' annotations if no option names one.
func (s *scoring) fillAnnotations() {
	const option = "annotations"
	if s.OpenImagesAnnotations == "" || s.model.Dataset != "openimages" || s.Options[option] != "" {
		return
	}
	s.Options = maps.Clone(s.Options)
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	s.Options[option] = s.OpenImagesAnnotations
	if s.out.Run != nil {
		s.whatIf = append(s.whatIf, "annotations")
	}
	s.warn("the annotations are those of %s, which the environment names", s.OpenImagesAnnotations)
}

func (s *scoring) fillFromRun() (err error) {
	if s.out.Run, err = report.Read(s.Run); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		given *string
		own   string
	}{
		{"model", &s.Model, s.out.Run.Model},
		{"log", &s.Log, filepath.Join(s.Run, mlperflog.AccuracyFile)},
		{"dataset_path", &s.DatasetPath, s.out.Run.Input.DatasetPath},
	} {
		switch {
		case *f.given == "":
			*f.given = f.own
		case !same(*f.given, f.own):
			s.whatIf = append(s.whatIf, strings.ReplaceAll(f.name, "_", " "))
		}
	}
	if !sameScore(s.Options) {
		s.whatIf = append(s.whatIf, "options of the script")
	}
	return nil
}

func (s *scoring) score(ctx context.Context) error {
	target := harness.Target{Quality: s.model.QualityIn(config.Newest)}
	scoring := workload.Scoring{DatasetDir: s.DatasetPath, Options: s.Options, Foreign: s.out.Run == nil, Progress: s.progress}
	if run := s.out.Run; run != nil {
		target.Quality = s.model.QualityIn(run.Rules)
		scoring.Samples = run.Input.Samples
		reference := 0.0
		if reference, target.None = comparedWith(run); len(s.whatIf) == 0 {
			target.Reference = reference
		}
	}
	score, err := s.scoreWith(ctx, scoring, target)
	if err != nil && s.out.Run != nil && s.out.Run.Mode == loadgen.PerformanceOnly.String() {
		return fmt.Errorf("%w; it was a run of performance, which logs no answers: one in accuracy mode does", err)
	}
	if err != nil {
		return err
	}
	s.out.Accuracy, s.out.Warnings = score, append(s.out.Warnings, score.Warnings...)
	return s.checkLog(ctx)
}

// progress tells of scores that take long, which tell of themselves.
func (s *scoring) progress(done, of int) {
	if !s.told {
		s.observer.Phase("scoring")
	}
	s.told = true
	s.observer.Items(done, of)
}

// scoreWith opens an engine if the score is computed with networks. Of a run's own log it keeps what
// the official script does.
func (s *scoring) scoreWith(ctx context.Context, how workload.Scoring, target harness.Target) (a *report.Accuracy, err error) {
	if s.out.Run != nil && len(s.whatIf) == 0 {
		how.Keep = s.Run
	}
	if s.model.ScoresWithEngine {
		if how.Engine, err = s.Engine.openORT(nil); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, how.Engine.Close()) }()
	}
	return harness.Score(ctx, s.Log, s.model, how, target)
}

// keep writes the score beside the log, and into the results of the run. That of a what-if
// is not kept.
func (s *scoring) keep() error {
	dir := filepath.Dir(s.Log)
	if s.out.Run == nil {
		if _, err := os.Stat(filepath.Join(dir, report.FileName)); err == nil {
			s.warn("%s is the folder of a run, whose record stays as it is: the score is not kept", dir)
			return nil
		}
	}
	if len(s.whatIf) > 0 {
		s.warn("this is a what-if (%s): the record of the run stays as it is", strings.Join(s.whatIf, ", "))
		return nil
	}
	if s.out.Run != nil {
		dir = s.Run
		s.out.Run.Accuracy = s.out.Accuracy
		if err := s.out.Run.Write(dir); err != nil {
			return err
		}
	}
	s.out.Kept = filepath.Join(dir, harness.AccuracyFile)
	return harness.WriteAccuracy(dir, s.out.Accuracy)
}

func (s *scoring) warn(format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, fmt.Sprintf(format, args...))
}
