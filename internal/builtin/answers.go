package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// answers has the built-in model answer all samples of a data set one by one, in FP32 on
// the CPU. It returns the responses, sample by sample.
func (m Maker) answers(ctx context.Context, model workload.Model, dir string) (responses [][]byte, err error) {
	path, err := m.Model(ctx, model)
	if err != nil {
		return nil, err
	}
	files, err := model.FilesOf(path)
	if err != nil {
		return nil, err
	}
	ports, err := workload.PortsOf(ctx, m.Engine, files, backend.Options{})
	if err != nil {
		return nil, err
	}
	w, err := model.Open(workload.Setup{ModelPath: path, DatasetDir: dir, Ports: ports})
	if err != nil {
		return nil, err
	}
	sessions, err := m.openAll(ctx, files, w)
	if err == nil {
		m.Observer.Phase("running the built-in model " + model.Name + " to mark its data set")
		responses, err = m.answerAll(ctx, w, sessions)
	}
	for _, session := range sessions {
		err = errors.Join(err, session.Close())
	}
	return responses, err
}

// openAll opens the files of a model, in FP32 on the CPU. Sessions that were opened are
// returned with an error too.
func (m Maker) openAll(ctx context.Context, files []workload.File, w *workload.Workload) (workload.Sessions, error) {
	sessions := workload.Sessions{}
	for _, f := range files {
		session, err := m.Engine.Open(ctx, backend.Options{ModelPath: f.Path, Outputs: w.OutputsOf(f.Role), IntraThreads: 1})
		if err != nil {
			return sessions, err
		}
		sessions[f.Role] = session
	}
	return sessions, nil
}

// answerAll shares the samples among as many workers as there are processors.
func (m Maker) answerAll(ctx context.Context, w *workload.Workload, sessions workload.Sessions) ([][]byte, error) {
	responses := make([][]byte, w.Samples)
	done := workerpool.Counter(len(responses), m.Observer.Items)
	answerers := make(chan *workload.Answerer, len(responses)) // each to be closed
	err := workerpool.EachWith(ctx, 0, len(responses), func() func(context.Context, int) error {
		a, unopened := w.Answerer(sessions)
		if unopened == nil {
			answerers <- a
		}
		return func(ctx context.Context, i int) (err error) {
			if unopened != nil {
				return unopened
			}
			if responses[i], err = a.Answer(ctx, i); err == nil {
				done(1)
			}
			return err
		}
	})
	close(answerers)
	for a := range answerers {
		err = errors.Join(err, a.Close())
	}
	return responses, err
}

// scores scores responses, and returns what the Manifest keeps of that: the score by the
// name of the model's file.
func (m Maker) scores(ctx context.Context, model workload.Model, dir string, responses [][]byte) (map[string]float64, error) {
	path, err := m.Model(ctx, model)
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	for i, response := range responses {
		separator := ",\n"
		if i == 0 {
			separator = "[\n"
		}
		fmt.Fprintf(&log, `%s{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%X" }`, separator, i, i, response)
	}
	log.WriteString("\n]\n")
	score, err := model.Score(ctx, accuracy.Named("responses", &log), workload.Scoring{DatasetDir: dir, Engine: m.Engine})
	if err != nil {
		return nil, err
	}
	value, ok := score.Lookup(model.Quality.Metric)
	if !ok {
		return nil, fmt.Errorf("the score of %s has no value %q", model.Name, model.Quality.Metric)
	}
	return map[string]float64{strings.TrimSuffix(filepath.Base(path), ".onnx"): value.Value}, nil
}

// Reference returns the score of the built-in model on the built-in data, in FP32 on the
// CPU. It is measured once, by an ordinary accuracy run, and kept with the data.
func (m Maker) Reference(ctx context.Context, model workload.Model) (float64, error) {
	if m.Engine == nil {
		return 0, errors.New("a reference score needs an engine that computes")
	}
	dir, err := m.Dataset(ctx, model)
	if err != nil {
		return 0, err
	}
	path, err := m.Model(ctx, model)
	if err != nil {
		return 0, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".onnx")
	manifest, err := synth.ReadManifest(dir)
	if err != nil {
		return 0, err
	}
	if score, ok := manifest.Scores[name]; ok {
		return score, nil
	}
	score, err := m.measure(ctx, model, path, dir)
	if err != nil {
		return 0, fmt.Errorf("measuring the reference accuracy of %s: %w", model.Name, err)
	}
	return score, keepScore(dir, name, score)
}

// keepScore adds a score to those that are kept with the data. Another program may have added some
// since they were read.
func keepScore(dir, name string, score float64) error {
	manifest, err := synth.ReadManifest(dir)
	if err != nil {
		return err
	}
	if manifest.Scores == nil {
		manifest.Scores = map[string]float64{}
	}
	manifest.Scores[name] = score
	return manifest.Write(dir)
}

// measure runs the model over the whole data set.
func (m Maker) measure(ctx context.Context, model workload.Model, path, dataset string) (score float64, err error) {
	out, err := os.MkdirTemp(m.Dir, ".mlperf-reference-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	recipe, _ := model.BuiltIn.(workload.Recipe)
	settings := loadgen.DefaultSettings()
	settings.Scenario, settings.Mode = loadgen.Offline, loadgen.AccuracyOnly
	test, err := harness.Run(ctx, harness.Config{
		Program:    m.Program,
		Model:      model,
		Settings:   settings,
		Engine:     m.Engine,
		Backend:    backend.Options{ModelPath: path},
		DatasetDir: dataset,
		Options:    recipe.Reference,
		CacheDir:   filepath.Join(m.Dir, "samples"),
		OutputDir:  out,
		Observer:   measuring{m.Observer, "measuring the reference accuracy of " + model.Name},
	})
	if err != nil {
		return 0, err
	}
	return test.Score()
}

// A measuring observer names what a test is made for with each of its phases. Its notes are those of the run that asks for the score.
type measuring struct {
	harness.Observer
	what string
}

func (m measuring) Phase(name string) { m.Observer.Phase(m.what + ": " + name) }

func (measuring) Note(string) {}
