// Package models is the catalogue: the benchmarks of all families, by their names.
//
//	model, err := models.Lookup("resnet50")
//
// Package workload defines a benchmark; each family has a package below this one. Rules also has the benchmarks of the rules that
// no family implements, since submissions and logs of others contain them.
package models
