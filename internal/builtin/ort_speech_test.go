//go:build ort

package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The built-in RNN-T hears most words. What it hears does not depend on the batch: recordings of
// different lengths are filled up with zeros.
func TestORTRNNTHearsMostWordsInAnyBatch(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	var first []string
	for _, batch := range []int{1, 6} {
		cfg := builtIn(t, m, lookup(t, "rnnt"), 6)
		cfg.MaxBatch = batch
		r := mustScore(t, cfg)
		if r.Accuracy.Value < 60 || r.Accuracy.Value > 99 {
			t.Errorf("batches of %d: %v %% of the words are right", batch, r.Accuracy.Value)
		}
		said := responses(t, cfg.OutputDir)
		if first == nil {
			first = said
		}
		for i := range said {
			if said[i] != first[i] {
				t.Errorf("recording %d is %q in batches of %d, %q alone", i, said[i], batch, first[i])
			}
		}
	}
	different := map[string]bool{}
	for _, text := range first {
		different[text] = true
	}
	if len(different) != 6 {
		t.Errorf("of 6 recordings %d have a text of their own", len(different))
	}
}

// responses returns what a run logged, by sample.
func responses(t testing.TB, dir string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for record, err := range accuracy.Records(f) {
		if err != nil {
			t.Fatal(err)
		}
		for int(record.QSLIndex) >= len(all) {
			all = append(all, "")
		}
		all[record.QSLIndex] = string(record.Data)
	}
	return all
}

// A spoiledEngine has something go wrong in the runs of a model.
type spoiledEngine struct {
	backend.Engine
	spoil func(r spoiledRun) error
}

// A spoiledRun is a run of a file, before it takes place.
type spoiledRun struct {
	ctx     context.Context
	session backend.Session
	file    string // without .onnx
	in, out []backend.Value
}

type spoiledSession struct {
	backend.Session
	of   spoiledEngine
	file string
}

func (e spoiledEngine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	s, err := e.Engine.Open(ctx, o)
	return spoiledSession{s, e, strings.TrimSuffix(filepath.Base(o.ModelPath), ".onnx")}, err
}

func (s spoiledSession) Run(ctx context.Context, in, out []backend.Value) error {
	r := spoiledRun{ctx, s.Session, s.file, in, out}
	if err := s.of.spoil(r); err != errGoOn {
		return err
	}
	return r.run()
}

type goOn string

func (g goOn) Error() string { return string(g) }

// errGoOn says that a run takes place as usual.
const errGoOn = goOn("nothing is wrong")

func (r spoiledRun) run() error { return r.session.Run(r.ctx, r.in, r.out) }

// port is the tensor of an input or output; of length 0 if there is none.
func (r spoiledRun) port(name string) tensor.Tensor {
	for i, p := range r.session.Info().Inputs {
		if p.Name == name {
			return r.in[i].Tensor()
		}
	}
	for i, p := range r.session.Info().Outputs {
		if p.Name == name {
			return r.out[i].Tensor()
		}
	}
	return tensor.Tensor{}
}

// The built-in Whisper hears most words, in any batch; what goes wrong on the way costs words.
func TestORTWhisperHearsMostWordsAndNoticesFaults(t *testing.T) {
	testenv.SkipLong(t, "five times half a minute of sound through Whisper")
	t.Parallel()
	m := ortMaker(t)
	m.count = 4
	score := func(batch int, spoil func(r spoiledRun) error) (float64, []string) {
		cfg := builtIn(t, m, lookup(t, "whisper"), 0)
		cfg.MaxBatch, cfg.Engine = batch, spoiledEngine{m.Engine, spoil}
		r, err := results(harness.Run(t.Context(), cfg))
		if err != nil || r.Accuracy == nil {
			t.Fatalf("no score: %v", err)
		}
		return r.Accuracy.Value, responses(t, cfg.OutputDir)
	}
	good, alone := score(1, func(spoiledRun) error { return errGoOn })
	if good < 60 || good > 99 {
		t.Errorf("%v %% of the words are right", good)
	}
	same, together := score(4, func(spoiledRun) error { return errGoOn })
	for i := range alone {
		if alone[i] != together[i] || same != good {
			t.Errorf("recording %d: %d bytes alone, %d among others; scores %v and %v", i, len(alone[i]), len(together[i]), good, same)
		}
	}
	for name, spoil := range map[string]func(r spoiledRun) error{
		"features of other bands":      otherBands,
		"a cache that forgets":         forgottenCache,
		"a cache that is not advanced": unadvancedCache,
	} {
		if bad, _ := score(4, spoil); bad > good-5 {
			t.Errorf("with %s %v %% of the words are right, %v %% without", name, bad, good)
		}
	}
}

// otherBands has the encoder hear each band where its neighbour is.
func otherBands(r spoiledRun) error {
	if r.file == "encoder" {
		features := tensor.Data[float32](r.port("input_features"))
		copy(features, features[3000:])
	}
	return errGoOn
}

// forgottenCache loses what was written: of the first layer, which knows the words before.
func forgottenCache(r spoiledRun) error {
	if r.file == "decoder_with_past" {
		clear(tensor.Data[float32](r.port("past_key_values.0.decoder.value")))
	}
	return errGoOn
}

// unadvancedCache has the decoder read each token behind the first four.
func unadvancedCache(r spoiledRun) error {
	const first = 4
	if r.file != "decoder_with_past" {
		return errGoOn
	}
	short := func(ports []backend.Port, values []backend.Value, length int) ([]backend.Value, error) {
		list := append([]backend.Value(nil), values...)
		for i, p := range ports {
			if !strings.Contains(p.Name, "decoder.") {
				continue
			}
			whole := values[i].Tensor()
			rows, n, size := int(whole.Shape[0]*whole.Shape[1]), int(whole.Shape[2]), int(whole.Shape[3])
			part := make([]float32, rows*length*size)
			for row := range rows {
				copy(part[row*length*size:][:length*size], tensor.Data[float32](whole)[row*n*size:])
			}
			var err error
			if list[i], err = r.session.Bind(tensor.Of(part, whole.Shape[0], whole.Shape[1], int64(length), whole.Shape[3])); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	in, err := short(r.session.Info().Inputs, r.in, first)
	if err != nil {
		return err
	}
	out, err := short(r.session.Info().Outputs, r.out, first+1)
	if err != nil {
		return err
	}
	for i, p := range r.session.Info().Inputs { // what is kept are the first tokens, and nothing behind them
		if strings.Contains(p.Name, "decoder.") {
			from, to := r.in[i].Tensor(), r.port(strings.Replace(p.Name, "past_key_values", "present", 1))
			rows, n, grown, size := int(from.Shape[0]*from.Shape[1]), int(from.Shape[2]), int(to.Shape[2]), int(from.Shape[3])
			for row := range rows {
				copy(tensor.Data[float32](to)[row*grown*size:][:n*size], tensor.Data[float32](from)[row*n*size:])
			}
		}
	}
	return r.session.Run(r.ctx, in, out)
}
