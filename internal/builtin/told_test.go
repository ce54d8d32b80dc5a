package builtin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A hearsay is an engine whose sessions do nothing: the answers of the model are told to its predictors.
type hearsay struct {
	backend.Engine
	opened, closed atomic.Int64
}

type hearsaySession struct {
	backend.Session
	engine *hearsay
}

func (e *hearsay) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return nil, nil, nil
}

func (e *hearsay) Open(_ context.Context, o backend.Options) (backend.Session, error) {
	if o.IntraThreads != 1 {
		return nil, fmt.Errorf("%d threads, want one: the sum of many depends on how they share it", o.IntraThreads)
	}
	e.opened.Add(1)
	return hearsaySession{engine: e}, nil
}

func (s hearsaySession) Close() error {
	s.engine.closed.Add(1)
	return nil
}

// told is a workload whose answers are known.
func told(responses [][]byte) *workload.Workload {
	return &workload.Workload{
		Samples: len(responses), Prepare: func(int, []tensor.Tensor) error { return nil },
		Row: func(i int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Uint8, Shape: tensor.Shape{int64(1 + i%3)}}}
		},
		NewPredictor: func(workload.Sessions, int) (workload.Predictor, error) { return toldPredictor{responses}, nil },
	}
}

type toldPredictor struct{ responses [][]byte }

func (p toldPredictor) Use(*workload.Store) error { return nil }
func (p toldPredictor) Close() error              { return nil }

func (p toldPredictor) Predict(_ context.Context, items []workload.Item, reply workload.Reply) error {
	reply.Done(items[0].Ticket, p.responses[items[0].Index], 0)
	return nil
}

// toldModel is a model of the catalogue whose file is there, whose answers are known, and whose score is the sum of all bytes that
// it is scored by.
func toldModel(t *testing.T, m Maker, name string, responses [][]byte) workload.Model {
	t.Helper()
	model := lookupModel(t, name)
	path, err := m.modelPath(model)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	model.Files, model.Roles = nil, nil
	model.Open = func(workload.Setup) (*workload.Workload, error) { return told(responses), nil }
	model.Score = func(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
		text, err := io.ReadAll(log)
		value := 0.0
		for i, response := range responses {
			if !strings.Contains(string(text), fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%X" }`, i, i, response)) {
				return nil, fmt.Errorf("answer %d is not in the log %s", i, text)
			}
			for _, b := range response {
				value += float64(b)
			}
		}
		if _, err := os.Stat(s.DatasetDir); err != nil {
			return nil, err
		}
		return &accuracy.Score{Values: []accuracy.Value{{Name: model.Quality.Metric, Value: value}}}, err
	}
	return model
}

func toldMaker(t *testing.T, count int) (Maker, *hearsay) {
	e := &hearsay{}
	return Maker{Dir: t.TempDir(), Engine: e, Observer: &observer{t: t}, count: count, Rows: 1000}, e
}

// chances of pairs as the model answers them: the chance, and what LoadGen's log has besides.
func clicksOf(p ...float32) (response []byte) {
	for _, v := range p {
		response = binary.LittleEndian.AppendUint32(response, math.Float32bits(v))
		response = binary.LittleEndian.AppendUint32(response, 0x7fc00000)
	}
	return response
}

// A pair is a click as often as the model says: never, always, or by chance.
func TestClicksAreDrawnByTheChanceThatTheModelGives(t *testing.T) {
	for _, name := range []string{"dlrm", "dlrm-v2"} {
		m, engine := toldMaker(t, 4)
		const pairs = 4 * meanRun
		var responses [][]byte
		for _, run := range dataset.AggregatePairs(pairs) {
			var chances []float32
			for i := range run.Count {
				chances = append(chances, []float32{0, 1, 0.25}[(run.First+i)%3])
			}
			responses = append(responses, clicksOf(chances...))
		}
		model := toldModel(t, m, name, responses)
		dir, err := m.Dataset(t.Context(), model)
		if err != nil {
			t.Fatal(err)
		}
		var labels []bool
		truth := labelsOf(t, name, dir)
		for sample := range responses {
			more, err := truth.Labels(sample)
			if err != nil {
				t.Fatal(err)
			}
			labels = append(labels, more...)
		}
		quarter := 0
		for i, click := range labels {
			switch {
			case i%3 == 2 && click:
				quarter++
			case i%3 < 2 && click != (i%3 == 1):
				t.Fatalf("%s: pair %d is a click: %v", name, i, click)
			}
		}
		if len(labels) != pairs || quarter < pairs/3/4-30 || quarter > pairs/3/4+30 {
			t.Errorf("%s: %d pairs, of %d with a chance of a quarter %d are clicks", name, len(labels), pairs/3, quarter)
		}
		if engine.opened.Load() == 0 || engine.opened.Load() != engine.closed.Load() {
			t.Errorf("%s: %d sessions were opened and %d closed", name, engine.opened.Load(), engine.closed.Load())
		}
		if manifest, err := synth.ReadManifest(dir); err != nil || len(manifest.Scores) != 0 {
			t.Errorf("%s: %+v, %v: the score is measured later", name, manifest, err)
		}
	}
}

func labelsOf(t *testing.T, name, dir string) accuracy.ClickTruth {
	t.Helper()
	var truth accuracy.ClickTruth
	var err error
	if name == "dlrm" {
		truth, err = dataset.OpenCriteo(dir)
	} else {
		truth, err = dataset.OpenMultiHot(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

// The targets are the model's words with half of them replaced, and the score is that of its own.
func TestPromptsWantWhatTheModelSays(t *testing.T) {
	m, _ := toldMaker(t, 5)
	answers := make([][]int32, 5)
	responses := make([][]byte, 5)
	for i := range answers {
		for k := range 40 {
			answers[i] = append(answers[i], int32(100+10*i+k%7))
			responses[i] = binary.LittleEndian.AppendUint32(responses[i], uint32(answers[i][k]))
		}
	}
	model := lookupModel(t, "llama3.1-8b")
	recipe := model.BuiltIn.(workload.Recipe)
	if recipe.TokenBytes != 4 {
		responses = wide(answers, recipe.TokenBytes)
	}
	model = toldModel(t, m, "llama3.1-8b", responses)
	dir, err := m.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	table, err := prompts.Read(filepath.Join(dir, "cnn_eval.json"), prompts.Options{})
	if err != nil || table.Len() != 5 {
		t.Fatalf("%v of prompts, %v", table, err)
	}
	for i := range answers {
		text, err := table.Text(i, "output")
		if words := len(strings.Fields(text)); err != nil || words != 40 {
			t.Errorf("prompt %d wants %d words, %v: %q", i, words, err, text)
		}
	}
	manifest, err := synth.ReadManifest(dir)
	if err != nil || len(manifest.Scores) != 1 {
		t.Fatalf("scores %v, %v", manifest.Scores, err)
	}
	sum := 0.0
	for _, response := range responses {
		for _, b := range response {
			sum += float64(b)
		}
	}
	path, err := m.modelPath(model)
	if got := manifest.Scores[strings.TrimSuffix(filepath.Base(path), ".onnx")]; err != nil || got != sum {
		t.Errorf("the score is %v of %v, want %v", got, manifest.Scores, sum)
	}
}

// wide has tokens of eight bytes.
func wide(answers [][]int32, bytes int) (responses [][]byte) {
	for _, answer := range answers {
		var response []byte
		for _, token := range answer {
			response = append(response, binary.LittleEndian.AppendUint64(nil, uint64(token))[:bytes]...)
		}
		responses = append(responses, response)
	}
	return responses
}

// Masks are what the model says of an image, moved by a few pixels: of one class everywhere all but the areas is that class.
func TestMasksAreWhatTheModelSays(t *testing.T) {
	m, _ := toldMaker(t, 2)
	responses := [][]byte{bytes.Repeat([]byte{200}, maskSide*maskSide), bytes.Repeat([]byte{7}, maskSide*maskSide)}
	dir, err := m.Dataset(t.Context(), toldModel(t, m, "deeplab-v3plus", responses))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := synth.ReadManifest(dir)
	if err != nil || manifest.Spec == nil || len(manifest.Scores) != 1 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	for i, response := range responses {
		spec := manifest.Spec.(*synth.ADE20KSpec)
		width, height := spec.Content(i)
		data, err := os.ReadFile(filepath.Join(dir, "annotations", spec.Name(i)+".png"))
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		for k, class := range picture.(*image.Gray).Pix {
			switch inside := k%maskSide < width && k/maskSide < height; {
			case inside && class == response[0]:
				said++
			case !inside && class != 0:
				t.Fatalf("image %d: a pixel of the padding has class %d", i, class)
			}
		}
		if share := float64(said) / float64(width*height); share < 0.4 || share > 0.97 {
			t.Errorf("image %d: %v of the pixels are what the model says", i, share)
		}
	}
}

// What the model says of a sample is scored; a log of nothing is a list of nothing, and a metric that the score does not have
// is named.
func TestScoresAreOfTheMetricOfTheModel(t *testing.T) {
	m, _ := toldMaker(t, 2)
	model := toldModel(t, m, "dlrm", [][]byte{{1, 2}, {}, {40}})
	scores, err := m.scores(t.Context(), model, m.Dir, [][]byte{{1, 2}, {}, {40}})
	if err != nil || len(scores) != 1 {
		t.Fatalf("%v, %v", scores, err)
	}
	for name, v := range scores {
		if v != 43 || strings.HasSuffix(name, ".onnx") || !strings.HasPrefix(name, "dlrm") {
			t.Errorf("the score of %s is %v", name, v)
		}
	}
	model.Score = func(context.Context, accuracy.Input, workload.Scoring) (*accuracy.Score, error) {
		return &accuracy.Score{Values: []accuracy.Value{{Name: "another", Value: 1}}}, nil
	}
	want := fmt.Sprintf("dlrm … %q", model.Quality.Metric)
	if _, err := m.scores(t.Context(), model, m.Dir, nil); !testenv.Names(err, want) {
		t.Errorf("%v, want %s", err, want)
	}
	broken := errors.New("broken")
	model.Score = func(context.Context, accuracy.Input, workload.Scoring) (*accuracy.Score, error) { return nil, broken }
	if _, err := m.scores(t.Context(), model, m.Dir, nil); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// Samples of other shapes have stores of their own; each answer is the one of its sample.
func TestAnswersAreThoseOfTheirSamples(t *testing.T) {
	m, engine := toldMaker(t, 2)
	var responses [][]byte
	for i := range 100 {
		responses = append(responses, bytes.Repeat([]byte{byte(i)}, i%5))
	}
	got, err := m.answers(t.Context(), toldModel(t, m, "dlrm", responses), m.Dir)
	if err != nil || len(got) != 100 {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	for i, response := range got {
		if !bytes.Equal(response, responses[i]) || response == nil {
			t.Errorf("answer %d is %v, want %v", i, response, responses[i])
		}
	}
	if engine.opened.Load() != 1 || engine.closed.Load() != 1 {
		t.Errorf("%d sessions were opened and %d closed", engine.opened.Load(), engine.closed.Load())
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := m.answers(ctx, toldModel(t, m, "dlrm", responses), m.Dir); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if engine.opened.Load() != engine.closed.Load() {
		t.Errorf("%d sessions were opened and %d closed", engine.opened.Load(), engine.closed.Load())
	}
}

// A score is added to those that are kept, also to those that another program has added meanwhile.
func TestScoresAreKeptBesideOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	if err := synth.WriteQuestions(t.Context(), dir, synth.QuestionSpec{Seed: 1, Questions: 2, Form: "gpt-oss-120b"}); err != nil {
		t.Fatal(err)
	}
	for name, score := range map[string]float64{"a": 1, "b": 2} {
		if err := keepScore(dir, name, score); err != nil {
			t.Fatal(err)
		}
	}
	if err := keepScore(dir, "a", 3); err != nil {
		t.Fatal(err)
	}
	manifest, err := synth.ReadManifest(dir)
	if err != nil || len(manifest.Scores) != 2 || manifest.Scores["a"] != 3 || manifest.Scores["b"] != 2 {
		t.Errorf("scores %v, %v", manifest.Scores, err)
	}
	if err := keepScore(t.TempDir(), "a", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no data set: %v", err)
	}
}

func TestRoomIsComparedWithWhatFilesTake(t *testing.T) {
	const mb = 1_000_000
	free := func(n uint64) func(string) uint64 { return func(string) uint64 { return n } }
	for _, c := range []struct {
		name string
		free func(string) uint64
		want string
	}{
		{"nobody knows", nil, ""}, {"it cannot be found out", free(0), ""}, {"just enough", free(7 * mb), ""}, {"a byte too little", free(7*mb - 1), "7 MB … here … 6 MB"},
	} {
		if err := (Maker{FreeDisk: c.free}).checkDisk(7*mb, "here"); !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	memory := func(n uint64) func() uint64 { return func() uint64 { return n } }
	for _, c := range []struct {
		name string
		free func() uint64
		full bool
		want string
	}{
		{"nobody knows", nil, true, ""}, {"it cannot be found out", memory(0), true, ""}, {"just enough", memory(12 * mb), true, ""},
		{"a byte too little", memory(12*mb - 1), true, "a model of 10 MB takes about 12 MB of memory, 11 MB are free"}, {"a small model", memory(1), false, ""},
	} {
		if err := (Maker{FreeMemory: c.free, FullSize: c.full}).checkMemory(10 * mb); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Segmentations are what the model says of a volume, on the grid of its file: of one label everywhere, all but six boxes and what
// is cut off is that label.
func TestSegmentationsAreWhatTheModelSays(t *testing.T) {
	testenv.SkipLong(t, "a volume of a million voxels")
	m, _ := toldMaker(t, 1)
	g := synth.KiTS19Spec{Seed: segmentationSeed, Cases: 1}.Grid(0)
	grid := volume.Grid{Shape: g.Shape}
	for axis, spacing := range g.Spacing {
		grid.Spacing[axis] = float64(float32(spacing)) // as the file has it
	}
	shape := volume.PreparedShape(grid)
	dir, err := m.Dataset(t.Context(), toldModel(t, m, "3d-unet", [][]byte{bytes.Repeat([]byte{1}, shape[0]*shape[1]*shape[2])}))
	if err != nil {
		t.Fatal(err)
	}
	v, err := volume.ReadFile(filepath.Join(dir, "case_00000", "segmentation.nii.gz"))
	if err != nil || v.Shape != g.Shape {
		t.Fatalf("%+v, %v, want the shape %v", v, err, g.Shape)
	}
	counts := map[float32]int{}
	for _, label := range v.Data {
		counts[label]++
	}
	if share := float64(counts[1]) / float64(len(v.Data)); len(counts) > 3 || share < 0.5 || share > 0.999 {
		t.Errorf("labels %v of %d voxels", counts, len(v.Data))
	}
	if manifest, err := synth.ReadManifest(dir); err != nil || len(manifest.Scores) != 1 {
		t.Errorf("scores %v, %v", manifest.Scores, err)
	}
}
