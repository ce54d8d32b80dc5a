package onnx

import "bytes"

// Decode reads the content of an ONNX file, as ReadFile
// reads a file.
func Decode(data []byte) (*Model, error) {
	m := &Model{}
	err := m.decode(data, 0)
	if err == nil {
		err = m.validate()
	}
	if err != nil {
		return nil, refusal(data, err)
	}
	return m, nil
}

// Encode returns the model as the content of an ONNX file.
func Encode(m *Model) ([]byte, error) {
	var buf bytes.Buffer
	if _, err := m.WriteTo(&buf); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
