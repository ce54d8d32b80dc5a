// Package modeltest compares the benchmarks of the families with what the rules ask of them.
//
//	func TestRules(t *testing.T) {
//		modeltest.Rules(t, resnet50().Rules, retinanet().Rules)
//		modeltest.Quality(t, resnet50())
//	}
//
// checker.json is what the reference's submission checkers of the rounds have of each benchmark;
// make_checker.py writes it. Only tests use this package.
package modeltest
