// Package fileio reads and writes files safely.
//
//	f, err := fileio.Open("val_map.txt")
//	data, err := fileio.ReadFile("user.conf", 1<<20) // at most 1 MiB
//	sum, size, err := fileio.SHA256(ctx, "model.onnx")
//
//	err := fileio.WriteAtomic(path, 0o644, func(w io.Writer) error { … })
//
// Reading: a path from a user may lead to a folder, a pipe without a writer, or a device without an end. Open and ReadFile
// fail on these, and name them, before they open anything.
//
// Writing: a file or folder appears complete or not at all, even if its content is made piece by piece and fails half-way,
// for instance because a context is done. The target of a link is replaced, not the link. The libraries for atomic writes
// either publish what was written before the failure, or do not support Windows.
package fileio
