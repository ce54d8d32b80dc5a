// Package whole writes files and folders that are there as a whole, or as they were before.
//
//	err := whole.Write(path, 0o644, func(w io.Writer) error { … })
//
// The content is made piece by piece and may fail half-way, for instance because a context is done.
// The libraries for this either publish what was written until then, or do not know Windows.
package whole
