// Package graph has the benchmark on a graph: R-GAT, which tells the subject of a paper by its neighbours.
//
// rgat.go is its row of the catalogue, workload.go joins model and data, ports.go finds the inputs of a model file, sampler.go draws the
// neighbours of a node, and predictor.go reads their features and runs the model. A sample is the number of a node: drawing and reading are
// part of its latency.
package graph
