// Package mlperflog writes and reads the log files of a test, as the reference LoadGen
// has them (loadgen/results.cc, test_settings_internal.cc, logging.cc, version
// 6.0.17):
//
//	mlperf_log_summary.txt    for people: the result, and what it consists of
//	mlperf_log_detail.txt     one JSON message a line: settings, events, result
//	mlperf_log_accuracy.json  the responses that the test kept
//	mlperf_log_trace.json     every sample's life, for chrome://tracing
//
// # Writing
//
// Labels, keys, their order and the form of numbers are the reference's, because other
// programs read them; advice is in our own words. Differences, all of which keep the
// official parsers content: strings are escaped as JSON asks, numbers that are not
// finite are NaN and Infinity, the time stamp test_datetime is really UTC, the trace
// is valid JSON, and reasons why a run is INVALID that the reference does not know
// (the generator was late, the SUT misbehaved, the test was stopped) are listed with
// the others.
//
//	log := mlperflog.NewAccuracyLog(file, settings.Scenario)
//	result, err := loadgen.Run(ctx, sut, qsl, settings, loadgen.Options{AccuracyLog: log})
//	…
//	err = errors.Join(log.Close(), mlperflog.WriteFiles(dir, result, about))
//
// # Reading
//
// ReadDetail and ReadSummary understand the logs of all versions of LoadGen since
// v0.5, whose detail log was plain text. Values have types and line numbers. Anything
// else in a file is an error that names its line; what could be read is returned too.
// Package accuracy reads accuracy logs.
package mlperflog
