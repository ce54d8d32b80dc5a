// Package selftest has the verb that measures the program itself: the load generator, the client of
// endpoints, and the server of tokens that is asked.
//
// What they are judged by, and under which loads, is in harness.Measures, run.ClientMeasures and
// run.PacedMeasures. What is measured in a process of its own is this program again, with the flags of selftest.
package selftest
