// Package importlog reads the folder of a run that anybody's LoadGen has logged, as the document
// that our own runs leave (package report). A folder with our results.json is read as that.
//
//	r, err := importlog.Read("closed/X/results/Y/resnet50/Server/performance/run_1", importlog.About{})
//	err = report.Explain(os.Stdout, r)
//
// The verdict, the rules that were kept and the metrics are those of the logs. What they do not
// have is not made up: it is said to be missing, or calculated from what they have and
// noted as such. The model, the round and the division are those that About names, else those
// of the folder's path, as submissions have it; with them the requested settings are
// compared with the rules, which gives caveats and notes.
//
// What is odd about a log (lines that cannot be read, logs that contradict each other) is a
// warning in the document. Only logs that do not even have a scenario are an error.
package importlog
