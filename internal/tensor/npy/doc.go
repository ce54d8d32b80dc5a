// Package npy reads and writes tensors in NumPy's .npy format, in which the reference
// keeps its pre-processed samples (<image>.npy).
//
//	err := npy.WriteFile("img.npy", t)
//
//	r, err := npy.NewReader(f) // r.Shape: [50000 3 224 224]
//	err = r.Read(batch)        // the next rows, into memory that is there
//
// The format is that of numpy/lib/format.py (NEP 1): versions 1 to 3 are read, version 1
// is written, byte for byte as NumPy 1.23 and later write it.
//
// Left out, with an error that says so: Fortran order, structured types, text, objects
// and complex numbers. BFloat16 is not a NumPy type. Bytes that follow an array are not
// looked at.
//
// github.com/sbinet/npyio (v0.6.0) does not serve here: it has no float16, panics on a
// header without a line feed, takes as much memory as a header claims to be long, and reads
// into slices of a Go type instead of the memory of a tensor.
package npy
