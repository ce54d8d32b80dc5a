// Package checker judges a submission: whether the official checker of MLCommons would
// accept it, and whether the rules would.
//
//	report, err := checker.Check(ctx, checker.Options{Tree: "submission", Rules: "v6.1"})
//	report.Passes             // the verdict
//	report.Results[0].Findings // what is wrong with one result, file by file
//
// There are two profiles. Reference says yes and no exactly where the official checker
// (github.com/mlcommons/inference, tools/submission/submission_checker) does, result by
// result, for the rounds v5.0 to v6.1. Strict adds what the rules ask for and that
// checker does not look at (rules.go marks it).
//
// Three differences are intended. Where the official checker ends with an exception, the
// file at fault gets a finding, its results do not pass, and all others are judged. A
// tree without results is an error, while the official checker accepts it. And files that
// could block a reader or exhaust memory (FIFOs, devices, lines above 64 MiB, JSON above
// 16 MiB, YAML above 1 MiB) get a finding.
//
// Values are compared as Python compares them where a real tree depends on it: a metric
// that is a text of digits is a number, a number may have any JSON form, and the summary
// has numbers as Python prints them. Other quirks of Python (digits of other scripts,
// underscores in numbers, YAML 1.1, lone carriage returns) are not imitated.
//
// check.go finds the results, result.go judges one of them with performance.go,
// accuracy.go, audits.go, power.go, endpoints.go and strict.go, system.go judges the
// description of a system by the table in fields.go, tree.go walks the folders, report.go has what is returned.
package checker
