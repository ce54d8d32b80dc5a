package tflite

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A file is a model as its FlatBuffer has it.
type file struct {
	tensors         []*tensor
	ops             []op
	inputs, outputs []int
}

// A tensor is a value of the graph.
type tensor struct {
	name  string
	elem  onnx.ElemType
	shape []int
	data  []byte // of a constant, else nil

	scales []float32 // of quantised elements: one, or one for each index of axis
	zeros  []int64
	axis   int
}

func (t *tensor) quantised() bool { return len(t.scales) > 0 && t.elem != onnx.Float32 }
func (t *tensor) rank() int       { return len(t.shape) }

// An op is one operator of the graph.
type op struct {
	name            string // of the operator, as the schema or its maker calls it
	version         int
	inputs, outputs []int // indices of tensors, -1 for one that is left out
	options         table
	custom          []byte
}

var elemTypes = map[int]onnx.ElemType{
	0: onnx.Float32, 1: onnx.Float16, 2: onnx.Int32, 3: onnx.Uint8, 4: onnx.Int64, 6: onnx.Bool, 7: onnx.Int16, 9: onnx.Int8, 10: onnx.Float64,
}

const maxRank = 8 // of TensorFlow Lite

// maxElements bounds a tensor: what is larger cannot be computed, and its shape is a mistake.
const maxElements = math.MaxInt32

// parse reads the FlatBuffer.
func parse(b []byte) (f *file, err error) {
	defer func() {
		if r := recover(); r != nil {
			cause, ok := r.(error)
			if !ok || cause != errDamaged {
				panic(r)
			}
			f, err = nil, cause
		}
	}()
	if len(b) < 8 || string(b[4:8]) != "TFL3" {
		return nil, fmt.Errorf("expected the mark TFL3 at byte 4")
	}
	model := root(b)
	graphs := model.tables(2)
	if len(graphs) != 1 {
		return nil, fmt.Errorf("%d subgraphs: only models of one are converted", len(graphs))
	}
	graph, buffers := graphs[0], model.tables(4)
	f = &file{inputs: graph.ints(1), outputs: graph.ints(2)}
	room := growth * len(b) // of sparse constants when they are dense
	for i, t := range graph.tables(0) {
		one, err := readTensor(t, buffers, &room)
		if err != nil {
			return nil, fmt.Errorf("tensor %d (%q): %w", i, t.string(3), err)
		}
		f.tensors = append(f.tensors, one)
	}
	codes := model.tables(1)
	for i, t := range graph.tables(3) {
		n := t.int(0, 0)
		if n < 0 || n >= len(codes) {
			return nil, fmt.Errorf("operator %d: no operator code %d", i, n)
		}
		o := op{version: codes[n].int(2, 1), inputs: t.ints(1), outputs: t.ints(2), options: t.table(4), custom: t.vector(5, 1)}
		code := max(codes[n].byte(0), codes[n].int(3, 0))
		switch {
		case code == customCode:
			o.name = codes[n].string(1)
		case builtinNames[code] != "":
			o.name = builtinNames[code]
		default:
			o.name = fmt.Sprintf("builtin operator %d", code)
		}
		for _, k := range o.outputs {
			if k < 0 || k >= len(f.tensors) || f.tensors[k].data != nil {
				return nil, fmt.Errorf("operator %d (%s) writes tensor %d, which is not a variable of the graph", i, o.name, k)
			}
		}
		f.ops = append(f.ops, o)
		for _, k := range o.inputs {
			if k < -1 || k >= len(f.tensors) {
				return nil, fmt.Errorf("operator %d (%s) reads tensor %d of %d", i, o.name, k, len(f.tensors))
			}
		}
	}
	for _, k := range slices.Concat(f.inputs, f.outputs) {
		if k < 0 || k >= len(f.tensors) {
			return nil, fmt.Errorf("the graph reads or writes tensor %d of %d", k, len(f.tensors))
		}
	}
	return f, nil
}

func readTensor(t table, buffers []table, room *int) (*tensor, error) {
	elem, ok := elemTypes[t.byte(1)]
	if !ok {
		return nil, fmt.Errorf("elements of type %d are not converted", t.byte(1))
	}
	q := t.table(4)
	one := &tensor{name: t.string(3), elem: elem, shape: t.ints(0), scales: q.floats(2), zeros: q.longs(3), axis: q.int(6, 0)}
	if one.rank() > maxRank {
		return nil, fmt.Errorf("%d axes are too many", one.rank())
	}
	count := 1
	for _, d := range one.shape {
		if d < 0 || d > 0 && count > maxElements/d {
			return nil, fmt.Errorf("shape %v is not possible", one.shape)
		}
		count *= d
	}
	n := t.int(2, 0)
	if n < 0 || n >= len(buffers) {
		return nil, fmt.Errorf("no buffer %d", n)
	}
	if n > 0 {
		if data := buffers[n].vector(0, 1); len(data) > 0 {
			want := count * elem.Bits() / 8
			if sparse := t.table(6); sparse.file != nil {
				if *room -= want; *room < 0 {
					return nil, fmt.Errorf("sparse constants hold more than %d times the size of the file", growth)
				}
				var err error
				if data, err = dense(sparse, one.shape, data, make([]byte, want)); err != nil {
					return nil, err
				}
			}
			if len(data) != want {
				return nil, fmt.Errorf("%v%v holds %d bytes, expected %d", elem, one.shape, len(data), want)
			}
			one.data = data
		} else if buffers[n].field(1) != 0 {
			return nil, fmt.Errorf("its elements are behind the FlatBuffer, where this converter does not read")
		}
	}
	if !one.quantised() {
		one.scales, one.zeros = nil, nil
		return one, nil
	}
	if len(one.zeros) == 0 {
		one.zeros = make([]int64, len(one.scales))
	}
	if len(one.zeros) != len(one.scales) || one.axis < 0 || len(one.scales) > 1 && (one.axis >= one.rank() || len(one.scales) != one.shape[one.axis]) {
		return nil, fmt.Errorf("%d scales and %d zero points on axis %d do not fit shape %v", len(one.scales), len(one.zeros), one.axis, one.shape)
	}
	return one, nil
}

// dense puts the elements of a sparse constant (SparsityParameters) into out. Each axis lists all its indices, or for each
// index of the axes before those that have elements.
func dense(sparse table, shape []int, data, out []byte) ([]byte, error) {
	axes := sparse.tables(2)
	for a, n := range sparse.ints(0) {
		if a != n || len(axes) != len(shape) || len(sparse.ints(1)) > 0 {
			return nil, fmt.Errorf("sparse constants in blocks, or with their axes in another order, are not converted")
		}
	}
	if len(axes) == 0 || len(axes) != len(shape) {
		return nil, fmt.Errorf("a sparse constant describes %d axes, expected %d", len(axes), len(shape))
	}
	segments, indices := make([][]int, len(axes)), make([][]int, len(axes))
	for a, axis := range axes {
		if axis.byte(0) != 0 {
			segments[a], indices[a] = axis.indices(2), axis.indices(4)
		}
	}
	count := 1
	for _, d := range shape {
		count *= d
	}
	if count == 0 {
		return out, nil
	}
	size := len(out) / count
	var fill func(axis, from, to int)
	fill = func(axis, from, to int) {
		if axis == len(shape) {
			copy(out[to*size:], section(data, from*size, size))
			return
		}
		d := shape[axis]
		if axes[axis].byte(0) == 0 {
			for i := range d {
				fill(axis+1, from*d+i, to*d+i)
			}
			return
		}
		if from+1 >= len(segments[axis]) {
			panic(errDamaged)
		}
		begin, end := segments[axis][from], segments[axis][from+1]
		if begin < 0 || end < begin || end > len(indices[axis]) || end-begin > d {
			panic(errDamaged)
		}
		for k := begin; k < end; k++ {
			i := indices[axis][k]
			if i < 0 || i >= d {
				panic(errDamaged)
			}
			fill(axis+1, k, to*d+i)
		}
	}
	fill(0, 0, 0)
	return out, nil
}

// indices are a list of numbers (SparseIndexVector), whose width the field before tells.
func (t table) indices(kind int) (list []int) {
	values := t.table(kind + 1)
	switch t.byte(kind) {
	case 1:
		return values.ints(0)
	case 2:
		raw := values.list(0, 2)
		for i := range len(raw) / 2 {
			list = append(list, u16(raw, 2*i))
		}
	case 3:
		for _, v := range values.list(0, 1) {
			list = append(list, int(v))
		}
	}
	return list
}

// integers returns the elements of a constant of int32 or int64.
func (t *tensor) integers() ([]int64, error) {
	if t.data == nil {
		return nil, fmt.Errorf("tensor %q is not a constant", t.name)
	}
	var list []int64
	switch t.elem {
	case onnx.Int32:
		for i := 0; i < len(t.data); i += 4 {
			list = append(list, int64(int32(binary.LittleEndian.Uint32(t.data[i:]))))
		}
	case onnx.Int64:
		for i := 0; i < len(t.data); i += 8 {
			list = append(list, int64(binary.LittleEndian.Uint64(t.data[i:])))
		}
	default:
		return nil, fmt.Errorf("tensor %q has elements of %v, expected integers", t.name, t.elem)
	}
	return list, nil
}

// floats returns the real values of a constant.
func (t *tensor) floats() ([]float32, error) {
	size := t.elem.Bits() / 8
	list := make([]float32, len(t.data)/size)
	inner := 1
	for _, d := range t.shape[min(t.axis+1, t.rank()):] {
		inner *= d
	}
	for i := range list {
		raw := t.data[i*size:]
		var v int64
		switch t.elem {
		case onnx.Float32:
			list[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw))
			continue
		case onnx.Int8:
			v = int64(int8(raw[0]))
		case onnx.Uint8:
			v = int64(raw[0])
		case onnx.Int16:
			v = int64(int16(binary.LittleEndian.Uint16(raw)))
		case onnx.Int32:
			v = int64(int32(binary.LittleEndian.Uint32(raw)))
		case onnx.Int64:
			v = int64(binary.LittleEndian.Uint64(raw))
		default:
			return nil, fmt.Errorf("tensor %q: constants of %v are not numbers", t.name, t.elem)
		}
		list[i] = float32(v)
		if t.quantised() {
			k := 0
			if len(t.scales) > 1 {
				k = i / inner % len(t.scales)
			}
			list[i] = float32(v-t.zeros[k]) * t.scales[k]
		}
	}
	return list, nil
}

const customCode = 32

// builtinNames are the operators of the schema (BuiltinOperator) by number.
var builtinNames = map[int]string{
	0:   "ADD",
	1:   "AVERAGE_POOL_2D",
	2:   "CONCATENATION",
	3:   "CONV_2D",
	4:   "DEPTHWISE_CONV_2D",
	5:   "DEPTH_TO_SPACE",
	6:   "DEQUANTIZE",
	7:   "EMBEDDING_LOOKUP",
	8:   "FLOOR",
	9:   "FULLY_CONNECTED",
	10:  "HASHTABLE_LOOKUP",
	11:  "L2_NORMALIZATION",
	12:  "L2_POOL_2D",
	13:  "LOCAL_RESPONSE_NORMALIZATION",
	14:  "LOGISTIC",
	15:  "LSH_PROJECTION",
	16:  "LSTM",
	17:  "MAX_POOL_2D",
	18:  "MUL",
	19:  "RELU",
	20:  "RELU_N1_TO_1",
	21:  "RELU6",
	22:  "RESHAPE",
	23:  "RESIZE_BILINEAR",
	24:  "RNN",
	25:  "SOFTMAX",
	26:  "SPACE_TO_DEPTH",
	27:  "SVDF",
	28:  "TANH",
	29:  "CONCAT_EMBEDDINGS",
	30:  "SKIP_GRAM",
	31:  "CALL",
	33:  "EMBEDDING_LOOKUP_SPARSE",
	34:  "PAD",
	35:  "UNIDIRECTIONAL_SEQUENCE_RNN",
	36:  "GATHER",
	37:  "BATCH_TO_SPACE_ND",
	38:  "SPACE_TO_BATCH_ND",
	39:  "TRANSPOSE",
	40:  "MEAN",
	41:  "SUB",
	42:  "DIV",
	43:  "SQUEEZE",
	44:  "UNIDIRECTIONAL_SEQUENCE_LSTM",
	45:  "STRIDED_SLICE",
	46:  "BIDIRECTIONAL_SEQUENCE_RNN",
	47:  "EXP",
	48:  "TOPK_V2",
	49:  "SPLIT",
	50:  "LOG_SOFTMAX",
	51:  "DELEGATE",
	52:  "BIDIRECTIONAL_SEQUENCE_LSTM",
	53:  "CAST",
	54:  "PRELU",
	55:  "MAXIMUM",
	56:  "ARG_MAX",
	57:  "MINIMUM",
	58:  "LESS",
	59:  "NEG",
	60:  "PADV2",
	61:  "GREATER",
	62:  "GREATER_EQUAL",
	63:  "LESS_EQUAL",
	64:  "SELECT",
	65:  "SLICE",
	66:  "SIN",
	67:  "TRANSPOSE_CONV",
	68:  "SPARSE_TO_DENSE",
	69:  "TILE",
	70:  "EXPAND_DIMS",
	71:  "EQUAL",
	72:  "NOT_EQUAL",
	73:  "LOG",
	74:  "SUM",
	75:  "SQRT",
	76:  "RSQRT",
	77:  "SHAPE",
	78:  "POW",
	79:  "ARG_MIN",
	80:  "FAKE_QUANT",
	81:  "REDUCE_PROD",
	82:  "REDUCE_MAX",
	83:  "PACK",
	84:  "LOGICAL_OR",
	85:  "ONE_HOT",
	86:  "LOGICAL_AND",
	87:  "LOGICAL_NOT",
	88:  "UNPACK",
	89:  "REDUCE_MIN",
	90:  "FLOOR_DIV",
	91:  "REDUCE_ANY",
	92:  "SQUARE",
	93:  "ZEROS_LIKE",
	94:  "FILL",
	95:  "FLOOR_MOD",
	96:  "RANGE",
	97:  "RESIZE_NEAREST_NEIGHBOR",
	98:  "LEAKY_RELU",
	99:  "SQUARED_DIFFERENCE",
	100: "MIRROR_PAD",
	101: "ABS",
	102: "SPLIT_V",
	103: "UNIQUE",
	104: "CEIL",
	105: "REVERSE_V2",
	106: "ADD_N",
	107: "GATHER_ND",
	108: "COS",
	109: "WHERE",
	110: "RANK",
	111: "ELU",
	112: "REVERSE_SEQUENCE",
	113: "MATRIX_DIAG",
	114: "QUANTIZE",
	115: "MATRIX_SET_DIAG",
	116: "ROUND",
	117: "HARD_SWISH",
	118: "IF",
	119: "WHILE",
	120: "NON_MAX_SUPPRESSION_V4",
	121: "NON_MAX_SUPPRESSION_V5",
	122: "SCATTER_ND",
	123: "SELECT_V2",
	124: "DENSIFY",
	125: "SEGMENT_SUM",
	126: "BATCH_MATMUL",
	127: "PLACEHOLDER_FOR_GREATER_OP_CODES",
	128: "CUMSUM",
	129: "CALL_ONCE",
	130: "BROADCAST_TO",
	131: "RFFT2D",
	132: "CONV_3D",
	133: "IMAG",
	134: "REAL",
	135: "COMPLEX_ABS",
	136: "HASHTABLE",
	137: "HASHTABLE_FIND",
	138: "HASHTABLE_IMPORT",
	139: "HASHTABLE_SIZE",
	140: "REDUCE_ALL",
	141: "CONV_3D_TRANSPOSE",
	142: "VAR_HANDLE",
	143: "READ_VARIABLE",
	144: "ASSIGN_VARIABLE",
	145: "BROADCAST_ARGS",
	146: "RANDOM_STANDARD_NORMAL",
	147: "BUCKETIZE",
	148: "RANDOM_UNIFORM",
	149: "MULTINOMIAL",
	150: "GELU",
	151: "DYNAMIC_UPDATE_SLICE",
	152: "RELU_0_TO_1",
}
