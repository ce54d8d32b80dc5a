package tfgraph

import "github.com/mlperf-go/mlperf/internal/onnx"

type lowering struct {
	inputs int // that it must have
	lower  func(step)
}

// lowerings are the operators that are converted.
var lowerings map[string]lowering

func init() { // they read each other
	lowerings = map[string]lowering{
		"Const": {0, step.constantNode}, "Identity": {1, step.pass}, "StopGradient": {1, step.pass}, "PreventGradient": {1, step.pass},
		"IdentityN": {1, step.passAll}, "Snapshot": {1, step.pass}, "CheckNumerics": {1, step.pass}, "PlaceholderWithDefault": {1, step.pass},

		"Conv2D": {2, step.conv}, "DepthwiseConv2dNative": {2, step.depthwise}, "BiasAdd": {2, step.bias},
		"FusedBatchNorm": {5, step.batchNorm}, "FusedBatchNormV2": {5, step.batchNorm}, "FusedBatchNormV3": {5, step.batchNorm},
		"MaxPool": {1, pool("MaxPool")}, "AvgPool": {1, pool("AveragePool")},
		"ResizeBilinear": {2, resize("linear")}, "ResizeNearestNeighbor": {2, resize("nearest")},
		"NonMaxSuppression": {3, step.suppress}, "NonMaxSuppressionV2": {4, step.suppress}, "NonMaxSuppressionV3": {5, step.suppress},
		"MatMul": {2, step.matMul}, "BatchMatMul": {2, step.batchMatMul}, "BatchMatMulV2": {2, step.batchMatMul},

		"Add": {2, same("Add")}, "AddV2": {2, same("Add")}, "AddN": {1, same("Sum")}, "Sub": {2, same("Sub")}, "Mul": {2, same("Mul")},
		"RealDiv": {2, same("Div")}, "Div": {2, step.div}, "FloorDiv": {2, step.floorDiv}, "FloorMod": {2, same("Mod")}, "Pow": {2, same("Pow")},
		"Maximum": {2, same("Max")}, "Minimum": {2, same("Min")}, "SquaredDifference": {2, step.squaredDifference},
		"Relu": {1, same("Relu")}, "Relu6": {1, step.relu6}, "LeakyRelu": {1, step.leakyRelu}, "Elu": {1, same("Elu")}, "Selu": {1, same("Selu")},
		"Tanh": {1, same("Tanh")}, "Sigmoid": {1, same("Sigmoid")}, "Softplus": {1, same("Softplus")}, "Erf": {1, same("Erf")},
		"Exp": {1, same("Exp")}, "Log": {1, same("Log")}, "Sqrt": {1, same("Sqrt")}, "Rsqrt": {1, step.rsqrt}, "Square": {1, step.square},
		"Neg": {1, same("Neg")},
		"Abs": {1, same("Abs")}, "Floor": {1, same("Floor")}, "Ceil": {1, same("Ceil")}, "Round": {1, same("Round")}, "Rint": {1, same("Round")},
		"Greater": {2, compare("Greater")}, "GreaterEqual": {2, compare("GreaterOrEqual")}, "Less": {2, compare("Less")},
		"LessEqual": {2, compare("LessOrEqual")},
		"Equal":     {2, compare("Equal")}, "NotEqual": {2, step.notEqual}, "LogicalAnd": {2, compare("And")}, "LogicalOr": {2, compare("Or")},
		"LogicalNot": {1, compare("Not")},
		"Select":     {3, step.choose}, "SelectV2": {3, step.choose}, "Cast": {1, step.castNode}, "Softmax": {1, softmax("Softmax")},
		"LogSoftmax": {1, softmax("LogSoftmax")},
		"ZerosLike":  {1, filled(0)}, "OnesLike": {1, filled(1)},

		"Mean": {2, reduce("ReduceMean")}, "Sum": {2, reduce("ReduceSum")}, "Max": {2, reduce("ReduceMax")}, "Min": {2, reduce("ReduceMin")},
		"Prod": {2, reduce("ReduceProd")},
		"All":  {2, reduce("ReduceMin")}, "Any": {2, reduce("ReduceMax")}, "ArgMax": {2, argument("ArgMax")}, "ArgMin": {2, argument("ArgMin")},
		"TopK": {1, step.topK}, "TopKV2": {2, step.topK},

		"Shape": {1, step.shape}, "Size": {1, step.size}, "Rank": {1, step.rankNode}, "Reshape": {2, step.reshape}, "Squeeze": {1, step.squeeze},
		"ExpandDims": {2, step.expandDims},
		"Transpose":  {2, step.transposition}, "Concat": {2, step.concat}, "ConcatV2": {2, step.concat}, "Pack": {1, step.pack}, "Unpack": {1, step.unpack},
		"Split": {2, step.split}, "SplitV": {3, step.split}, "Slice": {3, step.slice}, "StridedSlice": {4, step.stridedSlice},
		"Gather": {2, step.gather}, "GatherV2": {3, step.gather}, "GatherNd": {2, step.gatherNd}, "Where": {1, step.where}, "Tile": {2, step.tile},
		"Fill": {2, step.fill}, "Range": {3, step.rangeNode},
		"Pad": {2, step.pad}, "PadV2": {3, step.pad}, "MirrorPad": {2, step.pad},

		"Enter": {1, step.enter}, "Exit": {1, step.loop}, "Merge": {1, step.branches}, "Switch": {2, step.guarded},
		"TensorArrayV3": {1, step.newArray}, "TensorArrayScatterV3": {4, step.scatter}, "TensorArrayReadV3": {3, step.readArray},
		"TensorArrayWriteV3": {4, step.writeArray}, "TensorArrayGatherV3": {3, step.stackArray}, "TensorArraySizeV3": {2, step.sizeArray},
	}
}

func same(op string) func(step)    { return func(s step) { s.elementwise(op, onnx.Undefined) } }
func compare(op string) func(step) { return func(s step) { s.elementwise(op, onnx.Bool) } }
