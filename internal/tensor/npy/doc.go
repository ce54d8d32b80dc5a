// Package npy reads and writes tensors in NumPy's .npy format, in which the reference keeps
// its pre-processed samples (<image>.npy).
//
//	err := npy.WriteFile("img.npy", t)
//
//	r, err := npy.NewReader(f) // r.Shape: [50000 3 224 224]
//	err = r.Read(batch)        // the next rows, into existing memory
//
// The format is that of numpy/lib/format.py (NEP 1). The package reads versions 1 to 3 and
// writes version 1, byte for byte as NumPy 1.23 and later do.
//
// Left out, with an error: Fortran order, structured types, text, objects and complex
// numbers. NumPy has no bfloat16. Bytes after the array are ignored.
//
// github.com/sbinet/npyio (v0.6.0) does not serve here: it has no float16, panics on a
// header without a line feed, allocates as much as a header claims, and reads into slices of
// a Go type instead of the memory of a tensor.
package npy
