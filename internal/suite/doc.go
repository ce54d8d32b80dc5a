// Package suite runs benchmarks one after the other under the run rules of a suite, over
// night if need be.
//
//	s, err := suite.Load("edge") // or v0.5, datacenter, mobile, mlmark, a YAML file
//	plan, err := suite.NewPlan(s, suite.Request{Base: request, Output: "night"})
//	fmt.Println(plan.Estimate)
//	outcome, err := plan.Run(ctx, observer)
//	err = outcome.Write(os.Stdout)
//
// A suite is data: a YAML file with benchmarks in their order, or with a category of systems
// instead, for which a round of MLPerf asks for benchmarks. What is built in are such files
// too. A plan has a step for every run: first the accuracy of a benchmark, then its speed,
// before which the machine may cool down. Each step is one session, and leaves the folder of a
// run; suite.json beside them has the state, so that an interrupted suite goes on: a step whose
// results have the fingerprint of what would run now is kept. A step that fails is said, and
// the next one follows.
//
// The package knows no flags, prints nothing but the outcome, and measures nothing itself.
package suite
