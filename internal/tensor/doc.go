// Package tensor holds the program's only kind of tensor: an element type, a shape, and one
// flat piece of memory in row-major order.
//
// A Tensor is a small value that refers to memory, as a slice does: copying it
// copies no elements, and Rows gives a view of some of the outermost rows of the
// same memory. Pre-processing writes tensors, backends read and write
// them in place, post-processing reads them.
//
//	images := tensor.New(tensor.Float32, 8, 3, 224, 224)
//	pixels := tensor.Data[float32](images.Rows(2, 1)) // third image, no copy
//
// The package does no arithmetic and knows no file format. The memory of a Float16 or
// BFloat16 tensor holds the raw 16 bits of each element.
package tensor
