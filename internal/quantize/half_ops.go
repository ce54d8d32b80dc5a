package quantize

// halfOps are the operators that ToFloat16 computes in float16: those that ONNX defines
// for it and whose results stay within its range wherever those of the FP32 model do
// in practice. All their inputs and outputs of type float32 become float16, but for the
// inputs that fullInputs names.
//
// An engine need not have float16 kernels for them: ONNX Runtime, for instance, puts
// casts around the nodes that the processor cannot compute in float16.
var halfOps = set(
	// element by element
	"Abs", "Add", "Ceil", "Clip", "Div", "Elu", "Erf", "Floor", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
	"Max", "Mean", "Min", "Mish", "Mul", "Neg", "PRelu", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Softsign", "Sqrt",
	"Sub", "Sum", "Swish", "Tanh", "ThresholdedRelu", "Where",
	// products
	"Conv", "ConvTranspose", "Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN",
	// windows and means
	"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReduceMax", "ReduceMean", "ReduceMin",
	// normalisation
	"BatchNormalization", "GroupNormalization", "Hardmax", "InstanceNormalization", "LayerNormalization", "LogSoftmax",
	"LpNormalization", "LRN", "MeanVarianceNormalization", "RMSNormalization", "Softmax",
	// choice and arrangement
	"ArgMax", "ArgMin", "Compress", "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GatherElements",
	"GatherND", "Identity", "Pad", "Reshape", "Resize", "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape",
	"Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze",
)

// fullInputs are the inputs that stay float32 where the rest of the node is float16, by
// operator: the region and the scales of Resize, the ratio of Dropout.
var fullInputs = map[string][]int{"Resize": {1, 2}, "Dropout": {1}}

// fullOps says why operators with float inputs or outputs stay in FP32, with casts
// around them. Operators that are neither here nor in halfOps stay in FP32 too, because
// nothing is known of them.
var fullOps = reasons(map[string][]string{
	"float16 is not defined for it":                     {"Celu", "NonMaxSuppression", "Range", "Upsample", "Multinomial", "STFT", "DFT"},
	"results soon exceed 65504 or vanish":               {"Exp", "Log", "Pow", "Reciprocal", "Softplus", "CumSum", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"},
	"the order of results depends on small differences": {"TopK", "Unique"},
	"limits would be rounded":                           {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsInf", "IsNaN", "NonZero"},
	"coordinates need the precision":                    {"RoiAlign", "GridSample", "AffineGrid", "Mod"},
	"it runs graphs of its own, which stay as they are": {"If", "Loop", "Scan"},
	"it turns one type into another":                    {"Cast", "CastLike", "Constant", "ConstantOfShape", "OneHot", "EyeLike"},
	"other random numbers would be drawn":               {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli"},
})

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

func reasons(byReason map[string][]string) map[string]string {
	byOp := make(map[string]string)
	for reason, ops := range byReason {
		for _, op := range ops {
			byOp[op] = reason
		}
	}
	return byOp
}

// shapeOps are the operators through which numbers that come from integers, such as
// sizes of images and positions, are followed: they stay in FP32 together with what
// makes them, since float16 holds whole numbers only up to 2048.
var shapeOps = set("Add", "Sub", "Mul", "Div", "Floor", "Ceil", "Round", "Sqrt", "Min", "Max", "Neg", "Abs", "Concat", "Slice", "Gather",
	"Squeeze", "Unsqueeze", "Reshape", "Identity", "Transpose", "Expand", "Tile", "Flatten", "Split", "Clip")
