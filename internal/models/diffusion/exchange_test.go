package diffusion

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
)

// sent is the row of a sample that is sent.
func sent(t *testing.T, w *pipeline, index int) (*workload.Store, []tensor.Tensor) {
	t.Helper()
	var shapes []tensor.Shape
	exchange := w.workload().Exchange
	for _, s := range exchange.Inputs {
		shapes = append(shapes, s.Shape)
	}
	slots, err := exchange.Complete(shapes)
	if err != nil {
		t.Fatal(err)
	}
	store, err := workload.NewStore(1, func(int) []workload.Slot { return slots })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	row := store.Row(0)
	if err := w.prepare(index, row[:latentSlot]); err != nil {
		t.Fatal(err)
	}
	for i, c := range exchange.Constants {
		copy(row[latentSlot+i].Bytes(), c.Bytes())
	}
	return store, row
}

// An image follows from what was sent alone: the tokens, and the latents that came with them.
func TestSentSamplesHaveTheirLatents(t *testing.T) {
	c := newFakePipeline(t, 3)
	w := c.open()
	images, err := c.images(t.Context(), w, 1)
	if err != nil {
		t.Fatal(err)
	}
	own := images[102]
	store, row := sent(t, w, 2)
	if err := w.check(row); err != nil {
		t.Fatal(err)
	}
	clear(w.latents.Values) // who answers has another data set, or none
	paint := func() []byte {
		sessions := workload.Sessions{}
		for _, f := range c.files() {
			s, err := c.engine.Open(t.Context(), backend.Options{ModelPath: f.Path, Outputs: sdxlPorts().outputs(w.ports, f.Role)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			sessions[f.Role] = s
		}
		p, err := w.workload().NewPredictor(sessions, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Use(store); err != nil {
			t.Fatal(err)
		}
		got := album{}
		if err := p.Predict(t.Context(), []workload.Item{{Index: 0}}, got); err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	if !bytes.Equal(paint(), own) {
		t.Error("the image of a sample from elsewhere is another one")
	}
	clear(tensor.Data[float32](row[latentSlot]))
	if bytes.Equal(paint(), own) {
		t.Error("with other latents the image is the same")
	}
}

func TestCheckSamples(t *testing.T) {
	w := newFakePipeline(t, 2).open()
	size := int64(w.tokenizers[0].Size())
	for want, spoil := range map[string]func(row []tensor.Tensor){
		"token 76 of input_tokens is -1":  func(row []tensor.Tensor) { tensor.Data[int64](row[0])[clip.Length-1] = -1 },
		"token 3 of input_tokens_2 is":    func(row []tensor.Tensor) { tensor.Data[int64](row[1])[3] = size },
		"number 5 of the latents is NaN":  func(row []tensor.Tensor) { tensor.Data[float32](row[2])[5] = float32(math.NaN()) },
		"number 0 of the latents is +Inf": func(row []tensor.Tensor) { tensor.Data[float32](row[2])[0] = float32(math.Inf(1)) },
	} {
		_, row := sent(t, w, 0)
		spoil(row)
		if err := w.check(row); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// With the files at servers nothing is read from where the program was started.
func TestOpenWithoutFiles(t *testing.T) {
	c := newFakePipeline(t, 2)
	t.Chdir(c.setup.ModelPath)
	if err := writeNoSchedule("scheduler"); err != nil {
		t.Fatal(err)
	}
	c.setup.ModelPath = ""
	w := c.open()
	if !slices.ContainsFunc(w.notes(), func(n string) bool { return strings.HasSuffix(n, c.setup.DatasetDir) }) {
		t.Errorf("the tokenizers are those of %q", w.notes())
	}
}

// writeNoSchedule writes an invalid schedule.
func writeNoSchedule(folder string) error {
	return errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "scheduler_config.json"), []byte("no schedule"), 0o644))
}
