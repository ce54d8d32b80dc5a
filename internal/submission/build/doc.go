// Package build makes a submission from folders of runs.
//
//	built, err := build.Build(ctx, build.Request{
//		Tree: "submission", Runs: []string{"results"}, Rules: "v6.1",
//		Division: "closed", Submitter: "ExampleOrg", System: "board1", Description: description,
//	})
//	built.Check.Passes // what the checker's strict profile says of it
//
// Runs are looked for below the folders: those of this program, with results.json, and
// those of any LoadGen, with an accuracy.txt beside the accuracy log. Compliance tests are
// folders TEST01, TEST04, … as package compliance and the reference's scripts leave them. What
// is not there cannot be made up, but descriptions are: what nobody knows is a placeholder
// (package fields), which the strict profile refuses.
//
// What must not enter a tree does not (admit.go): runs that are not VALID, on a simulated
// engine, with built-in data, or with a caveat, which names each setting that is easier than
// the rules'. The closed and the network division take no built-in model either. Accuracy
// logs are copied in short form, with their hashes, and the originals stay where they are.
//
// A tree appears as a whole or not at all, and never in place of another one unless that is
// asked for. A build that is killed leaves a folder mlperf-submission-… beside it, which the
// next one removes.
package build
