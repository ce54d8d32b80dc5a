// Package output writes the judgement of a submission: as text and JSON, and the
// results that pass as the official summary and as tables of the final report.
//
//	report, err := checker.Check(ctx, checker.Options{Tree: "submission", Rules: "v6.1"})
//	err = output.Text(os.Stdout, report)
//	err = output.Summary(os.Stdout, report) // summary.csv
//
// final.go has the tables of the final report.
package output
