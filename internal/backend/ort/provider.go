package ort

import "strings"

// A Provider says what this machine and library make of a device.
type Provider struct {
	Device   string `json:"device"`           // our name
	Provider string `json:"provider"`         // ONNX Runtime's name
	Compiled bool   `json:"compiled"`         // the library has it
	Usable   bool   `json:"usable"`           // and it could be used just now
	Reason   string `json:"reason,omitempty"` // why not
	Remedy   string `json:"remedy,omitempty"` // what helps
}

// isAbsent says whether an error text means that the library was built without a device, rather
// than that the device does not work.
func isAbsent(text string) bool {
	for _, mark := range []string{
		"is not supported in this build", "does not support CoreML", "Specified provider is not supported",
		"Unknown provider name", "Failed to load shared library",
	} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	file, _ := missingLibrary(text)
	return strings.Contains(file, "onnxruntime_providers_")
}

// tinyModel returns a model of one node, y = Identity(x) for one float, in ONNX's protobuf
// format. It must fit the oldest ONNX Runtime that can be loaded: opset 13, IR version 7.
func tinyModel() []byte {
	bytes := func(field byte, parts ...string) string {
		text := strings.Join(parts, "")
		return string([]byte{field<<3 | 2, byte(len(text))}) + text // all are shorter than 128 bytes
	}
	number := func(field, value byte) string { return string([]byte{field << 3, value}) }

	shape := bytes(2, bytes(1, number(1, 1)))             // one axis of extent 1
	tensorType := bytes(2, bytes(1, number(1, 1), shape)) // of float
	node := bytes(1, bytes(1, "x"), bytes(2, "y"), bytes(4, "Identity"))
	graph := bytes(7, node, bytes(2, "g"), bytes(11, bytes(1, "x"), tensorType), bytes(12, bytes(1, "y"), tensorType))
	return []byte(number(1, 7) + graph + bytes(8, bytes(1, ""), number(2, 13)))
}
