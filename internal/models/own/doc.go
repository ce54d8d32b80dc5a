// Package own makes a workload of any ONNX file of a user, of any task:
//
//	model := own.Model("my.onnx")
//	w, err := model.Open(workload.Setup{ModelPath: "my.onnx", Ports: ports})
//
// It has no benchmark behind it: no official settings, data or targets. The inputs are found in stages (inputs.go): what the operators
// tell (graph.go), what the user says, arrays or images (data.go, images.go), how many samples a run takes (batch.go), the shape of
// a sample (shapes.go) and its content, which is made from a seed where there are no data (content.go). What the file leaves open is
// a guess that a note names together with the option that changes it. A model with a row of scores, and data with labels, has
// Top-1 and Top-5 accuracy (own.go). Data with outputs of another runtime show how many samples have the same (expected.go).
package own
