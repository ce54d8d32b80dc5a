package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint/checkpointtest"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Two inputs and one hidden unit: rows x0, x1, h of columns i, j, f, o.
func TestKernelsAreTurnedAndTheirGatesPutInOrder(t *testing.T) {
	kernel := []float32{10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}
	for _, test := range []struct {
		name        string
		first, last int
		order       [4]int
		want        []float32
	}{
		{"the input of an LSTM of ONNX", 0, 2, onnxOrder, []float32{10, 20, 13, 23, 12, 22, 11, 21}},
		{"its last output", 2, 3, onnxOrder, []float32{30, 33, 32, 31}},
		{"a single step", 0, 3, ownOrder, []float32{10, 20, 30, 11, 21, 31, 12, 22, 32, 13, 23, 33}},
	} {
		if diff := cmp.Diff(test.want, turned(kernel, test.first, test.last, 1, test.order)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if diff := cmp.Diff([]float32{1, 4, 3 + 1, 2}, forgetting([]float32{1, 2, 3, 4}, 1, onnxOrder)); diff != "" {
		t.Errorf("bias (-want +got):\n%s", diff)
	}
	vector, err := scaled("v", []float32{3, 4}, 2.5)
	if diff := cmp.Diff([]float32{1.5, 2}, vector); err != nil || diff != "" {
		t.Errorf("v (-want +got):\n%s", diff)
	}
}

// Of three inputs and two hidden units: element by element, by what TensorFlow and ONNX say of their layouts.
func TestPartsOfACellAreWhereONNXLooksForThem(t *testing.T) {
	const inputs, hidden = 3, 2
	kernel, bias := make([]float32, (inputs+hidden)*4*hidden), make([]float32, 4*hidden)
	for i := range kernel {
		kernel[i] = float32(i)
	}
	for i := range bias {
		bias[i] = float32(100 + i)
	}
	at := func(row, gate, unit int) float32 { return kernel[row*4*hidden+gate*hidden+unit] } // gates i, j, f, o
	cell := basicCell{inputs: inputs, hidden: hidden}
	for part, c := range map[string]struct {
		first, last int
		order       []int // of TensorFlow's gates
	}{
		"weights":       {0, inputs, []int{0, 3, 2, 1}}, // ONNX has i, o, f, c
		"recurrence":    {inputs, inputs + hidden, []int{0, 3, 2, 1}},
		"gates/weights": {0, inputs + hidden, []int{0, 1, 2, 3}},
	} {
		var want []float32
		for _, gate := range c.order {
			for unit := range hidden {
				for row := c.first; row < c.last; row++ {
					want = append(want, at(row, gate, unit))
				}
			}
		}
		_, count, arrange := cell.part(part)
		if diff := cmp.Diff(want, arrange(kernel)); diff != "" || count != len(want) {
			t.Errorf("%s has %d numbers, want %d (-want +got):\n%s", part, count, len(want), diff)
		}
	}
	for part, want := range map[string][]float32{
		"bias":       {100, 101, 106, 107, 105, 106, 102, 103, 0, 0, 0, 0, 0, 0, 0, 0}, // that of forgetting has one more
		"gates/bias": {100, 101, 102, 103, 105, 106, 106, 107},
	} {
		_, count, arrange := cell.part(part)
		if diff := cmp.Diff(want, arrange(bias)); diff != "" || count != len(want) {
			t.Errorf("%s has %d numbers, want %d (-want +got):\n%s", part, count, len(want), diff)
		}
	}
}

// numbers reads the elements of an initializer.
func numbers(t *testing.T, m *onnx.Model, name string) []float32 {
	t.Helper()
	for _, x := range m.Graph.Initializers {
		if x.Name != name {
			continue
		}
		var b bytes.Buffer
		if _, err := x.Data.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		v := make([]float32, b.Len()/4)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b.Bytes()[4*i:]))
		}
		return v
	}
	t.Fatalf("no weights %q", name)
	return nil
}

// kernel is the way back: a kernel of TensorFlow of the weights of ONNX's LSTM, of which this
// is cell number n.
func kernel(w, r []float32, n, inputs int) checkpointtest.Variable {
	const hidden = 1024
	out := make([]float32, (inputs+hidden)*4*hidden)
	for block, gate := range onnxOrder {
		for unit := range hidden {
			row, column := n*4*hidden+block*hidden+unit, gate*hidden+unit
			for i := range inputs {
				out[i*4*hidden+column] = w[row*inputs+i]
			}
			for i := range hidden {
				out[(inputs+i)*4*hidden+column] = r[row*hidden+i]
			}
		}
	}
	return checkpointtest.Variable{Dims: []int64{int64(inputs + hidden), 4 * hidden}, Numbers: out}
}

// bias is the way back, of the first half of a bias of ONNX.
func bias(b []float32, n int, order [4]int, stride int) checkpointtest.Variable {
	const hidden = 1024
	out := make([]float32, 4*hidden)
	for block, gate := range order {
		for unit := range hidden {
			v := b[n*stride*hidden+block*hidden+unit]
			if gate == forgetGate {
				v--
			}
			out[gate*hidden+unit] = v
		}
	}
	return checkpointtest.Variable{Dims: []int64{4 * hidden}, Numbers: out}
}

// officialVariables are those of the built-in GNMT under the names of the official
// checkpoint.
func officialVariables(t *testing.T, encoder, decoder *onnx.Model) map[string]checkpointtest.Variable {
	t.Helper()
	const hidden = 1024
	v := map[string]checkpointtest.Variable{"Variable": {Dims: nil, Numbers: []float32{340000}}}
	matrix := func(m *onnx.Model, ours, theirs string, dims ...int64) {
		v["dynamic_seq2seq/"+theirs] = checkpointtest.Variable{Dims: dims, Numbers: numbers(t, m, ours)}
	}
	rows := int64(len(numbers(t, encoder, "embedding")) / hidden)
	matrix(decoder, "embedding", "embeddings/decoder/embedding_decoder", rows, hidden)
	v["embeddings/encoder/embedding_encoder"] = checkpointtest.Variable{Dims: []int64{rows, hidden}, Numbers: numbers(t, encoder, "embedding")}
	matrix(encoder, "keys/weights", "decoder/memory_layer/kernel", hidden, hidden)
	matrix(decoder, "query/weights", bahdanau+"query_layer/kernel", hidden, hidden)
	matrix(decoder, "attention/bias", bahdanau+"attention_b", hidden)
	matrix(decoder, "attention/v", bahdanau+"attention_v", hidden)
	matrix(decoder, "projection/weights", "decoder/output_projection/kernel", hidden, rows)
	sum := 0.0
	for _, x := range v["dynamic_seq2seq/"+bahdanau+"attention_v"].Numbers {
		sum += float64(x) * float64(x)
	}
	v["dynamic_seq2seq/"+bahdanau+"attention_g"] = checkpointtest.Variable{Numbers: []float32{float32(math.Sqrt(sum))}}
	for layer, cells := range lstmCells {
		for n, cell := range cells {
			name := "dynamic_seq2seq/" + cell + "/basic_lstm_cell/"
			if m := encoder; !strings.HasPrefix(layer, "decoder") {
				w := numbers(t, m, layer+"/weights")
				v[name+"kernel"] = kernel(w, numbers(t, m, layer+"/recurrence"), n, len(w)/(4*hidden*len(cells)))
				v[name+"bias"] = bias(numbers(t, m, layer+"/bias"), n, onnxOrder, 8)
				continue
			}
			w := numbers(t, decoder, layer+"/gates/weights")
			inputs := len(w) / (4 * hidden)
			turnedBack := make([]float32, len(w))
			for row := range 4 * hidden {
				for i := range inputs {
					turnedBack[i*4*hidden+row] = w[row*inputs+i]
				}
			}
			v[name+"kernel"] = checkpointtest.Variable{Dims: []int64{int64(inputs), 4 * hidden}, Numbers: turnedBack}
			v[name+"bias"] = bias(numbers(t, decoder, layer+"/gates/bias"), n, ownOrder, 4)
		}
	}
	return v
}

func TestAVectorOfNothingHasNoLength(t *testing.T) {
	want := `variable "attention_v" has no direction: all its elements are 0`
	if v, err := scaled("attention_v", make([]float32, 3), 2.5); err == nil || err.Error() != want {
		t.Errorf("scaled(0) = %v, %v, want %s", v, err, want)
	}
}

func TestAllFilesAreWrittenOrNone(t *testing.T) {
	dir := t.TempDir()
	good := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{}}
	if err := writeAll(t.Context(), map[string]*onnx.Model{filepath.Join(dir, "a"): good, filepath.Join(dir, "b"): good}); err != nil {
		t.Fatal(err)
	}
	for range 20 { // the files come in any order
		out := t.TempDir()
		err := writeAll(t.Context(), map[string]*onnx.Model{filepath.Join(out, "a"): good, filepath.Join(out, "none", "b"): good})
		if left, _ := os.ReadDir(out); err == nil || !strings.Contains(err.Error(), "creating b: in folder ") || len(left) > 0 {
			t.Fatalf("%v is left, %v", left, err)
		}
	}
}

// What is not of the size that was promised must not become part of a model.
func TestLazyWeightsAreOfTheSizeThatTheySay(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, c := range []struct {
		name string
		make func() ([]float32, error)
		want string
	}{
		{"too few", func() ([]float32, error) { return []float32{1}, nil }, "the checkpoint has 1 numbers where 2 are wanted"},
		{"too many", func() ([]float32, error) { return make([]float32, 3), nil }, "the checkpoint has 3 numbers where 2 are wanted"},
		{"none", func() ([]float32, error) { return nil, broken }, broken.Error()},
	} {
		n, err := joined{lazy([]int64{1}, func() ([]float32, error) { return []float32{7}, nil }), lazy([]int64{2}, c.make)}.WriteTo(io.Discard)
		if err == nil || err.Error() != c.want || n != 4 {
			t.Errorf("%s: %d bytes, %v, want 4 and %s", c.name, n, err, c.want)
		}
	}
	both := joined{lazy([]int64{1}, func() ([]float32, error) { return []float32{1}, nil }), lazy([]int64{2, 1}, func() ([]float32, error) { return []float32{-2, 0.5}, nil })}
	var out bytes.Buffer
	if n, err := both.WriteTo(&out); err != nil || n != 12 || both.Size() != 12 || out.String() != "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f" {
		t.Errorf("%d bytes of %d, %v: %x", n, both.Size(), err, out.Bytes())
	}
}

// The built-in GNMT, written as a checkpoint with the official names and shapes, comes back as
// it was.
func TestACheckpointOfGNMTBecomesItsNetworks(t *testing.T) {
	testenv.SkipLong(t, "writes a checkpoint of 350 MB")
	built := map[string]*onnx.Model{}
	for _, role := range []string{"encoder", "decoder"} {
		a, err := arch.Lookup("gnmt-" + role)
		if err != nil {
			t.Fatal(err)
		}
		if built[role], _, err = a.Build(arch.Options{Rows: 50}); err != nil {
			t.Fatal(err)
		}
	}
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "gnmt")
	variables := officialVariables(t, built["encoder"], built["decoder"])
	checkpointtest.Write(t, dir, 2, variables)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := GNMT(t.Context(), dir, filepath.Join(file, "out")); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a folder below a file: error %v", err)
	}
	if err := GNMT(t.Context(), dir, out); err != nil {
		t.Fatal(err)
	}
	for role, want := range built {
		got, err := onnx.ReadFile(filepath.Join(out, role+".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Graph.Nodes) != len(want.Graph.Nodes) {
			t.Errorf("%s has %d nodes, want %d", role, len(got.Graph.Nodes), len(want.Graph.Nodes))
		}
		for _, x := range want.Graph.Initializers {
			if x.Type != onnx.Float32 {
				continue
			}
			a, b := numbers(t, want, x.Name), numbers(t, got, x.Name)
			for i := range a {
				if d := math.Abs(float64(a[i] - b[i])); len(a) != len(b) || d > 1e-6*max(1, math.Abs(float64(a[i]))) {
					t.Fatalf("%s, %s: number %d is %v, want %v", role, x.Name, i, b[i], a[i])
				}
			}
		}
	}
	if err := GNMT(t.Context(), dir, out); err == nil || !strings.Contains(err.Error(), "encoder.onnx is there already") {
		t.Errorf("files that are there: error %v", err)
	}
	missing := "dynamic_seq2seq/decoder/multi_rnn_cell/cell_2/basic_lstm_cell/kernel"
	delete(variables, missing)
	other := t.TempDir()
	checkpointtest.Write(t, other, 1, variables)
	if err := GNMT(t.Context(), other, filepath.Join(t.TempDir(), "gnmt")); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("without a variable: error %v", err)
	}
}

func TestACheckpointOfAnotherModelIsRefused(t *testing.T) {
	zeros := func(dims ...int64) checkpointtest.Variable {
		return checkpointtest.Variable{Dims: dims, Numbers: make([]float32, product(dims))}
	}
	for _, test := range []struct {
		name      string
		variables map[string]checkpointtest.Variable
		want      string
	}{
		{"nothing", map[string]checkpointtest.Variable{"x": zeros(1)}, `no variable "dynamic_seq2seq/embeddings/encoder/embedding_encoder"`},
		{"thinner", map[string]checkpointtest.Variable{"embeddings/encoder/embedding_encoder": zeros(10, 512)}, `"embeddings/encoder/embedding_encoder" has shape [10 512], want [10 1024]`},
		{"one layer", map[string]checkpointtest.Variable{"embeddings/encoder/embedding_encoder": zeros(10, 1024)}, `no variable "dynamic_seq2seq/encoder/bidirectional_rnn/fw/basic_lstm_cell/bias"`},
		{"of 8", map[string]checkpointtest.Variable{
			"embeddings/encoder/embedding_encoder":                zeros(10, 1024),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/bias":   zeros(32),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/kernel": zeros(16, 32),
		}, "is it GNMT with layers of 1024?"},
		{"no kernel", map[string]checkpointtest.Variable{
			"embeddings/encoder/embedding_encoder":              zeros(10, 1024),
			"encoder/bidirectional_rnn/fw/basic_lstm_cell/bias": zeros(32),
		}, `no variable "dynamic_seq2seq/encoder/bidirectional_rnn/fw/basic_lstm_cell/kernel"`},
		{"no LSTM", map[string]checkpointtest.Variable{
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
