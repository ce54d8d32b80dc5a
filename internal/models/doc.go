// Package models is the catalogue: the benchmarks of all families, by their names.
//
//	model, err := models.Lookup("resnet50")
//
// What a benchmark is says package workload; each family has a package of its own below this
// one. Benchmarks of the rules that no family has yet are known by name (Rules), because
// submissions and logs of others name them.
package models
