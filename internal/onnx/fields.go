package onnx

// The field numbers of the messages of onnx.proto, under its names.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.in.proto
const (
	modelIRVersion       = 1
	modelProducerName    = 2
	modelProducerVersion = 3
	modelDomain          = 4
	modelModelVersion    = 5
	modelDocString       = 6
	modelGraph           = 7
	modelOpsetImport     = 8
	modelMetadataProps   = 14

	opsetDomain  = 1
	opsetVersion = 2

	entryKey   = 1
	entryValue = 2

	graphNode              = 1
	graphName              = 2
	graphInitializer       = 5
	graphDocString         = 10
	graphInput             = 11
	graphOutput            = 12
	graphValueInfo         = 13
	graphSparseInitializer = 15
	graphMetadataProps     = 16

	nodeInput         = 1
	nodeOutput        = 2
	nodeName          = 3
	nodeOpType        = 4
	nodeAttribute     = 5
	nodeDocString     = 6
	nodeDomain        = 7
	nodeOverload      = 8
	nodeMetadataProps = 9

	attributeName          = 1
	attributeF             = 2
	attributeI             = 3
	attributeS             = 4
	attributeT             = 5
	attributeG             = 6
	attributeFloats        = 7
	attributeInts          = 8
	attributeStrings       = 9
	attributeTensors       = 10
	attributeGraphs        = 11
	attributeDocString     = 13
	attributeTP            = 14
	attributeTypeProtos    = 15
	attributeType          = 20
	attributeSparseTensor  = 22
	attributeSparseTensors = 23

	tensorDims          = 1
	tensorDataType      = 2
	tensorFloatData     = 4
	tensorInt32Data     = 5
	tensorStringData    = 6
	tensorInt64Data     = 7
	tensorName          = 8
	tensorRawData       = 9
	tensorDoubleData    = 10
	tensorUint64Data    = 11
	tensorDocString     = 12
	tensorExternalData  = 13
	tensorDataLocation  = 14
	tensorMetadataProps = 16

	sparseValues  = 1
	sparseIndices = 2
	sparseDims    = 3

	valueName          = 1
	valueType          = 2
	valueDocString     = 3
	valueMetadataProps = 4

	typeTensorType = 1
	typeDenotation = 6

	tensorTypeElemType = 1
	tensorTypeShape    = 2

	shapeDim = 1

	dimValue      = 1
	dimParam      = 2
	dimDenotation = 3
)

// The values of AttributeProto.AttributeType.
const (
	kindUndefined     = 0
	kindFloat         = 1
	kindInt           = 2
	kindString        = 3
	kindTensor        = 4
	kindGraph         = 5
	kindFloats        = 6
	kindInts          = 7
	kindStrings       = 8
	kindTensors       = 9
	kindGraphs        = 10
	kindSparseTensor  = 11
	kindSparseTensors = 12
	kindType          = 13
	kindTypes         = 14
)

// locationExternal is TensorProto.DataLocation EXTERNAL.
const locationExternal = 1
