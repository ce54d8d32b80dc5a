//go:build ort

package builtin

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A tampered engine changes what the sessions of a file read, and then runs them.
type tampered struct {
	backend.Engine
	file   string
	change func(inputs map[string]tensor.Tensor)
}

type tamperedSession struct {
	backend.Session
	change func(inputs map[string]tensor.Tensor)
}

func (e tampered) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	s, err := e.Engine.Open(ctx, o)
	if err != nil || filepath.Base(o.ModelPath) != e.file {
		return s, err
	}
	return tamperedSession{s, e.change}, nil
}

func (s tamperedSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	named := map[string]tensor.Tensor{}
	for i, port := range s.Info().Inputs {
		named[port.Name] = inputs[i].Tensor()
	}
	s.change(named)
	return s.Session.Run(ctx, inputs, outputs)
}

// withData is a run with a copy of its data, of which a file is changed.
func withData(t *testing.T, cfg harness.Config, file string, change func(string) string) harness.Config {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(cfg.DatasetDir)); err != nil {
		t.Fatal(err)
	}
	damage(t, dir, file, change)
	cfg.DatasetDir, cfg.OutputDir = dir, t.TempDir()
	return cfg
}

// cutLines leaves two thirds of the words of each line.
func cutLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		words := strings.Fields(line)
		lines[i] = strings.Join(words[:len(words)*2/3], " ")
	}
	return strings.Join(lines, "\n")
}

// shiftedLines moves the pieces of a vocabulary by one, behind so many that stay.
func shiftedLines(stay int) func(string) string {
	return func(text string) string {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		last := len(lines) - 1
		moved := append(append(append([]string{}, lines[:stay]...), lines[last]), lines[stay:last]...)
		return strings.Join(moved, "\n") + "\n"
	}
}

// Translations of the built-in GNMT are alike however many are under way; and whatever is wrong with words,
// sentences or the states of beams lowers the score.
func TestORTGNMTTranslatesAlikeAndDamageLowersTheScore(t *testing.T) {
	testenv.SkipLong(t, "five times the whole GNMT")
	t.Parallel()
	const sentences = 3
	cfg := builtIn(t, ortMaker(t), lookup(t, "gnmt"), sentences)
	cfg.Instances = 1
	good := mustScore(t, cfg).Accuracy.Value
	want := responses(t, cfg.OutputDir)
	alone := cfg
	alone.MaxBatch, alone.OutputDir = 1, t.TempDir()
	mustScore(t, alone)
	for i, text := range responses(t, alone.OutputDir) {
		if text != want[i] {
			t.Errorf("sentence %d is %q alone, %q beside others", i, text, want[i])
		}
	}
	stale := cfg
	stale.OutputDir = t.TempDir()
	stale.Engine = tampered{cfg.Engine, "decoder.onnx", func(in map[string]tensor.Tensor) {
		parents := tensor.Data[int64](in["parents"])
		for row := range parents {
			if len(parents) >= 10 && parents[row] < 80 { // not those that begin
				parents[row] = int64(row)
			}
		}
	}}
	for name, damaged := range map[string]harness.Config{
		"another vocabulary":       withData(t, cfg, "vocab.bpe.32000.en", shiftedLines(3)),
		"sentences that are cut":   withData(t, cfg, "newstest2014.tok.bpe.32000.en", cutLines),
		"states of the wrong beam": stale,
	} {
		if got := mustScore(t, damaged).Accuracy.Value; !(got < 0.97*good) {
			t.Errorf("%s: BLEU %v, without that %v", name, got, good)
		}
	}
}

func TestORTDamageLowersTheScoreOfBERT(t *testing.T) {
	testenv.SkipLong(t, "three times the whole BERT")
	t.Parallel()
	cfg := builtIn(t, ortMaker(t), lookup(t, "bert"), 16)
	cfg.Options = map[string]string{"pad": "longest"}
	good := mustScore(t, cfg).Accuracy.Value
	if good < 60 || good > 99 {
		t.Errorf("F1 %v, want one that a better or a worse model could have", good)
	}
	blind := cfg
	blind.OutputDir = t.TempDir()
	blind.Engine = tampered{cfg.Engine, filepath.Base(cfg.Backend.ModelPath), func(in map[string]tensor.Tensor) {
		clear(tensor.Data[int64](in["segment_ids"]))
	}}
	for name, damaged := range map[string]harness.Config{
		"another vocabulary":      withData(t, cfg, "vocab.txt", shiftedLines(2000)),
		"no segments of the text": blind,
	} {
		if got := mustScore(t, damaged).Accuracy.Value; !(got < 0.97*good) {
			t.Errorf("%s: F1 %v, without that %v", name, got, good)
		}
	}
}

func TestORTAStaleStateLowersTheScoreOfRNNT(t *testing.T) {
	t.Parallel()
	cfg := builtIn(t, ortMaker(t), lookup(t, "rnnt"), 4)
	good := mustScore(t, cfg).Accuracy.Value
	cfg.OutputDir = t.TempDir()
	cfg.Engine = tampered{cfg.Engine, "prediction.onnx", func(in map[string]tensor.Tensor) {
		for i := range tensor.Data[int64](in["labels"]) {
			tensor.Data[int64](in["labels"])[i] = 28 // as if nothing had been written
		}
	}}
	if got := mustScore(t, cfg).Accuracy.Value; !(got < 0.97*good) {
		t.Errorf("accuracy %v, without that %v", got, good)
	}
}

// Tables are found where they lie. What is beyond one, and wrong categories, are not taken as if nothing were.
func TestORTDLRMReadsItsTablesFromAFileBesideIt(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	m.Dir, m.Rows, m.count = t.TempDir(), 1000, 40
	model := lookup(t, "dlrm")
	cfg := builtIn(t, m, model, 0)
	good := mustScore(t, cfg).Accuracy.Value
	if good < 70 || good > 95 {
		t.Errorf("AUC %v", good)
	}
	const pair, numbers = 160, 14 // bytes of a pair, and numbers before its categories
	wrong := withData(t, cfg, "terabyte_processed_test.bin", func(s string) string {
		data := []byte(s)
		for at := 0; at < len(data); at += pair {
			for table := range 26 {
				word := data[at+4*(numbers+table):]
				binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)/2)
			}
		}
		return string(data)
	})
	if got := mustScore(t, wrong).Accuracy.Value; !(got < 0.97*good) {
		t.Errorf("other categories: AUC %v, without that %v", got, good)
	}
	beyond := withData(t, cfg, "terabyte_processed_test.bin", func(s string) string { return s[:numbers*4] + "\x40\x42\x0f\x00" + s[numbers*4+4:] })
	if _, err := harness.Run(t.Context(), beyond); err == nil || !strings.Contains(err.Error(), "table0") || !strings.Contains(err.Error(), "1000000") {
		t.Errorf("a category beyond its table: %v", err)
	}
}

// The built-in decoder's answers are marked by ROUGE, of which it has some and not all. What goes wrong on the
// way, and fewer bits, each cost some of that. Long tests have more prompts, and the whole decoder.
func TestORTFaultsAndFewerBitsLowerROUGE(t *testing.T) {
	t.Parallel()
	m, part := ortMaker(t), workload.Part{Role: workload.Only, Network: arch.SmallLlama(arch.FusedDecoder), Layers: 4, Rows: 16000}
	if m.count = 6; testenv.Long() {
		m.count, part.Layers, part.Rows = 32, 0, 0
	}
	fp32 := decoderOf(t, part)
	part.Network = arch.SmallLlama(arch.FusedInt4)
	int4 := decoderOf(t, part)
	dir, err := m.Dataset(t.Context(), fp32)
	if err != nil {
		t.Fatal(err)
	}
	good, err := m.Reference(t.Context(), fp32)
	if err != nil || good < 25 || good > 75 {
		t.Errorf("ROUGE-1 of FP32 is %v, %v", good, err)
	}
	for _, c := range []struct {
		name  string
		model workload.Model
		spoil func(r spoiledRun) error
		least float64 // by which it is lower, as a share
	}{
		{"nothing wrong", fp32, func(spoiledRun) error { return errGoOn }, 0},
		{"a hole in the cache", fp32, holeInCache, 0.1},
		{"a prompt that is cut", fp32, cutPrompt, 0.1},
		{"a cache that is not advanced", fp32, unadvancedSlab, 0.1},
		{"weights of 4 bits", int4, func(spoiledRun) error { return errGoOn }, 0.01},
	} {
		spoiled := m
		spoiled.Engine = spoiledEngine{m.Engine, c.spoil}
		responses, err := spoiled.answers(t.Context(), c.model, dir)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := m.scores(t.Context(), c.model, dir, responses)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range scores {
			t.Logf("with %s ROUGE-1 is %.2f", c.name, got)
			if got > good*(1-c.least) || c.least == 0 && got != good {
				t.Errorf("with %s ROUGE-1 is %v, the stored one %v", c.name, got, good)
			}
		}
	}
}

// decoderOf is Llama 3.1 8B with another built-in decoder.
func decoderOf(t *testing.T, part workload.Part) workload.Model {
	t.Helper()
	model := lookup(t, "llama3.1-8b")
	recipe := model.BuiltIn.(workload.Recipe)
	recipe.Parts = []workload.Part{part}
	model.BuiltIn = recipe
	return model
}

// decoding reports whether a run reads one token of each of its sequences, and the lengths of these in the cache, less
// one, of which the token is the last.
func decoding(r spoiledRun) (lengths []int32, ok bool) {
	return tensor.Data[int32](r.port("seqlens_k")), r.port("input_ids").Shape[1] == 1
}

// holeInCache loses what the cache has of the second token before the one that is read.
func holeInCache(r spoiledRun) error {
	lengths, ok := decoding(r)
	if !ok {
		return errGoOn
	}
	for i, p := range r.session.Info().Inputs {
		if len(p.Shape) != 4 {
			continue
		}
		slab := r.in[i].Tensor()
		heads, context, size := int(slab.Shape[1]), int(slab.Shape[2]), int(slab.Shape[3])
		for slot, length := range lengths {
			for head := range heads {
				clear(tensor.Data[float32](slab)[((slot*heads+head)*context+int(length)-1)*size:][:size])
			}
		}
	}
	return errGoOn
}

// cutPrompt has the model read another token in the place of each of the first third of a prompt.
func cutPrompt(r spoiledRun) error {
	if _, ok := decoding(r); !ok {
		ids := tensor.Data[int64](r.port("input_ids"))
		for i := range len(ids) / 3 {
			ids[i] = arch.DecoderFirstWord
		}
	}
	return errGoOn
}

// unadvancedSlab has each token written where the one before it is.
func unadvancedSlab(r spoiledRun) error {
	lengths, ok := decoding(r)
	if !ok {
		return errGoOn
	}
	for i := range lengths {
		lengths[i]--
	}
	return errGoOn
}
