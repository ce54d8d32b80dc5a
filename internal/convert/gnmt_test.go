package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint/checkpointtest"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// gnmtDims has the shapes of the weights that our networks ask for, by role and name.
func gnmtDims(t *testing.T) map[string]map[string][]int64 {
	t.Helper()
	all := map[string]map[string][]int64{}
	for _, role := range []string{"encoder", "decoder"} {
		all[role] = map[string][]int64{}
		_, _, err := gnmtNetworks()[role].Build(arch.Options{Rows: 50, Weights: func(name string, dims []int64) (onnx.Source, error) {
			all[role][name] = dims
			return lazy(dims, nil), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// gnmtVariables are those of the official checkpoint with layers of some units. The elements of each
// differ from those of all others.
func gnmtVariables(hidden int64) map[string]checkpointtest.Variable {
	all := map[string]checkpointtest.Variable{}
	add := func(name string, dims ...int64) {
		numbers := make([]float32, product(dims))
		for i := range numbers {
			numbers[i] = float32(1000*len(all) + i + 1)
		}
		all[name] = checkpointtest.Variable{Dims: dims, Numbers: numbers}
	}
	add("Variable") // which no network has
	add("embeddings/encoder/embedding_encoder", 50, hidden)
	add("dynamic_seq2seq/embeddings/decoder/embedding_decoder", 50, hidden)
	add("dynamic_seq2seq/decoder/memory_layer/kernel", hidden, hidden)
	for name, dims := range map[string][]int64{"query_layer/kernel": {hidden, hidden}, "attention_b": {hidden}, "attention_v": {hidden}, "attention_g": nil} {
		add("dynamic_seq2seq/"+bahdanau+name, dims...)
	}
	add("dynamic_seq2seq/decoder/output_projection/kernel", hidden, 50)
	for layer, cells := range lstmCells {
		inputs := 2 * hidden // what came before, or that and the attention
		if layer == "bidirectional" || layer == "uni1" || layer == "uni2" {
			inputs = hidden
		}
		for _, cell := range cells {
			add("dynamic_seq2seq/"+cell+"/basic_lstm_cell/kernel", inputs+hidden, 4*hidden)
			add("dynamic_seq2seq/"+cell+"/basic_lstm_cell/bias", 4*hidden)
		}
	}
	return all
}

// All weights come from the right variables, and each number of a cell is where ONNX looks for it.
func TestGNMTWeights(t *testing.T) {
	const hidden = 2
	variables := gnmtVariables(hidden)
	dir := t.TempDir()
	checkpointtest.Write(t, dir, 2, variables)
	c, err := tfcheckpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	variable := func(name string) []float32 {
		for _, name := range []string{"dynamic_seq2seq/" + name, name} {
			if v, ok := variables[name]; ok {
				return v.Numbers
			}
		}
		t.Fatalf("no variable %q", name)
		return nil
	}
	// The gates of a cell are i, j, f, o in TensorFlow, and in an LSTM of ONNX i, o, f, c.
	own, lstm := []int{0, 1, 2, 3}, []int{0, 3, 2, 1}
	rows := func(cell string, first, last int, gates []int) (list []float32) {
		kernel := variable(cell + "/basic_lstm_cell/kernel")
		if last < 0 {
			last = len(kernel) / (4 * hidden)
		}
		for _, gate := range gates {
			for unit := range hidden {
				for row := first; row < last; row++ {
					list = append(list, kernel[row*4*hidden+gate*hidden+unit])
				}
			}
		}
		return list
	}
	bias := func(cell string, gates []int) (list []float32) {
		for _, gate := range gates {
			for unit := range hidden {
				b := variable(cell + "/basic_lstm_cell/bias")[gate*hidden+unit]
				if gate == 2 {
					b++ // BasicLSTMCell's forget_bias
				}
				list = append(list, b)
			}
		}
		return list
	}
	want := func(role, name string) (list []float32) {
		switch name {
		case "embedding":
			return variable("embeddings/" + role + "/embedding_" + role)
		case "attention/v":
			v, g := variable(bahdanau+"attention_v"), variable(bahdanau + "attention_g")[0]
			norm := float32(math.Hypot(float64(v[0]), float64(v[1])))
			return []float32{g * v[0] / norm, g * v[1] / norm}
		}
		if name, ok := sameInBoth[name]; ok {
			return variable(name)
		}
		layer, part, _ := strings.Cut(name, "/")
		for _, cell := range lstmCells[layer] {
			inputs := len(variable(cell+"/basic_lstm_cell/kernel"))/(4*hidden) - hidden
			switch part {
			case "weights":
				list = append(list, rows(cell, 0, inputs, lstm)...)
			case "recurrence":
				list = append(list, rows(cell, inputs, -1, lstm)...)
			case "bias":
				list = append(append(list, bias(cell, lstm)...), make([]float32, 4*hidden)...)
			case "gates/weights":
				list = append(list, rows(cell, 0, -1, own)...)
			case "gates/bias":
				list = append(list, bias(cell, own)...)
			}
		}
		return list
	}
	for role, weights := range gnmtDims(t) {
		for name, dims := range weights {
			var small []int64 // the network has 1024 units
			for _, d := range dims {
				if d%1024 == 0 {
					d = d / 1024 * hidden
				}
				small = append(small, d)
			}
			source, err := gnmtWeights(c, role, name, small)
			if err != nil {
				t.Errorf("%s, %s %v: %v", role, name, small, err)
				continue
			}
			var raw bytes.Buffer
			if _, err := source.WriteTo(&raw); err != nil {
				t.Fatal(err)
			}
			got, err := onnx.Elements[float32](&onnx.Tensor{Name: name, Type: onnx.Float32, Dims: small, Data: onnx.Raw(raw.Bytes())})
			if err != nil {
				t.Fatal(err)
			}
			expected := want(role, name)
			for i, v := range got {
				if len(got) != len(expected) || math.Abs(float64(v-expected[i])) > 1e-5*math.Abs(float64(v)) {
					t.Errorf("%s, %s is %v, want %v", role, name, got, expected)
					break
				}
			}
		}
	}
}

func TestGNMTWritesBothNetworks(t *testing.T) {
	testenv.SkipLong(t, "writes a checkpoint of 350 MB")
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "gnmt")
	checkpointtest.Write(t, dir, 1, gnmtVariables(1024))
	if err := GNMT(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	for role, weights := range gnmtDims(t) {
		m, err := onnx.ReadFile(filepath.Join(out, role+".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		if o := Origins(m.Metadata); len(o) != 1 || !strings.Contains(o[0].File, ".data-00000-of-00001") || len(o[0].SHA256) != 64 {
			t.Errorf("%s says that it was made of %+v", role, o)
		}
		for name, dims := range weights {
			if w := m.Graph.Index().Initializer(name); w == nil || fmt.Sprint(w.Dims) != fmt.Sprint(dims) {
				t.Errorf("%s has the weights %s as %+v, want %v", role, name, w, dims)
			}
		}
	}
	if err := GNMT(t.Context(), dir, out); !testenv.Names(err, "encoder.onnx … already") {
		t.Errorf("into the same folder: error %v", err)
	}
}

func TestGNMTRefusesOtherCheckpoints(t *testing.T) {
	zeros := func(dims ...int64) checkpointtest.Variable {
		return checkpointtest.Variable{Dims: dims, Numbers: make([]float32, product(dims))}
	}
	for _, test := range []struct {
		name      string
		variables map[string]checkpointtest.Variable
		want      string
	}{
		{"no variables", map[string]checkpointtest.Variable{"x": zeros(1)}, `no variable "dynamic_seq2seq/embeddings/encoder/embedding_encoder"`},
		{"thinner", map[string]checkpointtest.Variable{"embeddings/encoder/embedding_encoder": zeros(10, 512)}, `"embeddings/encoder/embedding_encoder" has shape [10 512], expected [10 1024]`},
		{"one layer", map[string]checkpointtest.Variable{"embeddings/encoder/embedding_encoder": zeros(10, 1024)}, `no variable "dynamic_seq2seq/encoder/bidirectional_rnn/fw/basic_lstm_cell/bias"`},
		{"two hidden units", map[string]checkpointtest.Variable{
			"embeddings/encoder/embedding_encoder":                zeros(10, 1024),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/bias":   zeros(32),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/kernel": zeros(16, 32),
		}, "is it GNMT with layers of 1024?"},
		{"no kernel", map[string]checkpointtest.Variable{
			"embeddings/encoder/embedding_encoder":              zeros(10, 1024),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/bias": zeros(32),
		}, `no variable "dynamic_seq2seq/encoder/bidirectional_rnn/fw/basic_lstm_cell/kernel"`},
		{"no inputs", map[string]checkpointtest.Variable{
			"embeddings/encoder/embedding_encoder":                zeros(10, 1024),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/bias":   zeros(32),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/kernel": zeros(8, 32),
		}, "has shape [8 32], which is not that of an LSTM"},
	} {
		dir := t.TempDir()
		checkpointtest.Write(t, dir, 1, test.variables)
		out := filepath.Join(t.TempDir(), "out")
		if err := GNMT(t.Context(), dir, out); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v, want %q of %s", test.name, err, test.want, dir)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was written, %v", test.name, err)
		}
	}
	if err := GNMT(t.Context(), t.TempDir(), "out"); err == nil || !strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("no checkpoint: error %v", err)
	}
}
