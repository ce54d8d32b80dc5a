// Package userinput handles input of users and text of other programs.
//
// An *Error (error.go) names the field of a request that is wrong. Libraries know the field and not its flag, environment
// variable or line of mlperf.yaml: they return an *Error, and the command line adds the flag.
//
//	return userinput.Invalid("instances", n, "a positive number, or 0 for the default")
//	…
//	var e *userinput.Error
//	if errors.As(err, &e) {
//		text = e.Named("--" + e.Flag()) // --instances is -1, want a positive number, or 0 for the default
//	}
//
// Names (names.go) of models, scenarios, modes and devices compare without case, hyphens, underscores and spaces; Nearest
// finds the choice that the user probably meant.
//
//	userinput.Same("Single-Stream", "singlestream") // true
//
// Line and Lines (printable.go) make text of others, or all texts in a document of others, printable lines where they enter, so that
// none can pass for a line of ours; ErrorLines does so with what errors quote. PrintableLine and PrintableText escape control characters in
// text of others, so that it cannot steer a terminal. Formats for programs, for instance JSON, keep the original (PrintableJSON).
//
//	userinput.PrintableLine("fast\x1b[2J\n") // fast\x1b[2J\x0a
package userinput
