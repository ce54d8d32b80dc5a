// Package whole writes files and folders that are there as a whole, or as they were before.
//
//	err := whole.Write(path, 0o644, func(w io.Writer) error { … })
//
// The content is made piece by piece and may fail half-way, for instance because a context is done.
// What a link leads to is replaced, and not the link; a device, a pipe or a folder is not replaced by a file.
// What a process that was killed had begun is removed by the next one that writes the same.
// The libraries for this either publish what was written until then, or do not know Windows.
package whole
