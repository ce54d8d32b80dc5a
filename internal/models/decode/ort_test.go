//go:build ort

package decode

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// small are the options of a decoder for tests: it knows what the built-in one knows.
var small = arch.Options{Layers: 4, Rows: 2048}

// headSize is that of the built-in decoders, which exports leave to genai_config.json.
const headSize = 64

// written writes a decoder.
func written(t testing.TB, architecture arch.Architecture) string {
	t.Helper()
	graph, _, err := architecture.Build(small)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := graph.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a decoder in ONNX Runtime, which computes on the processor: there its memory is the device's.
func open(t testing.TB, e backend.Engine, name string, room Limits) *Decoder {
	t.Helper()
	networks := map[string]arch.Architecture{
		"llama-60m": arch.SmallLlama(arch.FusedDecoder), "llama-60m-plain": arch.SmallLlama(arch.PlainDecoder),
		"llama-60m-export": arch.SmallLlama(arch.ExportedDecoder), "mixtral-70m": arch.SmallMixtral(),
	}
	name, onDevice := strings.CutSuffix(name, ", in the device's memory")
	path := written(t, networks[name])
	cache := Cache("")
	if name == "llama-60m-export" {
		cache = SharedCache
	}
	return opened(t, e, backend.Options{ModelPath: path, IntraThreads: 1, DeviceMemory: onDevice}, cache, room)
}

// opened opens a decoder's file.
func opened(t testing.TB, e backend.Engine, o backend.Options, cache Cache, room Limits) *Decoder {
	t.Helper()
	in, out, err := e.Ports(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ReadLayout(in, out, Layout{Names: UsualNames(), Cache: cache, HeadSize: headSize})
	if err != nil {
		t.Fatal(err)
	}
	o.Outputs = l.Outputs()
	s, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(s, l, room)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

const end = 2

// copying is a prompt that asks for a part of it, and what that is.
func copying(r *rand.Rand) (prompt, answer []int32) {
	words := []int32{int32(16 + r.IntN(60))}
	seen := map[[2]int32]bool{}
	for len(words) < 60+r.IntN(80) {
		w := int32(16 + r.IntN(60))
		pair := [2]int32{words[len(words)-1], w}
		if w == pair[0] || seen[pair] {
			continue
		}
		seen[pair] = true
		words = append(words, w)
	}
	from, n := r.IntN(len(words)-30), 10+r.IntN(10)
	answer = append(slices.Clone(words[from+2:from+n]), end)
	prompt = slices.Insert(slices.Clone(words), from+n, end)
	return append(prompt, words[from], words[from+1]), answer
}

// answers has a decoder answer prompts.
func answers(t testing.TB, d *Decoder, prompts [][]int32) [][]int32 {
	t.Helper()
	b := NewBatcher(d, Rules{Stop: []int32{end}, MinNew: 1, MaxNew: 26, Width: 4}, func(i workload.Item) []int32 { return prompts[i.Index] })
	k := newKeeper()
	if err := b.Serve(context.Background(), workload.BatchSource(itemsOf(len(prompts)), k)); err != nil {
		t.Fatal(err)
	}
	list := make([][]int32, len(prompts))
	for i := range list {
		list[i] = k.answers[i]
	}
	return list
}

func TestORTEveryFormOfADecoderSaysTheSame(t *testing.T) {
	e := orttest.Engine(t)
	r := rand.New(rand.NewPCG(1, 1))
	var prompts, want [][]int32
	for range 6 {
		p, a := copying(r)
		prompts, want = append(prompts, p), append(want, a)
	}
	alone := answers(t, open(t, e, "llama-60m", Limits{1, 256, 256}), prompts)
	right := 0
	for i := range want {
		if slices.Equal(alone[i], want[i]) {
			right++
		}
	}
	if right < 3 {
		t.Errorf("%d of %d are right", right, len(want))
	}
	for _, c := range []struct {
		name string
		form string
		room Limits
	}{
		{"batched", "llama-60m", Limits{4, 256, 256}},
		{"in chunks", "llama-60m", Limits{3, 256, 16}},
		{"with a growing cache", "llama-60m-plain", Limits{2, 256, 64}},
		{"by a mask", "llama-60m-export", Limits{4, 256, 64}},
		{"on the device", "llama-60m, in the device's memory", Limits{3, 256, 64}},
		{"growing on the device", "llama-60m-plain, in the device's memory", Limits{2, 256, 64}},
	} {
		got := answers(t, open(t, e, c.form, c.room), prompts)
		for i := range got {
			if !slices.Equal(got[i], alone[i]) {
				t.Errorf("%s: prompt %d is answered with %v, want %v", c.name, i, got[i], alone[i])
			}
		}
	}
}

// TestORTFaultsChangeWhatIsSaid has a decoder forget a row of its cache, or a part of a prompt.
func TestORTFaultsChangeWhatIsSaid(t *testing.T) {
	e := orttest.Engine(t)
	r := rand.New(rand.NewPCG(3, 1))
	var prompts, cut [][]int32
	for range 6 {
		p, _ := copying(r)
		prompts, cut = append(prompts, p), append(cut, p[len(p)/3:])
	}
	good := answers(t, open(t, e, "llama-60m", Limits{1, 256, 256}), prompts)
	d := open(t, e, "llama-60m", Limits{1, 256, 256})
	inner := d.cache
	for _, c := range []struct {
		name    string
		prompts [][]int32
		fault   cacheSteps
	}{
		{"nothing is wrong", prompts, inner},
		{"a cut prompt", cut, inner},
		{"a hole in the cache", prompts, faulty{inner, func() { d.lengths[0]++ }}},
		{"a cache that is not advanced", prompts, faulty{inner, func() { d.lengths[0]-- }}},
	} {
		d.cache = c.fault
		same := 0
		for i, a := range answers(t, d, c.prompts) {
			if slices.Equal(a, good[i]) {
				same++
			}
		}
		if c.name == "nothing is wrong" && same != len(good) || c.name != "nothing is wrong" && same > len(good)*2/3 {
			t.Errorf("with %s %d of %d answers are the same", c.name, same, len(good))
		}
	}
}

// faulty spoils the state of a decoder after each step.
type faulty struct {
	cacheSteps
	spoil func()
}

func (f faulty) step(ctx context.Context, n int) error {
	err := f.cacheSteps.step(ctx, n)
	f.spoil()
	return err
}

func TestORTAStepAllocatesNothing(t *testing.T) {
	d := open(t, orttest.Engine(t), "llama-60m", Limits{3, 256, 8})
	for slot := range 3 {
		if err := d.Prefill(t.Context(), slot, []int32{20, 30, 40}); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		if err := d.Step(context.Background(), 3); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}
