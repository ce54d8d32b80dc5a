package own

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// node reads op:input,input…>output; attributes are name=ints.
func node(text string, attributes ...onnx.Attribute) *onnx.Node {
	op, rest, _ := strings.Cut(text, ":")
	in, out, _ := strings.Cut(rest, ">")
	return &onnx.Node{Op: op, Name: strings.ToLower(op), Inputs: strings.Split(in, ","), Outputs: strings.Split(out, ","), Attributes: attributes}
}

// TestSamplesPerRun: how many samples a run of a model has, and what a sample is.
func TestSamplesPerRun(t *testing.T) {
	conv := node("Conv:x,w>y")
	custom := node("Boxes:x>y")
	custom.Domain = "mine"
	for _, c := range []struct {
		name, inputs, outputs string
		nodes                 []*onnx.Node
		options               []string
		scored                bool
		batch                 int
		row, why              string
	}{
		{name: "graph network", inputs: "A:f:6,6 F:f:6,5", outputs: "Y:f:6,3", batch: 1, row: "float32[6 6] float32[6 5]",
			why: "samples per run: 1 (the first axis of A[6 6], F[6 5] is fixed, and nothing says that it is the batch; --shape A=1x6 --shape F=1x5: 6 samples)"},
		{name: "graph network of samples", inputs: "A:f:6,6 F:f:6,5", outputs: "Y:f:6,3", options: []string{"shape A=1x6,F=1x5"}, batch: 6, row: "float32[6] float32[5]", why: "6 (--shape A=1x6 is one of them)"},
		{name: "one shape is enough", inputs: "A:f:6,6 F:f:6,5", outputs: "Y:f:6,3", options: []string{"shape F=5"}, batch: 6, row: "float32[6] float32[5]", why: "6 (--shape F=5 is one of them)"},
		{name: "free graph network", inputs: "A:f:n,n F:f:n,5", outputs: "Y:f:n,3", batch: 1, row: "float32[16 16] float32[16 5]", why: "1 (axis n of A is not the batch)"},
		{name: "named nodes", inputs: "F:f:num_nodes,5 E:i:2,num_edges", outputs: "Y:f:num_nodes,3", batch: 1, row: "float32[16 5] int64[2 128]", why: "the first axes of F[num_nodes 5] and E[2 num_edges] differ"},
		{name: "rows", inputs: "x:f:8,128", outputs: "y:f:8,10", batch: 1, row: "float32[8 128]", why: "--shape x=1x128: 8 samples"},
		{name: "rows as one, as the user says", inputs: "x:f:8,128", outputs: "y:f:8,10", options: []string{"shape x=8x128"}, batch: 1, row: "float32[8 128]", why: "1 (--shape x=8x128 is one sample)"},
		{name: "eight images", inputs: "x:f:8,3,9,9", outputs: "y:f:8,10", nodes: []*onnx.Node{conv}, batch: 8, row: "float32[3 9 9]", why: "8 (the first axis of x is the batch of Conv conv)"},
		{name: "eight images as one sample", inputs: "x:f:8,3,9,9", outputs: "y:f:8,10", nodes: []*onnx.Node{conv}, options: []string{"shape x=8x3x9x9"}, batch: 1, row: "float32[8 3 9 9]", why: "--shape x=8x3x9x9 is one sample"},
		{name: "images in NHWC", inputs: "x:b:4,9,9,3", outputs: "y:f:4,10", nodes: []*onnx.Node{node("Cast:x>f"), node("Transpose:f>t", onnx.Attr("perm", []int64{0, 3, 1, 2})), node("Conv:t,w>y")}, batch: 4, row: "uint8[9 9 3]", why: "Conv conv"},
		{name: "quantised images", inputs: "x:b:2,3,9,9", outputs: "y:f:2,10", nodes: []*onnx.Node{node("DequantizeLinear:x,s>f"), node("MaxPool:f>y")}, batch: 2, row: "uint8[3 9 9]", why: "MaxPool"},
		{name: "the batch moves to the front", inputs: "x:f:3,5,9,9", outputs: "y:f:5,10", nodes: []*onnx.Node{node("Transpose:x>t", onnx.Attr("perm", []int64{1, 0, 2, 3})), node("Conv:t,w>y")}, batch: 1, row: "float32[3 5 9 9]", why: "the batch of Conv conv is axis 1 of x"},
		{name: "an image without a batch", inputs: "x:f:3,h,w", outputs: "y:f:boxes,5", nodes: []*onnx.Node{node("Unsqueeze:x>u", onnx.Attr("axes", []int64{0})), node("Conv:u,w>y")}, batch: 1, row: "float32[3 16 16]", why: "x has no batch axis: the model adds that of Conv conv"},
		{name: "the images of a video", inputs: "x:f:8,3,9,9", outputs: "y:f:1,10", nodes: []*onnx.Node{conv}, batch: 1, row: "float32[8 3 9 9]", why: "output y[1 10] has another first axis than x[8 3 9 9]"},
		{name: "boxes of eight images", inputs: "x:f:8,3,9,9", outputs: "y:f:num,5", nodes: []*onnx.Node{conv}, batch: 1, row: "float32[8 3 9 9]", why: "output y[num 5] has another first axis"},
		{name: "LSTM", inputs: "x:f:10,4,80", outputs: "y:f:10,1,4,5", nodes: []*onnx.Node{node("LSTM:x,w,r>y")}, batch: 1, row: "float32[10 4 80]", why: "the batch of LSTM lstm is axis 1 of x, which is not divided"},
		{name: "LSTM with free axes", inputs: "x:f:?,?,80", outputs: "y:f:?,1,?,5", nodes: []*onnx.Node{node("LSTM:x,w,r>y")}, batch: 1, row: "float32[128 1 80]", why: "axis 1 of x"},
		{name: "LSTM, time first in a batch's place", inputs: "x:f:N,M,80", outputs: "y:f:N,1,M,5", nodes: []*onnx.Node{node("GRU:x,w,r>y")}, batch: 1, row: "float32[128 1 80]", why: "axis 1 of x"},
		{name: "LSTM of layout 1", inputs: "x:f:4,10,80", outputs: "y:f:4,10,1,5", nodes: []*onnx.Node{node("LSTM:x,w,r>y", onnx.Attr("layout", int64(1)))}, batch: 4, row: "float32[10 80]", why: "the first axis of x is the batch of LSTM lstm"},
		{name: "batch first before a transpose", inputs: "x:f:4,10,80", outputs: "y:f:4,5", nodes: []*onnx.Node{node("Transpose:x>t", onnx.Attr("perm", []int64{1, 0, 2})), node("RNN:t,w,r>y")}, batch: 4, row: "float32[10 80]", why: "the batch of RNN rnn"},
		{name: "initial states", inputs: "x:f:10,4,80 h:f:1,4,5 c:f:1,4,5", outputs: "y:f:10,1,4,5", nodes: []*onnx.Node{node("LSTM:x,w,r,,,h,c>y")}, batch: 1, row: "float32[10 4 80] float32[1 4 5] float32[1 4 5]", why: "differ"},
		{name: "free initial states", inputs: "x:f:T,B,80 h:f:1,B,5", outputs: "y:f:T,1,B,5", nodes: []*onnx.Node{node("GRU:x,w,r,,,h>y")}, batch: 1, row: "float32[128 1 80] float32[1 1 5]", why: "differ"},
		{name: "lengths of sequences", inputs: "l:i:4", outputs: "y:f:4,5", nodes: []*onnx.Node{node("LSTM:q,w,r,,l>y")}, batch: 4, row: "int64[]", why: "the first axis of l is the batch of LSTM lstm"},
		{name: "boxes of all images", inputs: "x:f:N,3,9,9", outputs: "det:f:num_dets,5", batch: 0, row: "float32[3 9 9]", why: "any number (axis N of x)"},
		{name: "boxes of all images, scored", inputs: "x:f:N,3,9,9", outputs: "det:f:num_dets,5", scored: true, batch: 1, row: "float32[3 9 9]", why: "1 (output det[num_dets 5] does not have a row for each sample)"},
		{name: "batches of other names", inputs: "x:f:N,3,9,9", outputs: "y:f:batch_size,5", scored: true, batch: 0, row: "float32[3 9 9]", why: "any number"},
		{name: "no names", inputs: "x:f:?,3,9,9", outputs: "y:f:?,5", nodes: []*onnx.Node{conv}, scored: true, batch: 0, row: "float32[3 9 9]", why: "any number (the first axis of x is free)"},
		{name: "no names and an operator of somebody", inputs: "x:f:?,3,9,9", outputs: "y:f:?,5", nodes: []*onnx.Node{custom}, scored: true, batch: 1, row: "float32[3 9 9]", why: "does not have a row"},
		{name: "regions of an image", inputs: "x:f:N,3,9,9 r:f:R,5", outputs: "y:f:R,5", batch: 1, row: "float32[1 3 9 9] float32[1 5]", why: "the first axes of x[N 3 9 9] and r[R 5] differ"},
		{name: "one", inputs: "x:f:1,3,9,9", outputs: "y:f:1,10", batch: 1, row: "float32[3 9 9]", why: "samples per run: 1 (the first axis of x[1 3 9 9])"},
		{name: "nothing", inputs: "", outputs: "y:f:2,3", batch: 1, row: "", why: "1 (the model has no inputs)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := file(t, c.inputs, c.outputs, c.nodes...)
			s := setupOf(t, path, "", c.options...)
			if c.scored { // by outputs of another runtime
				s.DatasetDir = t.TempDir()
				testenv.Must(t, npy.WriteFile(filepath.Join(s.DatasetDir, "x.npy"), tensor.New(tensor.Float32, 2, 3, 9, 9)))
				name := s.Ports[workload.Only].Outputs[0].Name
				testenv.Must(t, npy.WriteFile(filepath.Join(s.DatasetDir, "expected_"+name+".npy"), tensor.New(tensor.Float32, 2, 5)))
				s.Scored = true
			}
			w, err := Model(path).Open(s)
			testenv.Must(t, err)
			var row []string
			for _, slot := range w.Row(0) {
				row = append(row, slot.String())
			}
			if got := strings.Join(row, " "); got != c.row || w.Batch != c.batch || !strings.Contains(w.Notes[0], c.why) {
				t.Errorf("row %s, batch %d, want %s, %d, because %s\n%s", got, w.Batch, c.row, c.batch, c.why, strings.Join(w.Notes, "\n"))
			}
		})
	}
}

// The shape that the user gives holds for fixed axes, too.
func TestShapeOfFixedAxes(t *testing.T) {
	for shape, want := range map[string]string{
		"x=4x128": "axis 0 is 4, input x takes 8", "x=1x64": "axis 1 is 64, input x takes 128", "x=64": "axis 1 is 64, input x takes 128", "x=2x8x128": "has 3 axes, input x[8 128] has 2",
	} {
		if _, err := setup(t, "x:f:8,128", "y:f:8,10", "", "shape "+shape); !testenv.Names(err, want) {
			t.Errorf("%s: error %v, want %q", shape, err, want)
		}
	}
}

// Arrays show whether a fixed first axis is the batch, and a message says which shape works.
func TestArraysOfSamples(t *testing.T) {
	recurrent := "x:f:?,512 state:f:2,?,128 sr:i:"
	sound := "x:f:1,16000 state:f:2,1,64"
	for _, c := range []struct {
		name, inputs string
		array        tensor.Shape // of the first input
		option       string
		samples      int
		row, err     string // of the first input
	}{
		{name: "samples of a fixed batch", inputs: "x:f:8,128", array: tensor.Shape{30, 128}, samples: 30, row: "float32[128]"},
		{name: "as many samples as a batch", inputs: "x:f:8,128", array: tensor.Shape{8, 128}, samples: 1, row: "float32[8 128]"},
		{name: "the same, as the user says", inputs: "x:f:8,128", array: tensor.Shape{8, 128}, option: "shape x=1x128", samples: 8, row: "float32[128]"},
		{name: "whole batches", inputs: "x:f:8,128", array: tensor.Shape{3, 8, 128}, samples: 3, row: "float32[8 128]"},
		{name: "other rows", inputs: "x:f:8,128", array: tensor.Shape{8, 100}, err: "float32[8 100] … x[8 128] … first axis … [N 8 128]"},
		{name: "eight samples of speech", inputs: recurrent, array: tensor.Shape{8, 128}, err: "float32[8 128] … x[? 512] … first axis … [N 1 512]"},
		{name: "eight right samples of speech", inputs: recurrent, array: tensor.Shape{8, 512}, err: "float32[8 512] … x[? 512] … first axis … [8 1 512] … --shape x=8x512"},
		{name: "with the axis", inputs: recurrent, array: tensor.Shape{8, 1, 512}, samples: 8, row: "float32[1 512]"},
		{name: "all is one sample", inputs: recurrent, array: tensor.Shape{8, 512}, option: "shape x=8x512", samples: 1, row: "float32[8 512]"},
		{name: "one sample", inputs: recurrent, array: tensor.Shape{1, 512}, samples: 1, row: "float32[1 512]"},
		{name: "sounds", inputs: sound, array: tensor.Shape{8, 16000}, err: "first axis … [8 1 16000]"},
		{name: "a sound", inputs: sound, array: tensor.Shape{16000}, err: "float32[16000] … x[1 16000] … first axis … [N 1 16000]"},
		{name: "an image and a threshold", inputs: "x:f:N,3,8,8 t:f:", array: tensor.Shape{5, 3, 8, 8}, err: "first axis … [5 1 3 8 8]"},
		{name: "nodes of a graph", inputs: "x:f:num_nodes,5 e:i:2,num_edges", array: tensor.Shape{7, 5}, samples: 1, row: "float32[7 5]"},
		{name: "steps of time", inputs: "x:f:time,1,80", array: tensor.Shape{50, 1, 80}, samples: 1, row: "float32[50 1 80]"},
		{name: "a scalar each", inputs: "x:f: y:f:3", array: tensor.Shape{6}, samples: 6, row: "float32[]"},
		{name: "too few axes of a batch", inputs: "x:f:N,3,8,8", array: tensor.Shape{3, 8}, err: "float32[3 8] … x[N 3 8 8] … first axis … [N 3 8 8]"},
		{name: "no samples", inputs: "x:f:N,3", array: tensor.Shape{0, 3}, err: "float32[0 3] … no samples"},
		{name: "an empty cache", inputs: "past:f:N,4,past_len,8 ids:i:N,1", array: tensor.Shape{5, 4, 0, 8}, samples: 5, row: "float32[4 0 8]"},
		{name: "an empty cache of one sample", inputs: "past:f:1,4,past_len,8 ids:i:1,1", array: tensor.Shape{1, 4, 0, 8}, samples: 1, row: "float32[4 0 8]"},
		{name: "an empty cache without a batch", inputs: "past:f:2,past_len,8 ids:i:1,1", array: tensor.Shape{3, 2, 0, 8}, samples: 3, row: "float32[2 0 8]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name, _, _ := strings.Cut(c.inputs, ":")
			testenv.Must(t, npy.WriteFile(filepath.Join(dir, name+".npy"), tensor.New(tensor.Float32, c.array...)))
			var options []string
			if c.option != "" {
				options = append(options, c.option)
			}
			w, err := setup(t, c.inputs, "o:f:8,10", dir, options...)
			if first, _, _ := strings.Cut(c.inputs, ","); !strings.HasSuffix(first, ":8") {
				w, err = setup(t, c.inputs, "o:f:N,10", dir, options...)
			}
			if c.err != "" {
				if !testenv.Names(err, c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			testenv.Must(t, err)
			if got := w.Row(0)[0].String(); got != c.row || w.Samples != c.samples {
				t.Errorf("%d samples of %s, want %d of %s\n%s", w.Samples, got, c.samples, c.row, strings.Join(w.Notes, "\n"))
			}
			prepared(t, w, w.Samples-1)
		})
	}
}

// As many labels or expected outputs as a fixed first axis has rows make it the batch.
func TestTruthsOfSamples(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "x.npy"), tensor.New(tensor.Float32, 8, 128)))
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "labels.npy"), tensor.New(tensor.Int64, 8)))
	if w, err := setup(t, "x:f:8,128", "y:f:8,10", dir); err != nil || w.Batch != 8 || w.Samples != 8 {
		t.Errorf("%+v, %v, want batches of 8", w, err)
	}
	if _, err := setup(t, "x:f:8,128", "y:f:8,10", dir, "shape x=8x128"); !testenv.Names(err, "8 labels … 1 samples") {
		t.Errorf("one sample: error %v", err)
	}
}

// Outputs of another runtime may be empty, and of every type of numbers.
func TestExpectedOfEachType(t *testing.T) {
	for _, c := range []struct {
		name     string
		want     tensor.Tensor // of two samples
		got      tensor.Tensor // as the engine gives it
		elements string        // of the output's port
	}{
		{"empty floats", tensor.New(tensor.Float64, 2, 0, 4), tensor.New(tensor.Float32, 2, 0, 4), "f"},
		{"empty whole numbers", tensor.New(tensor.Int64, 2, 0), tensor.New(tensor.Int64, 2, 0), "i"},
		{"uint64", tensor.Of([]uint64{1 << 63, math.MaxUint64}, 2, 1), tensor.Of([]uint64{1 << 63, math.MaxUint64}, 2, 1), "u"},
		{"uint8", tensor.Of([]uint8{200, 3}, 2, 1), tensor.Of([]uint8{200, 3}, 2, 1), "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			testenv.Must(t, npy.WriteFile(filepath.Join(dir, "x.npy"), tensor.New(tensor.Float32, 2, 3)))
			testenv.Must(t, npy.WriteFile(filepath.Join(dir, "expected_y.npy"), c.want))
			path := file(t, "x:f:N,3", "y:"+c.elements+":N,k")
			s := setupOf(t, path, dir)
			s.Scored = true
			if _, err := Model(path).Open(s); err != nil {
				t.Fatal(err)
			}
			in := &inputs{}
			var err error
			_, in.expected, err = readTruth(dir)
			testenv.Must(t, err)
			testenv.Must(t, in.expected[0].bind(s.Ports[workload.Only].Outputs))
			var records []string
			for k := range 2 {
				data, err := in.answer(nil, []tensor.Tensor{c.got}, k, 2)
				testenv.Must(t, err)
				records = append(records, fmt.Sprintf(`{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, k, k, data))
			}
			log := accuracy.Named("log", strings.NewReader("["+strings.Join(records, ",\n")+"]"))
			score, err := score(t.Context(), log, workload.Scoring{DatasetDir: dir})
			if err != nil || !strings.HasPrefix(score.Lines[0], "equal=2 of 2 within") {
				t.Errorf("%v, %v", score, err)
			}
		})
	}
}

// A model without inputs has as many samples as expected outputs.
func TestExpectedWithoutInputs(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "expected_y.npy"), tensor.New(tensor.Float32, 1, 2, 3)))
	w, err := setup(t, "", "y:f:2,3", dir)
	if err != nil || w.Samples != 1 || w.Batch != 1 || len(w.Row(0)) != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	testenv.Must(t, w.Prepare(0, nil))
}

// Where samples are compared one by one, larger batches are refused with the reason.
func TestBatchesOfOne(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "x.npy"), tensor.New(tensor.Float32, 2, 3)))
	testenv.Must(t, npy.WriteFile(filepath.Join(dir, "expected_y.npy"), tensor.New(tensor.Float32, 2, 5)))
	path := file(t, "x:f:N,3", "y:f:num_dets,5")
	s := setupOf(t, path, dir)
	s.Scored = true
	w, err := Model(path).Open(s)
	testenv.Must(t, err)
	if _, err := w.NewPredictor(workload.Sessions{}, 4); !testenv.Names(err, "4 … 1 … y[num_dets 5]") {
		t.Errorf("batches of 4: error %v", err)
	}
}

// An output that has other rows than a batch has samples is not taken apart.
func TestAnswersOfBatches(t *testing.T) {
	in := &inputs{expected: []*expected{{Expected: accuracy.Expected{Name: "y", Samples: 2, Length: 2, Floats: make([]float32, 4)}, port: backend.Port{Name: "y"}}}}
	for _, c := range []struct {
		shape tensor.Shape
		batch int
		err   string
	}{
		{tensor.Shape{2, 2}, 2, ""}, {tensor.Shape{1, 2}, 1, ""}, {tensor.Shape{2}, 1, ""}, {tensor.Shape{2, 1}, 1, ""},
		{tensor.Shape{3, 2}, 2, "output y is float32[3 2] after a run of 2 samples, and has no row for each"},
		{tensor.Shape{2}, 3, "has no row for each"}, {tensor.Shape{}, 2, "has no row for each"}, {tensor.Shape{0, 2}, 2, "has no row for each"},
		{tensor.Shape{3, 2}, 1, "6 numbers for a sample; expected_y has 2"},
	} {
		_, err := in.answer(nil, []tensor.Tensor{tensor.New(tensor.Float32, c.shape...)}, 0, c.batch)
		if got := fmt.Sprint(err); err == nil && c.err != "" || err != nil && (c.err == "" || !strings.Contains(got, c.err)) {
			t.Errorf("%v of %d samples: error %v, want %q", c.shape, c.batch, err, c.err)
		}
	}
}
