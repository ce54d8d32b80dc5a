// Package regular opens files that are files.
//
// A path that a user gives may lead to a folder, a pipe that nobody writes to, or a
// device that never ends. Opening or reading these would fail with words that help
// nobody, wait for ever, or take all memory; here they are an error that says what the
// path leads to, before anything is opened.
//
//	f, err := regular.Open("val_map.txt")
//	data, err := regular.ReadFile("user.conf", 1<<20) // and no longer than a mebibyte
//
//	sum, size, err := regular.SHA256(ctx, "model.onnx")
//
// The package does not write.
package regular
