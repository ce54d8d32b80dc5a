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
// checker does not look at; what it adds is marked in the table of rules.
//
// Three differences are meant. Where the official checker ends with an exception, the
// file at fault gets a finding, its results do not pass, and all others are judged. A
// tree without results is an error, while the official checker finds it in order. And
// what could make a reader wait or run out of memory (FIFOs, devices, lines above
// 64 MiB, JSON above 16 MiB, YAML above 1 MiB) is a finding.
//
// A check looks at values as Python does (package python): a metric that is a text of
// digits is a number, and a met that is the text "false" is true. What an official
// check answers with an exception fails it there and has a finding here.
package checker
