// Package profile keeps the fastest way to run a model that a search found: how many
// workers, threads and samples in a batch, for a Subject, which is a model, a scenario, a
// device and a machine.
//
//	p, err := profile.Read("mine.json")
//	fmt.Println(p.Instances, p.Threads, p.MaxBatch, p.Delay())
//
// Package tune searches and writes profiles, package run applies them. This package only
// knows the file.
package profile
