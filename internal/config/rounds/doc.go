// Package rounds holds what the rounds ask of benchmarks, as tables: targets of accuracy,
// least counts, latencies of all rounds, and of the rounds of submission v5.0 to v6.1 also
// scenarios, seeds, names, compliance tests.
//
//	round, err := rounds.Find("v6.1")
//	model := round.Model(round.ModelName("resnet50", ""))
//	model.AccuracyOf("Offline") // acc ≥ 75.6954
//
//	model, ok := rounds.ModelOf("v1.1", "3d-unet-99") // of any version
//
// The tables are rounds.json (v5.0 and later) and older.json (before; a row may hold for several rounds). Do not edit
// them: make_rounds.py and make_older.py write them from the reference's tools/submission (submission_checker/constants.py, and the checkers
// before it). Package checker judges submissions by them, package workload has their
// accuracy targets for runs. patterns.go finds metrics in lines of accuracy.txt.
package rounds
