// Package run turns a request of a user into a benchmark that runs. The command line, suites, audits, submissions and
// servers reach package harness through it.
//
// A Request is plain data: names, paths and numbers as a user gives them; zero fields are
// chosen. It becomes a result in three steps:
//
//	resolved, err := run.Resolve(request)     // settings with origins, rules, limitations; nothing is opened
//	prepared, err := resolved.Provide(ctx, o) // model, data, precision and engine are found or made
//	results, err := prepared.Run(ctx)         // logs and results.json are written
//
// They are in request.go (fields and their checks), resolve.go (settings, profile, servers), rules.go (comparison with
// the rules, limitations), estimate.go (how long the traffic takes), provide.go and fingerprint.go, run.go, record.go (results.json) and energy.go.
// ceiling.go measures what a machine does at most.
// ResolveService begins a service: a model that answers others, without a test.
//
// A field with a wrong value is a *userinput.Error that names the field; the command line adds its flag.
//
// A prepared request has one Fingerprint. It names everything that can change a result:
// settings, options of the engine, how the model is fed and read, the content of model and
// data, and the version of the program. It is the key of everything that is kept between runs.
//
// Packages below: engine opens engines, outdir keeps the folder of the results, catalogue lists models, data sets and
// plans, rescore scores accuracy logs, clienttest measures the client of servers of text.
//
// The package prints nothing, and knows no flags.
package run
