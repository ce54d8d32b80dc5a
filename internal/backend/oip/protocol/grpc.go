package protocol

import (
	"bytes"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// RequestMessage is a request over gRPC, with raw contents. It refers to the memory of the tensors.
func RequestMessage(h *Head, tensors []tensor.Tensor) *pb.ModelInferRequest {
	m := &pb.ModelInferRequest{ModelName: h.Model, ModelVersion: h.Version, Id: h.ID, RawInputContents: rawContents(tensors)}
	for _, s := range h.Tensors {
		m.Inputs = append(m.Inputs, &pb.ModelInferRequest_InferInputTensor{Name: s.Name, Datatype: Datatype(s.Type), Shape: s.Shape})
	}
	for _, name := range h.Wanted {
		m.Outputs = append(m.Outputs, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return m
}

// ResponseMessage is an answer over gRPC, like RequestMessage.
func ResponseMessage(h *Head, tensors []tensor.Tensor) *pb.ModelInferResponse {
	m := &pb.ModelInferResponse{ModelName: h.Model, ModelVersion: h.Version, Id: h.ID, RawOutputContents: rawContents(tensors)}
	for _, s := range h.Tensors {
		m.Outputs = append(m.Outputs, &pb.ModelInferResponse_InferOutputTensor{Name: s.Name, Datatype: Datatype(s.Type), Shape: s.Shape})
	}
	return m
}

func rawContents(tensors []tensor.Tensor) [][]byte {
	raw := make([][]byte, len(tensors))
	for i, t := range tensors {
		raw[i] = Wire(t)
	}
	return raw
}

// FromRequestMessage reads a request over gRPC.
func FromRequestMessage(m *pb.ModelInferRequest) (*Document, error) {
	d := &Document{Head: Head{Model: m.ModelName, Version: m.ModelVersion, ID: m.Id}}
	if err := checkParameters(m.Parameters); err != nil {
		return nil, err
	}
	for _, o := range m.Outputs {
		if err := checkParameters(o.Parameters); err != nil {
			return nil, err
		}
		if err := d.want(o.Name); err != nil {
			return nil, err
		}
	}
	return d, readTensors(d, m.Inputs, m.RawInputContents)
}

// FromResponseMessage reads an answer over gRPC.
func FromResponseMessage(m *pb.ModelInferResponse) (*Document, error) {
	d := &Document{Head: Head{Model: m.ModelName, Version: m.ModelVersion, ID: m.Id}}
	return d, readTensors(d, m.Outputs, m.RawOutputContents)
}

// A tensorMessage is an input of a request or an output of an answer.
type tensorMessage interface {
	GetName() string
	GetDatatype() string
	GetShape() []int64
	GetParameters() map[string]*pb.InferParameter
	GetContents() *pb.InferTensorContents
}

// readTensors adds the tensors of a message, whose contents are all raw or all typed.
func readTensors[T tensorMessage](d *Document, tensors []T, raw [][]byte) error {
	if len(raw) > 0 && len(raw) != len(tensors) {
		return fmt.Errorf("%d tensors have %d pieces of raw contents, expected one for each", len(tensors), len(raw))
	}
	for i, m := range tensors {
		if err := checkParameters(m.GetParameters()); err != nil {
			return err
		}
		s := Spec{Name: m.GetName(), Shape: m.GetShape()}
		var err error
		if s.Type, err = ParseDatatype(m.GetDatatype()); err != nil {
			return fmt.Errorf("tensor %q: %w", s.Name, err)
		}
		read := func(t tensor.Tensor, _ io.Reader) error { return readBinary(bytes.NewReader(raw[i]), t, s.Size) }
		n := -1
		switch {
		case len(raw) == 0:
			n, read = typedContents(m.GetContents(), s.Type)
		case proto.Size(m.GetContents()) > 0: // MLServer sends empty ones
			return fmt.Errorf("tensor %s has contents beside raw contents: must be one of them", s.Name)
		default:
			s.Size = int64(len(raw[i]))
		}
		if err := d.add(s, read); err != nil {
			return err
		}
		switch {
		case n < 0:
			err = s.sizeFits()
		case read == nil:
			err = fmt.Errorf("tensor %v: this type has no typed contents: send raw ones", s)
		case int64(n) != s.Shape.Len():
			err = fmt.Errorf("tensor %v has %d elements, expected %d", s, n, s.Shape.Len())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// typedContents are those of an element type: how many there are, and what puts them into a tensor; nil: there are none of
// that type.
func typedContents(c *pb.InferTensorContents, d tensor.DType) (n int, read func(t tensor.Tensor, _ io.Reader) error) {
	switch d {
	case tensor.Bool:
		return len(c.GetBoolContents()), func(t tensor.Tensor, _ io.Reader) error {
			data := tensor.Data[uint8](t)
			for i, b := range c.GetBoolContents() {
				if data[i] = 0; b {
					data[i] = 1
				}
			}
			return nil
		}
	case tensor.String:
		return len(c.GetBytesContents()), func(t tensor.Tensor, _ io.Reader) error {
			for i, b := range c.GetBytesContents() {
				t.Strings()[i] = string(b)
			}
			return nil
		}
	case tensor.Int8:
		return numbers[int8](c.GetIntContents())
	case tensor.Int16:
		return numbers[int16](c.GetIntContents())
	case tensor.Int32:
		return numbers[int32](c.GetIntContents())
	case tensor.Int64:
		return numbers[int64](c.GetInt64Contents())
	case tensor.Uint8:
		return numbers[uint8](c.GetUintContents())
	case tensor.Uint16:
		return numbers[uint16](c.GetUintContents())
	case tensor.Uint32:
		return numbers[uint32](c.GetUintContents())
	case tensor.Uint64:
		return numbers[uint64](c.GetUint64Contents())
	case tensor.Float32:
		return numbers[float32](c.GetFp32Contents())
	case tensor.Float64:
		return numbers[float64](c.GetFp64Contents())
	}
	return 0, nil
}

// numbers are typed contents whose type may be wider than that of the tensor.
func numbers[To, From tensor.Element](list []From) (n int, read func(t tensor.Tensor, _ io.Reader) error) {
	return len(list), func(t tensor.Tensor, _ io.Reader) error {
		data := tensor.Data[To](t)
		for i, v := range list {
			if data[i] = To(v); From(data[i]) != v && v == v {
				return fmt.Errorf("element %d is %v, which is no %s", i, v, Datatype(t.Type))
			}
		}
		return nil
	}
}

// checkParameters refuses what changes the meaning of a message and is not understood here.
func checkParameters(parameters map[string]*pb.InferParameter) error {
	return refuse(func(name string) bool {
		p := parameters[name]
		return p.GetStringParam() != "" || p.GetInt64Param() != 0 || p.GetUint64Param() != 0 || p.GetDoubleParam() != 0 || p.GetBoolParam()
	})
}

// ModelMetadataMessage is the description of a model over gRPC.
func ModelMetadataMessage(m *ModelMetadata) *pb.ModelMetadataResponse {
	ports := func(list []Port) (all []*pb.ModelMetadataResponse_TensorMetadata) {
		for _, p := range list {
			all = append(all, &pb.ModelMetadataResponse_TensorMetadata{Name: p.Name, Datatype: p.Datatype, Shape: p.Shape})
		}
		return all
	}
	return &pb.ModelMetadataResponse{Name: m.Name, Versions: m.Versions, Platform: m.Platform, Inputs: ports(m.Inputs), Outputs: ports(m.Outputs)}
}

// FromModelMetadataMessage reads the description of a model over gRPC.
func FromModelMetadataMessage(m *pb.ModelMetadataResponse) (*ModelMetadata, error) {
	ports := func(list []*pb.ModelMetadataResponse_TensorMetadata) (all []Port) {
		for _, p := range list {
			all = append(all, Port{p.Name, p.Datatype, p.Shape})
		}
		return all
	}
	about := &ModelMetadata{m.Name, m.Versions, m.Platform, ports(m.Inputs), ports(m.Outputs)}
	return about, about.check()
}

// ModelConfigMessage is the configuration of a model over gRPC.
func ModelConfigMessage(c *ModelConfig) *pb.ModelConfigResponse {
	m := &pb.ModelConfig{Name: c.Name, Platform: c.Platform, MaxBatchSize: int32(c.MaxBatchSize)}
	for _, p := range c.Input {
		m.Input = append(m.Input, &pb.ModelInput{Name: p.Name, DataType: pb.DataType(pb.DataType_value[p.DataType]), Dims: p.Dims})
	}
	for _, p := range c.Output {
		m.Output = append(m.Output, &pb.ModelOutput{Name: p.Name, DataType: pb.DataType(pb.DataType_value[p.DataType]), Dims: p.Dims})
	}
	return &pb.ModelConfigResponse{Config: m}
}

// StatisticsMessage has statistics over gRPC.
func StatisticsMessage(s ModelStatistics) *pb.ModelStatistics {
	sum := func(s Sum) *pb.StatisticDuration { return &pb.StatisticDuration{Count: s.Count, Ns: s.NS} }
	i := s.InferenceStats
	return &pb.ModelStatistics{Name: s.Name, Version: s.Version, LastInference: s.LastInference, InferenceCount: s.InferenceCount,
		ExecutionCount: s.ExecutionCount,
		InferenceStats: &pb.InferStatistics{Success: sum(i.Success), Fail: sum(i.Fail), Queue: sum(i.Queue), ComputeInput: sum(i.ComputeInput),
			ComputeInfer: sum(i.ComputeInfer), ComputeOutput: sum(i.ComputeOutput), CacheHit: sum(i.CacheHit), CacheMiss: sum(i.CacheMiss)}}
}

// FromStatisticsMessage reads statistics over gRPC.
func FromStatisticsMessage(m *pb.ModelStatistics) ModelStatistics {
	sum := func(s *pb.StatisticDuration) Sum { return Sum{s.GetCount(), s.GetNs()} }
	i := m.GetInferenceStats()
	return ModelStatistics{m.Name, m.Version, m.LastInference, m.InferenceCount, m.ExecutionCount,
		InferenceSum{sum(i.GetSuccess()), sum(i.GetFail()), sum(i.GetQueue()), sum(i.GetComputeInput()),
			sum(i.GetComputeInfer()), sum(i.GetComputeOutput()), sum(i.GetCacheHit()), sum(i.GetCacheMiss())}}
}
