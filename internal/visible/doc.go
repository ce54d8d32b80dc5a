// Package visible writes texts that somebody else wrote so that a person sees all that is in them: what
// cannot be printed is a number, which neither steers a terminal nor turns the direction of a line.
//
//	visible.Line("fast\x1b[2J\n")  // fast\x1b[2J\x0a
//	visible.Text("one\ntwo\x1b[A") // two lines, of which the second cannot overwrite the first
//
// It is for terminals: forms for programs, such as JSON, keep what they have.
package visible
