// Package recsys has the benchmarks of recommendation: how likely is a click?
//
//	for _, model := range recsys.Models() { … }
//
// A sample is a run of user-item pairs, 100 to 700 of them, which the model answers at once.
// Numbers and categories of the pairs go into the inputs of the official DLRM, one bag for each
// category; the response has a prediction and the label of each pair.
package recsys
