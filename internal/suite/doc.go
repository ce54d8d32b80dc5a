// Package suite runs benchmarks one after the other under the run rules of a suite, overnight
// if need be.
//
//	s, err := suite.Load("edge") // or v0.5, datacenter, mobile, mlmark, a YAML file
//	plan, err := suite.NewPlan(s, suite.Request{Base: request, Output: "night"})
//	fmt.Println(plan.Estimate())
//	outcome, err := plan.Run(ctx, observer)
//	err = outcome.Write(os.Stdout, paint)
//
// A suite is a YAML file with benchmarks in their order, or with a category of systems
// instead, for which a round of MLPerf requires benchmarks (suite.go). The built-in suites are such files
// too. A plan has a step for every run: first the accuracy of a benchmark, then its speed (plan.go). Before the
// speed the machine may cool down. Each step leaves the folder of a
// run; suite.json beside them has the state, so that an interrupted suite can resume: a step whose
// results have the fingerprint of the same run is kept. Failures are reported, and the suite continues (run.go).
// The outcome has the scores, and what a submission would lack (outcome.go).
//
// The package knows no flags, prints nothing but the outcome, and measures nothing itself.
package suite
