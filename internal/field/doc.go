// Package field says which part of a request is at fault.
//
// A request has fields: what a user gave with a flag, an environment variable, a line of
// mlperf.yaml, or a line of a suite. Libraries know the field and not how it was given, so
// they return an *Error with the field's name; whoever took the request adds the flag.
//
//	return field.Invalid("instances", n, "a positive number, or 0 for the default")
//	…
//	var e *field.Error
//	if errors.As(err, &e) {
//		text = e.Named("--" + e.Flag()) // --instances is -1, want a positive number, or 0 for the default
//	}
//
// The package knows no fields itself.
package field
