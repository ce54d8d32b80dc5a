package convert

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// lstmWeights returns a part of an LSTM: "weights" and "recurrence" and "bias" of ONNX's, of
// one or two cells, or "gates/weights" and "gates/bias" of a single step.
func lstmWeights(c *tfcheckpoint.Checkpoint, cells []string, part string, dims []int64) (onnx.Source, error) {
	var sources []onnx.Source
	for _, name := range cells {
		cell, err := findCell(c, name)
		if err != nil {
			return nil, err
		}
		variable, count, arrange := cell.part(part)
		if want := product(dims) / int64(len(cells)); int64(count) != want {
			return nil, fmt.Errorf("variable %q has shape %v, of which come %d numbers, want %d: is it GNMT with layers of 1024?", variable.Name, variable.Dims, count, want)
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

func findCell(c *tfcheckpoint.Checkpoint, name string) (cell basicCell, err error) {
	if cell.bias, err = findGNMT(c, name+"/basic_lstm_cell/bias", []int64{-1}); err != nil {
		return cell, err
	}
	cell.hidden = int(cell.bias.Dims[0]) / 4
	if cell.kernel, err = findGNMT(c, name+"/basic_lstm_cell/kernel", []int64{-1, cell.bias.Dims[0]}); err != nil {
		return cell, err
	}
	if cell.inputs = int(cell.kernel.Dims[0]) - cell.hidden; cell.inputs < 1 || cell.bias.Dims[0]%4 != 0 {
		err = fmt.Errorf("variable %q has shape %v, which is not that of an LSTM", cell.kernel.Name, cell.kernel.Dims)
	}
	return cell, err
}

// part says of which variable a part is made, of how many numbers it is, and how.
func (cell basicCell) part(part string) (v tfcheckpoint.Variable, count int, arrange func([]float32) []float32) {
	inputs, hidden := cell.inputs, cell.hidden
	switch part {
	case "weights":
		return cell.kernel, 4 * hidden * inputs, func(v []float32) []float32 { return turned(v, 0, inputs, hidden, onnxOrder) }
	case "recurrence":
		return cell.kernel, 4 * hidden * hidden, func(v []float32) []float32 { return turned(v, inputs, inputs+hidden, hidden, onnxOrder) }
	case "gates/weights":
		return cell.kernel, 4 * hidden * (inputs + hidden), func(v []float32) []float32 { return turned(v, 0, inputs+hidden, hidden, ownOrder) }
	case "bias": // those for the last output are 0
		return cell.bias, 8 * hidden, func(v []float32) []float32 {
			return append(forgetting(v, hidden, onnxOrder), make([]float32, 4*hidden)...)
		}
	}
	return cell.bias, 4 * hidden, func(v []float32) []float32 { return forgetting(v, hidden, ownOrder) }
}

// TensorFlow has the gates in the order i, j, f, o; ONNX wants i, o, f, c.
var (
	ownOrder  = [4]int{0, 1, 2, 3}
	onnxOrder = [4]int{0, 3, 2, 1}
)

const forgetGate = 2 // in both

// turned returns rows from first up to but not including last of a kernel [inputs, 4·hidden] as
// columns, with the gates in an order: [4·hidden, last−first].
func turned(kernel []float32, first, last, hidden int, order [4]int) []float32 {
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

// forgetting returns a bias with the gates in an order, and the 1 that BasicLSTMCell adds to
// that of forgetting.
func forgetting(bias []float32, hidden int, order [4]int) []float32 {
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
