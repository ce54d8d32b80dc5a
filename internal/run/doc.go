// Package run turns what somebody wants into a benchmark that runs. It stands between
// every door (the command line, suites, audits, submissions) and package harness.
//
// A Request is plain data: names, paths and numbers as a user gives them; what is zero is
// chosen. It becomes a result in three steps:
//
//	resolved, err := run.Resolve(request) // settings with origins, rules, caveats; nothing is opened
//	prepared, err := resolved.Provide(ctx, o) // model, data, precision and engine are found or made
//	results, err := prepared.Run(ctx)         // logs and results.json are written
//
// Who has a model answer others, in place of a test, begins with ResolveService instead.
//
// What cannot be right in a request is a *field.Error that names the field;
// a door adds how it was given.
//
// A prepared request has one Fingerprint. It names everything that can change a result:
// settings, options of the engine, how the model is fed and read, the content of model and
// data, and the version of the program. What is kept between runs is keyed by it.
//
// Beside runs there are the smaller jobs that need the same resolving and providing: Score
// scores an accuracy log, Quantize and Preprocess make files, SynthModel and SynthDataset
// make what is built in, Models, Datasets and Backends list what there is, PlanRuns says what
// the rules will take, Diagnose looks at the machine, ClientMeasures are what the client of servers is
// judged by.
//
// The package prints nothing, and knows no flags.
package run
