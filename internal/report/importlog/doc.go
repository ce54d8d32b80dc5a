// Package importlog reads the folder of a run that any LoadGen has logged, or that mlcommons/endpoints has left (report_dir, or a result
// in a submission), as the document that runs of this program leave (package report). A folder with results.json is read as that.
//
//	r, err := importlog.Read("closed/X/results/Y/resnet50/Server/performance/run_1", importlog.About{})
//	err = report.Explain(os.Stdout, r)
//
// The verdict, the rules that were kept and the metrics are those of the logs (figures.go). Numbers that they do not
// have are said to be missing, or calculated from others and
// noted as such. The model, the round and the division are those that About names, else those
// of the folder's path, as submissions have it; with them the requested settings are
// compared with the rules, which gives limitations and notes (rules.go).
//
// endpoints.go reads the files of mlcommons/endpoints by package endpoints. They are judged as the official submission checker judges
// them, and failed requests and runs that did not end make them INVALID, too.
//
// Oddities of a log (unreadable lines, logs that contradict each other) are
// warnings in the document. Only logs without a scenario are an error.
package importlog
