// Package request turns flags into a run.Request: what is measured, on which engine, with which settings.
//
// The verbs that run models have the same flags, or some of them, and share their meaning here:
//
//	var flags request.Flags
//	flags.Define(cmd.Flags())
//	…
//	q, err := flags.Build(cmd.Flags())
//
// What cannot be right is a *field.Error, or found by run.Resolve. Nothing is opened or run.
package request
