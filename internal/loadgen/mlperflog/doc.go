// Package mlperflog writes and reads the log files of a test, as the reference LoadGen has them (loadgen/results.cc,
// test_settings_internal.cc, logging.cc, version 6.0.17):
//
//	mlperf_log_summary.txt    the result, for people             summary.go, read_summary.go
//	mlperf_log_detail.txt     settings, events and the result,   detail.go, read_detail.go,
//	                          a JSON message a line              read_text.go for LoadGen before v1.0
//	mlperf_log_accuracy.json  the responses that the test kept   accuracy.go; package accuracy reads it
//	mlperf_log_trace.json     the life of every sample,          trace.go
//	                          for chrome://tracing
//
// # Writing
//
// Labels, keys, their order and the form of numbers are the reference's, because other programs read them; advice is in
// our own words. There are differences, all of which the official parsers read: strings are escaped as JSON asks, numbers
// that are not finite are NaN and Infinity, the time stamp test_datetime is really UTC, the trace is valid JSON, and the
// reasons for an INVALID result include those that the reference does not know (the generator was late, the SUT
// misbehaved, the test was stopped).
//
//	log := mlperflog.NewAccuracyLog(file, settings.Scenario)
//	result, err := loadgen.Run(ctx, sut, qsl, settings, loadgen.Options{AccuracyLog: log})
//	…
//	sums, err := mlperflog.WriteFiles(dir, result, about)
//
// # Reading
//
// ReadDetail and ReadSummary read the logs of all versions of LoadGen since v0.5. Values have types and line numbers. An
// error names the lines that could not be read; the others are returned. ReadDetail also reads what LoadGen writes and JSON
// does not allow, and says where the official log parser would end (Detail.Refused).
package mlperflog
