// Package cli is the command line: Run carries out a line and returns the exit status.
//
// Each verb has a file: it reads its flags, makes a request, calls the package that does the work, and prints the outcome.
// Judgement belongs to those packages. root.go lists the verbs; what they share is in
//
//	flags.go    types of flags, where their values come from (flag, environment, mlperf.yaml), arguments
//	request.go  the flags of verbs that run models, as a run.Request
//	output.go   text, tables and JSON, questions to the user
//	status.go   exit statuses and the text of errors
//	help.go     help, manual pages; complete.go: shell completion
//
// Package progress shows how a job goes on.
package cli
