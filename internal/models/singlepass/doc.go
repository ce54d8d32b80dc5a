// Package singlepass answers samples with one run of a model: the predictor of all workloads whose answer is a function of one
// sample, whatever its inputs are.
//
//	predictor, err := singlepass.New(session, row, maxBatch, respond)
//
// The batch axis is the first of each input (singlepass.go); floats.go converts other float types than float32.
package singlepass
