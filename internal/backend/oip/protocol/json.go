package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// HeaderLength is the header of HTTP that says how many bytes of the body are JSON; binary
// tensors follow.
const HeaderLength = "Inference-Header-Content-Length"

// A Form is how elements of tensors are written over HTTP.
type Form uint8

// The forms: behind the JSON, or in it.
const (
	Binary Form = iota
	JSON
)

// A jsonDocument is a request or an answer.
type jsonDocument struct {
	ModelName    string         `json:"model_name,omitzero"`
	ModelVersion string         `json:"model_version,omitzero"`
	ID           string         `json:"id,omitzero"`
	Error        string         `json:"error,omitzero"` // of an answer, also with the status of success
	Inputs       jsonTensors    `json:"inputs,omitzero"`
	Outputs      jsonTensors    `json:"outputs,omitzero"`
	Parameters   jsonParameters `json:"parameters,omitzero"`
}

type jsonTensors []jsonTensor

type jsonTensor struct {
	Name       string         `json:"name"`
	Datatype   string         `json:"datatype,omitzero"`
	Shape      []int64        `json:"shape,omitzero"`
	Parameters jsonParameters `json:"parameters,omitzero"`
	Data       jsontext.Value `json:"data,omitzero"`
}

type jsonParameters struct {
	BinarySize     *int64         `json:"binary_data_size,omitzero"`
	Binary         *bool          `json:"binary_data,omitzero"`
	BinaryOutput   bool           `json:"binary_data_output,omitzero"`
	Sequence       jsontext.Value `json:"sequence_id,omitzero"`
	Classification jsontext.Value `json:"classification,omitzero"`
	Region         jsontext.Value `json:"shared_memory_region,omitzero"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It stops after maxTensors: {} takes a hundred times its two bytes.
func (l *jsonTensors) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if kind := d.PeekKind(); kind != '[' {
		return json.UnmarshalDecode(d, (*[]jsonTensor)(l)) // null, or an error
	}
	_, err := d.ReadToken()
	for *l = (*l)[:0]; err == nil && d.PeekKind() != ']'; {
		if len(*l) == maxTensors {
			return fmt.Errorf("more than %d tensors", maxTensors)
		}
		*l = append(*l, jsonTensor{})
		err = json.UnmarshalDecode(d, &(*l)[len(*l)-1])
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// RequestJSON is the JSON of a request. In the binary form the elements of all tensors have to follow it, in order.
func RequestJSON(h *Head, tensors []tensor.Tensor, form Form) ([]byte, error) {
	inputs, err := jsonOf(h, tensors, form)
	if err != nil {
		return nil, err
	}
	d := jsonDocument{ID: h.ID, Inputs: inputs, Parameters: jsonParameters{BinaryOutput: form == Binary}}
	for _, name := range h.Wanted {
		binary := form == Binary
		d.Outputs = append(d.Outputs, jsonTensor{Name: name, Parameters: jsonParameters{Binary: &binary}})
	}
	return json.Marshal(&d)
}

// ResponseJSON is the JSON of an answer, like RequestJSON.
func ResponseJSON(h *Head, tensors []tensor.Tensor, form Form) ([]byte, error) {
	outputs, err := jsonOf(h, tensors, form)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&jsonDocument{ModelName: h.Model, ModelVersion: h.Version, ID: h.ID, Outputs: outputs})
}

// jsonOf describes tensors, with their elements in the JSON form.
func jsonOf(h *Head, tensors []tensor.Tensor, form Form) (jsonTensors, error) {
	list := make(jsonTensors, len(h.Tensors))
	for i, s := range h.Tensors {
		list[i] = jsonTensor{Name: s.Name, Datatype: Datatype(s.Type), Shape: append([]int64{}, s.Shape...)}
		if form == Binary {
			size := int64(wireSize(tensors[i]))
			list[i].Parameters.BinarySize = &size
			continue
		}
		var err error
		if list[i].Data, err = elementsJSON(tensors[i]); err != nil {
			return nil, fmt.Errorf("tensor %s: %w: send binary data", s.Name, err)
		}
	}
	return list, nil
}

// elementsJSON has the elements of a tensor as one flat list.
func elementsJSON(t tensor.Tensor) (jsontext.Value, error) {
	var list any
	switch t.Type {
	case tensor.Bool:
		bools := make([]bool, t.Len())
		for i, b := range t.Bytes() {
			bools[i] = b != 0
		}
		list = bools
	case tensor.Uint8: // []byte would be written in base64
		numbers := make([]uint16, t.Len())
		for i, b := range t.Bytes() {
			numbers[i] = uint16(b)
		}
		list = numbers
	case tensor.Int8:
		list = tensor.Data[int8](t)
	case tensor.Int16:
		list = tensor.Data[int16](t)
	case tensor.Int32:
		list = tensor.Data[int32](t)
	case tensor.Int64:
		list = tensor.Data[int64](t)
	case tensor.Uint16:
		list = tensor.Data[uint16](t)
	case tensor.Uint32:
		list = tensor.Data[uint32](t)
	case tensor.Uint64:
		list = tensor.Data[uint64](t)
	case tensor.Float32:
		list = tensor.Data[float32](t)
	case tensor.Float64:
		list = tensor.Data[float64](t)
	case tensor.String:
		list = t.Strings()
	default:
		return nil, fmt.Errorf("%s has no form in JSON", Datatype(t.Type))
	}
	return json.Marshal(list)
}

// FromRequestJSON reads the JSON of a request.
func FromRequestJSON(text []byte) (*Document, error) {
	var j jsonDocument
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the JSON of a request: %w", err)
	}
	d := &Document{Head: Head{Model: j.ModelName, Version: j.ModelVersion, ID: j.ID}}
	if err := j.Parameters.check(); err != nil {
		return nil, err
	}
	d.WantsJSON = !j.Parameters.BinaryOutput
	for i, o := range j.Outputs {
		if err := o.Parameters.check(); err != nil {
			return nil, err
		}
		if err := d.want(o.Name); err != nil {
			return nil, err
		}
		wantsJSON := !j.Parameters.BinaryOutput
		if o.Parameters.Binary != nil {
			wantsJSON = !*o.Parameters.Binary
		}
		if i > 0 && wantsJSON != d.WantsJSON {
			return nil, Errorf(Unsupported, "some outputs are asked for in binary and others in JSON: ask for all in one form")
		}
		d.WantsJSON = wantsJSON
	}
	return d, d.addJSON(j.Inputs)
}

// FromResponseJSON reads the JSON of an answer.
func FromResponseJSON(text []byte) (*Document, error) {
	var j jsonDocument
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("the JSON of an answer: %w", err)
	}
	if j.Error != "" {
		return nil, fmt.Errorf("the answer is an error: %s", j.Error)
	}
	d := &Document{Head: Head{Model: j.ModelName, Version: j.ModelVersion, ID: j.ID}}
	return d, d.addJSON(j.Outputs)
}

// addJSON adds tensors, whose elements are in the JSON or follow it.
func (d *Document) addJSON(tensors jsonTensors) error {
	for _, j := range tensors {
		if err := j.Parameters.check(); err != nil {
			return err
		}
		s := Spec{Name: j.Name, Shape: j.Shape}
		var err error
		if s.Type, err = ParseDatatype(j.Datatype); err != nil {
			return fmt.Errorf("tensor %q: %w", s.Name, err)
		}
		if j.Shape == nil {
			return fmt.Errorf("tensor %q has no shape", s.Name)
		}
		size := j.Parameters.BinarySize
		if (size != nil) == (j.Data != nil) {
			return fmt.Errorf("tensor %q: expected either data or binary_data_size", s.Name)
		}
		read := func(t tensor.Tensor, body io.Reader) error { return readBinary(body, t, s.Size) }
		if size != nil {
			s.Size = *size
		} else {
			read = func(t tensor.Tensor, _ io.Reader) error { return readElements(j.Data, t, s.Shape) }
		}
		if err := d.add(s, read); err != nil {
			return err
		}
		if size != nil {
			err = s.sizeFits()
		} else if n := s.Shape.Len(); n > int64(len(j.Data)) { // the caller would allocate memory in vain
			err = fmt.Errorf("tensor %v has %d elements, which %d bytes cannot be", s, n, len(j.Data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check refuses parameters that are not supported.
func (p *jsonParameters) check() error {
	values := map[string]jsontext.Value{"sequence_id": p.Sequence, "classification": p.Classification, "shared_memory_region": p.Region}
	return refuse(func(name string) bool { return !slices.Contains([]string{"", "null", `""`, "0"}, string(values[name])) })
}

// readElements puts elements in JSON into a tensor.
func readElements(data jsontext.Value, t tensor.Tensor, shape tensor.Shape) error {
	switch t.Type {
	case tensor.Bool:
		list := make([]bool, t.Len())
		if err := readList(data, list, shape); err != nil {
			return err
		}
		for i, b := range list {
			if t.Bytes()[i] = 0; b {
				t.Bytes()[i] = 1
			}
		}
		return nil
	case tensor.String:
		return readList(data, t.Strings(), shape)
	case tensor.Int8:
		return readList(data, tensor.Data[int8](t), shape)
	case tensor.Int16:
		return readList(data, tensor.Data[int16](t), shape)
	case tensor.Int32:
		return readList(data, tensor.Data[int32](t), shape)
	case tensor.Int64:
		return readList(data, tensor.Data[int64](t), shape)
	case tensor.Uint8:
		return readList(data, tensor.Data[uint8](t), shape)
	case tensor.Uint16:
		return readList(data, tensor.Data[uint16](t), shape)
	case tensor.Uint32:
		return readList(data, tensor.Data[uint32](t), shape)
	case tensor.Uint64:
		return readList(data, tensor.Data[uint64](t), shape)
	case tensor.Float32:
		return readList(data, tensor.Data[float32](t), shape)
	case tensor.Float64:
		return readList(data, tensor.Data[float64](t), shape)
	}
	return fmt.Errorf("%s has no form in JSON: send binary data", Datatype(t.Type))
}

// readList reads elements that are one flat list, or lists in lists, one level for each axis and as long as that.
func readList[T any](data jsontext.Value, elements []T, shape tensor.Shape) error {
	d, read := jsontext.NewDecoder(bytes.NewReader(data)), 0
	var list func(axes tensor.Shape) error
	list = func(axes tensor.Shape) error {
		if begin, err := d.ReadToken(); err != nil || begin.Kind() != '[' {
			return errors.Join(err, fmt.Errorf("element %d: expected a list, as long as axis %d", read, len(shape)-len(axes)))
		}
		n, inner := int64(0), len(axes) > 1 && d.PeekKind() == '['
		for ; d.PeekKind() != ']'; n++ {
			switch {
			case inner:
				if err := list(axes[1:]); err != nil {
					return err
				}
			case read == len(elements):
				return fmt.Errorf("more than %d elements", read)
			case d.PeekKind() == 'n': // which would be taken for 0
				return fmt.Errorf("element %d is null", read)
			default:
				if err := json.UnmarshalDecode(d, &elements[read]); err != nil {
					return fmt.Errorf("element %d: %w", read, err)
				}
				read++
			}
		}
		if (inner || len(axes) < len(shape)) && n != axes[0] {
			return fmt.Errorf("a list before element %d has %d values, expected %d as axis %d", read, n, axes[0], len(shape)-len(axes))
		}
		_, err := d.ReadToken()
		return err
	}
	if err := list(shape); err != nil {
		return err
	}
	if read != len(elements) {
		return fmt.Errorf("%d elements, expected %d", read, len(elements))
	}
	return nil
}
