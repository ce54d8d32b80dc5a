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

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// GNMT writes encoder.onnx and decoder.onnx into a folder, with the weights of a checkpoint of
// the MLPerf reference (translation/gnmt, 4 layers, standard_hparams/wmt16_gnmt_4_layer.json).
// All variables that it needs are looked for before anything is written, and it replaces no file. If it fails then, no file
// is left.
func GNMT(ctx context.Context, checkpoint, folder string) error {
	c, err := tfcheckpoint.Open(checkpoint)
	if err != nil {
		return err
	}
	models := map[string]*onnx.Model{} // by file
	for _, role := range []string{"encoder", "decoder"} {
		path := filepath.Join(folder, role+".onnx")
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there already", path)
		}
		if models[path], err = gnmtModel(c, role); err != nil {
			return fmt.Errorf("converting %s: %w", checkpoint, err)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := writeAll(ctx, models); err != nil {
		return fmt.Errorf("converting %s: %w", checkpoint, err)
	}
	return nil
}

// writeAll writes all files or none.
func writeAll(ctx context.Context, models map[string]*onnx.Model) error {
	var written []string
	for path, m := range models {
		if err := m.WriteFile(ctx, path); err != nil {
			for _, path := range written {
				err = errors.Join(err, os.Remove(path))
			}
			return err
		}
		written = append(written, path)
	}
	return nil
}

// gnmtModel builds one of the two networks. Its weights are read when it is written.
func gnmtModel(c *tfcheckpoint.Checkpoint, role string) (*onnx.Model, error) {
	a, err := arch.Lookup("gnmt-" + role)
	if err != nil {
		return nil, err
	}
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

// sameInBoth are the weights that are variables as they are.
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
	case "attention/v":
		return attentionV(c, dims)
	}
	layer, part, _ := strings.Cut(name, "/")
	cells, ok := lstmCells[layer]
	if !ok {
		return nil, fmt.Errorf("there is no variable for the weights %q", name)
	}
	return lstmWeights(c, cells, part, dims)
}

// attentionV is the vector of the attention: g·v/‖v‖.
func attentionV(c *tfcheckpoint.Checkpoint, dims []int64) (onnx.Source, error) {
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
		return scaled(v.Name, vector, gain[0])
	}), err
}

// scaled gives a vector a length, which it cannot have if it is nothing but zeros.
func scaled(name string, v []float32, length float32) ([]float32, error) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil, fmt.Errorf("variable %q has no direction: all its elements are 0", name)
	}
	by := float64(length) / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * by)
	}
	return v, nil
}

// A lazySource makes its numbers whenever it is written.
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
		return 0, fmt.Errorf("the checkpoint has %d numbers where %d are wanted", len(numbers), s.size/4)
	}
	data := make([]byte, 0, s.size)
	for _, v := range numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	n, err := w.Write(data)
	return int64(n), err
}

// joined is one source after the other.
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
