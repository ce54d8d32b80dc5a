// Package own makes a workload of any ONNX file of a user, of any task:
//
//	model := own.Model("my.onnx")
//	w, err := model.Open(workload.Setup{ModelPath: "my.onnx", Ports: ports})
//
// It has no benchmark behind it: no official settings, data or targets. Inputs are made from a seed by type and shape, or read
// from arrays or images (data.go). What the file leaves open, free axes and the kinds of numbers, is a guess that a note
// names together with the option that changes it (inputs.go). A model with a row of scores, and data with labels, has
// Top-1 and Top-5 accuracy (own.go). Data with outputs of another runtime show how many samples have the same (expected.go).
package own
