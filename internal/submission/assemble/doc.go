// Package assemble makes a submission from folders of runs.
//
//	built, err := assemble.Build(ctx, assemble.Request{
//		Tree: "submission", Runs: []string{"results"}, Rules: "v6.1",
//		Division: "closed", Submitter: "ExampleOrg", System: "board1", Description: description,
//	})
//	built.Check.Passes // the verdict of the checker's strict profile
//
// The folders are searched for runs of this program, with results.json, and of any
// LoadGen, with an accuracy.txt beside the accuracy log. Compliance tests are folders
// TEST01, TEST04, … as package compliance and the reference's scripts leave them.
// Descriptions are written from what the runs say; a field that they do not answer is a
// placeholder, which the strict profile refuses.
//
// Runs that are not VALID, on a simulated engine, with built-in data or with a limitation do
// not enter a tree; a built-in model only enters the open division. Accuracy logs are
// copied in short form, with their hashes, and the originals stay where they are.
//
// A tree appears as a whole or not at all, and replaces another one only on request. A
// build that is killed leaves a folder .mlperf-submission-… beside the tree.
//
// build.go has the request and the steps, runs.go finds runs and tests, results.go
// chooses those of each result, files.go copies logs, texts.go and numerics.go write the
// descriptions.
package assemble
