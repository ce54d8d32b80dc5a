package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// An oddity is a workload of two samples whose predictors do something wrong.
type oddity struct {
	open, prepare, use error
	response           []byte
	silent             bool // there is no answer at all

	opened, closed int
}

func (o *oddity) joined() *workload.Workload {
	return &workload.Workload{
		Samples: 2, Prepare: func(int, []tensor.Tensor) error { return o.prepare },
		Row: func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{3}}}
		},
		NewPredictor: func(workload.Sessions, int) (workload.Predictor, error) {
			if o.open != nil {
				return nil, o.open
			}
			o.opened++
			return oddPredictor{o}, nil
		},
	}
}

type oddPredictor struct{ *oddity }

func (p oddPredictor) Use(*workload.Store) error { return p.use }

func (p oddPredictor) Predict(_ context.Context, items []workload.Item, reply workload.Reply) error {
	if !p.silent {
		reply.Done(items[0].Ticket, p.response, 0)
	}
	return nil
}

func (p oddPredictor) Close() error {
	p.closed++
	return nil
}

func TestAnAnswerThatIsNotThereIsAnError(t *testing.T) {
	broken := errors.New("broken")
	m := Maker{Observer: &observer{t: t}}
	for name, c := range map[string]struct {
		workload *oddity
		want     string
	}{
		"no predictor":           {&oddity{open: broken}, "broken"},
		"no store":               {&oddity{use: broken}, "broken"},
		"a sample that is none":  {&oddity{prepare: broken}, "broken"},
		"no answer":              {&oddity{silent: true}, "sample 0: the model gave no answer"},
		"an answer with nothing": {&oddity{}, ""},
	} {
		a, err := c.workload.joined().Answerer(nil)
		var response []byte
		var closing error
		if err == nil {
			response, err = a.Answer(t.Context(), 0)
			closing = a.Close()
		}
		if closing != nil || c.workload.opened != c.workload.closed {
			t.Errorf("%s: %d predictors were opened and %d closed, %v", name, c.workload.opened, c.workload.closed, closing)
		}
		if c.want == "" && (err != nil || response == nil || len(response) != 0) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, error %v, want %q", name, response, err, c.want)
		}
	}
	if _, err := m.answerAll(t.Context(), (&oddity{open: broken}).joined(), nil); !errors.Is(err, broken) {
		t.Errorf("of all samples: error %v, want %v", err, broken)
	}
}

func TestDataSetsThatNeedNoEngineAreMade(t *testing.T) {
	for _, c := range []struct {
		name, file string
		model      workload.Model
	}{
		{"questions", "tokenizer.json", workload.Model{Name: "q", Dataset: "deepseek-r1", BuiltIn: workload.Questions{Samples: 4, Form: "deepseek-r1"}}},
		{"products", "train-00000-of-00001.parquet", workload.Model{Name: "p", Dataset: productCatalogue, BuiltIn: workload.Questions{Samples: 4}}},
		{"talk", "dev-all-repack.json", lookupModel(t, "whisper")},
		{"captions", "captions/captions_source.tsv", lookupModel(t, "stable-diffusion-xl")},
		{"prompts", "tokenizer.json", lookupModel(t, "llama3.1-8b")},
	} {
		m := Maker{Dir: t.TempDir(), Observer: &observer{t: t}, count: 2}
		if c.name == "questions" {
			m.count = 0
		}
		dir, err := m.Dataset(t.Context(), c.model)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, name := range files(t, dir) {
			found = found || name == c.file
		}
		if !found {
			t.Errorf("%s: %v, want %s among them", c.name, files(t, dir), c.file)
		}
	}
}

// Without limits the tables of DLRM have as many rows as the real ones, and so have its data.
func TestDataFollowTheSizeOfTheModel(t *testing.T) {
	dlrm := lookupModel(t, "dlrm")
	small, err := Maker{Dir: "dir"}.set(dlrm)
	full, err2 := Maker{Dir: "dir", FullSize: true}.set(dlrm)
	if err := errors.Join(err, err2); err != nil || small.key == full.key {
		t.Errorf("both have the data %s, %v", small.key, err)
	}
	if got := (Maker{}).Smaller(mobileNet(t)); got != "" {
		t.Errorf("MobileNet lacks %q", got)
	}
	if got := (Maker{}).Smaller(lookupModel(t, "llama3.1-8b")); !strings.Contains(got, "in the place of llama3.1-8b") {
		t.Errorf("the built-in decoder lacks %q", got)
	}
	none := workload.Model{Name: "none", Dataset: "squirrels", BuiltIn: workload.Recipe{}}
	if _, err := (Maker{}).set(none); !testenv.Names(err, `"squirrels"`) {
		t.Errorf("error %v", err)
	}
}

// A mute engine cannot even say what a model takes.
type mute struct {
	backend.Engine
	err error
}

func (e mute) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return nil, nil, e.err
}

func TestDataThatCannotBeMarkedAreNotThere(t *testing.T) {
	broken := errors.New("no such device")
	decoder := lookupModel(t, "llama3.1-8b")
	recipe := decoder.BuiltIn.(workload.Recipe)
	recipe.Parts = []workload.Part{{Role: workload.Only, Network: arch.SmallLlama(arch.FusedDecoder), Layers: 1, Rows: 1000}}
	decoder.BuiltIn = recipe
	for _, model := range []workload.Model{decoder, lookupModel(t, "stable-diffusion-xl"), lookupModel(t, "dlrm"), lookupModel(t, "deeplab-v3plus"), lookupModel(t, "ssd-mobilenet")} {
		t.Run(model.Name, func(t *testing.T) {
			t.Parallel()
			m := Maker{Dir: t.TempDir(), Engine: mute{err: broken}, Observer: &observer{t: t}, count: 1, Rows: 1000}
			if model.Name == "stable-diffusion-xl" {
				m.count = 2 // at least
			}
			if score, err := m.Reference(t.Context(), model); !errors.Is(err, broken) {
				t.Errorf("a reference of %v, error %v, want %v", score, err, broken)
			}
			enough := errors.New("enough")
			ctx, stop := context.WithCancelCause(t.Context())
			stop(enough)
			if dir, err := m.Dataset(ctx, model); !errors.Is(err, enough) {
				t.Errorf("stopped: %s, error %v, want %v", dir, err, enough)
			}
			for _, name := range files(t, m.Dir) {
				if !strings.HasPrefix(name, "models/") {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}
