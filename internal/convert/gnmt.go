package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// GNMT writes encoder.onnx and decoder.onnx into a folder, with the weights of a checkpoint of the
// MLPerf reference (translation/gnmt, 4 layers, standard_hparams/wmt16_gnmt_4_layer.json). It finds all
// variables before it writes anything, replaces no file, and leaves both files or none.
func GNMT(ctx context.Context, checkpoint, folder string) error {
	c, err := tfcheckpoint.Open(checkpoint)
	if err != nil {
		return err
	}
	origin, err := checkpointOrigin(ctx, c)
	if err != nil {
		return fmt.Errorf("converting %s: %w", checkpoint, err)
	}
	var paths []string
	var models []*onnx.Model
	for _, role := range []string{"encoder", "decoder"} {
		path := filepath.Join(folder, role+".onnx")
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there already", path)
		}
		m, err := gnmtModel(c, role)
		if err == nil {
			err = addOrigin(m, origin)
		}
		if err != nil {
			return fmt.Errorf("converting %s: %w", checkpoint, err)
		}
		paths, models = append(paths, path), append(models, m)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i, m := range models {
		if err := m.WriteFile(ctx, paths[i]); err != nil {
			for _, path := range paths[:i] {
				err = errors.Join(err, os.Remove(path))
			}
			return fmt.Errorf("converting %s: %w", checkpoint, err)
		}
	}
	return nil
}

// gnmtNetworks are the two networks by their roles.
func gnmtNetworks() map[string]arch.Architecture {
	return map[string]arch.Architecture{"encoder": arch.GNMTEncoder(), "decoder": arch.GNMTDecoder()}
}

// gnmtModel builds one of the two networks. Its weights are read when it is written.
func gnmtModel(c *tfcheckpoint.Checkpoint, role string) (*onnx.Model, error) {
	a := gnmtNetworks()[role]
	table, err := findGNMT(c, fmt.Sprintf("embeddings/%s/embedding_%s", role, role), []int64{-1, -1})
	if err != nil {
		return nil, err
	}
	m, _, err := a.Build(arch.Options{Rows: table.Dims[0], Weights: func(name string, dims []int64) (onnx.Source, error) {
		return gnmtWeights(c, role, name, dims)
	}})
	return m, err
}

// findGNMT finds a variable, which may have a prefix in front.
func findGNMT(c *tfcheckpoint.Checkpoint, name string, dims []int64) (tfcheckpoint.Variable, error) {
	return c.Find(dims, "dynamic_seq2seq/"+name, name)
}

// lstmCells are the cells of TensorFlow of which the LSTMs of our networks consist.
var lstmCells = map[string][]string{
	"bidirectional": {"encoder/bidirectional_rnn/fw", "encoder/bidirectional_rnn/bw"},
	"uni0":          {"encoder/rnn/multi_rnn_cell/cell_0"},
	"uni1":          {"encoder/rnn/multi_rnn_cell/cell_1"},
	"uni2":          {"encoder/rnn/multi_rnn_cell/cell_2"},
	"decoder0":      {"decoder/multi_rnn_cell/cell_0_attention/attention"},
	"decoder1":      {"decoder/multi_rnn_cell/cell_1"},
	"decoder2":      {"decoder/multi_rnn_cell/cell_2"},
	"decoder3":      {"decoder/multi_rnn_cell/cell_3"},
}

const bahdanau = "decoder/multi_rnn_cell/cell_0_attention/attention/bahdanau_attention/"

// sameInBoth are the weights that the checkpoint has in the same layout.
var sameInBoth = map[string]string{
	"keys/weights":       "decoder/memory_layer/kernel",
	"query/weights":      bahdanau + "query_layer/kernel",
	"attention/bias":     bahdanau + "attention_b",
	"projection/weights": "decoder/output_projection/kernel",
}

// gnmtWeights returns the weights of a name in our networks.
func gnmtWeights(c *tfcheckpoint.Checkpoint, role, name string, dims []int64) (onnx.Source, error) {
	if variable, ok := sameInBoth[name]; ok {
		v, err := findGNMT(c, variable, dims)
		return lazy(dims, func() ([]float32, error) { return c.Read(v) }), err
	}
	switch name {
	case "embedding":
		v, err := findGNMT(c, fmt.Sprintf("embeddings/%s/embedding_%s", role, role), dims)
		return lazy(dims, func() ([]float32, error) { return c.Read(v) }), err
	case "attention/v": // g·v/‖v‖
		v, err := findGNMT(c, bahdanau+"attention_v", dims[:1])
		if err != nil {
			return nil, err
		}
		g, err := findGNMT(c, bahdanau+"attention_g", nil)
		return lazy(dims, func() ([]float32, error) {
			vector, err := c.Read(v)
			if err != nil {
				return nil, err
			}
			gain, err := c.Read(g)
			if err != nil {
				return nil, err
			}
			sum := 0.0
			for _, x := range vector {
				sum += float64(x) * float64(x)
			}
			if sum == 0 {
				return nil, fmt.Errorf("variable %q has no direction: all its elements are 0", v.Name)
			}
			by := float64(gain[0]) / math.Sqrt(sum)
			for i := range vector {
				vector[i] = float32(float64(vector[i]) * by)
			}
			return vector, nil
		}), err
	}
	layer, part, _ := strings.Cut(name, "/")
	cells, ok := lstmCells[layer]
	if !ok {
		return nil, fmt.Errorf("there is no variable for the weights %q", name)
	}
	return lstmWeights(c, cells, part, dims)
}

// lstmWeights returns a part of an LSTM: "weights" and "recurrence" and "bias" of ONNX's, of
// one or two cells, or "gates/weights" and "gates/bias" of a single step.
func lstmWeights(c *tfcheckpoint.Checkpoint, cells []string, part string, dims []int64) (onnx.Source, error) {
	var sources []onnx.Source
	for _, name := range cells {
		bias, err := findGNMT(c, name+"/basic_lstm_cell/bias", []int64{-1})
		if err != nil {
			return nil, err
		}
		kernel, err := findGNMT(c, name+"/basic_lstm_cell/kernel", []int64{-1, bias.Dims[0]})
		if err != nil {
			return nil, err
		}
		hidden := int(bias.Dims[0]) / 4
		inputs := int(kernel.Dims[0]) - hidden
		if inputs < 1 || bias.Dims[0]%4 != 0 {
			return nil, fmt.Errorf("variable %q has shape %v, which is not that of an LSTM", kernel.Name, kernel.Dims)
		}
		cell := basicCell{kernel, bias, inputs, hidden}
		variable, count, arrange := cell.part(part)
		if want := product(dims) / int64(len(cells)); int64(count) != want {
			return nil, fmt.Errorf("variable %q has shape %v, which gives %d numbers, expected %d: is it GNMT with layers of 1024?", variable.Name,
				variable.Dims, count, want)
		}
		sources = append(sources, lazy([]int64{int64(count)}, func() ([]float32, error) {
			v, err := c.Read(variable)
			if err != nil {
				return nil, err
			}
			return arrange(v), nil
		}))
	}
	return joined(sources), nil
}

// A basicCell is a BasicLSTMCell: a kernel [inputs + hidden, 4·hidden] and a bias.
type basicCell struct {
	kernel, bias   tfcheckpoint.Variable
	inputs, hidden int
}

// part returns the variable from which a part comes, how many numbers the part has, and what arranges them.
func (cell basicCell) part(part string) (v tfcheckpoint.Variable, count int, arrange func([]float32) []float32) {
	inputs, hidden := cell.inputs, cell.hidden
	switch part {
	case "weights":
		return cell.kernel, 4 * hidden * inputs, func(v []float32) []float32 { return transposed(v, 0, inputs, hidden, onnxOrder) }
	case "recurrence":
		return cell.kernel, 4 * hidden * hidden, func(v []float32) []float32 { return transposed(v, inputs, inputs+hidden, hidden, onnxOrder) }
	case "gates/weights":
		return cell.kernel, 4 * hidden * (inputs + hidden), func(v []float32) []float32 { return transposed(v, 0, inputs+hidden, hidden, ownOrder) }
	case "bias": // that of the recurrence is 0
		return cell.bias, 8 * hidden, func(v []float32) []float32 {
			return append(withForgetBias(v, hidden, onnxOrder), make([]float32, 4*hidden)...)
		}
	}
	return cell.bias, 4 * hidden, func(v []float32) []float32 { return withForgetBias(v, hidden, ownOrder) }
}

// TensorFlow has the gates in the order i, j, f, o; ONNX wants i, o, f, c.
var (
	ownOrder  = [4]int{0, 1, 2, 3}
	onnxOrder = [4]int{0, 3, 2, 1}
)

const forgetGate = 2 // in both

// transposed returns rows from first up to but not including last of a kernel [inputs, 4·hidden] as
// columns, with the gates in an order: [4·hidden, last−first].
func transposed(kernel []float32, first, last, hidden int, order [4]int) []float32 {
	out := make([]float32, 0, 4*hidden*(last-first))
	for _, gate := range order {
		for unit := range hidden {
			column := gate*hidden + unit
			for row := first; row < last; row++ {
				out = append(out, kernel[row*4*hidden+column])
			}
		}
	}
	return out
}

// withForgetBias returns a bias with the gates in an order, and the 1 that BasicLSTMCell adds to that
// of the forget gate.
func withForgetBias(bias []float32, hidden int, order [4]int) []float32 {
	out := make([]float32, 0, 8*hidden)
	for _, gate := range order {
		for unit := range hidden {
			b := bias[gate*hidden+unit]
			if gate == forgetGate {
				b++
			}
			out = append(out, b)
		}
	}
	return out
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// A lazySource makes its numbers each time that it is written.
type lazySource struct {
	size int64
	make func() ([]float32, error)
}

func lazy(dims []int64, make func() ([]float32, error)) onnx.Source {
	return lazySource{4 * product(dims), make}
}

// Size implements onnx.Source.
func (s lazySource) Size() int64 { return s.size }

// WriteTo implements onnx.Source.
func (s lazySource) WriteTo(w io.Writer) (int64, error) {
	numbers, err := s.make()
	if err != nil {
		return 0, err
	}
	if int64(len(numbers))*4 != s.size {
		return 0, fmt.Errorf("the checkpoint has %d numbers, expected %d", len(numbers), s.size/4)
	}
	data := make([]byte, 0, s.size)
	for _, v := range numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	n, err := w.Write(data)
	return int64(n), err
}

// joined sources follow one another.
type joined []onnx.Source

// Size implements onnx.Source.
func (s joined) Size() int64 {
	n := int64(0)
	for _, source := range s {
		n += source.Size()
	}
	return n
}

// WriteTo implements onnx.Source.
func (s joined) WriteTo(w io.Writer) (n int64, err error) {
	for _, source := range s {
		k, err := source.WriteTo(w)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
