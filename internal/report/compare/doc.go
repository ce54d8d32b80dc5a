// Package compare shows how two sets of runs differ, and how sure that is.
//
//	list, err := compare.Of(base, new)
//	for _, c := range list {
//		for _, m := range c.Metrics {
//			fmt.Println(m.Name, m.Change, m.Verdict())
//		}
//	}
//
// Latencies of a queue depend on each other, so that intervals of independent order statistics
// call equal runs different in half of all cases. The interval depends on the data (decide.go, stats.go):
//
//   - repeats of both: t over the logarithms of their ratios, in pairs if they took turns. It is
//     the only one that sees changes from run to run, and the only one that may fail a build (limit.go).
//   - one run each of the same traffic: t over the ratios of 20 consecutive batches.
//   - one run each of other traffic: order statistics with as many independent queries as 20
//     batches show (package charts).
//   - accuracy of the same samples: McNemar's test with mid-p where answers are right or wrong,
//     else a paired bootstrap over sets of samples.
//
// Intervals are of 95 %. Without enough data the package says so, and how to get more.
package compare
