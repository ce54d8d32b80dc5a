// Package hostmem makes tensors in memory outside the Go heap, for sample stores and
// the buffers of instances.
//
//	store, free, err := hostmem.New(tensor.Float32, 1024, 3, 224, 224) // 617 MB
//	defer free()
//	pixels := tensor.Data[float32](store)
//
// An engine written in C keeps the address of a tensor between calls. The rules of cgo
// allow that for memory that Go does not own, and for pinned Go memory. A store of
// hundreds of megabytes is better off outside for two more reasons: the garbage
// collector, which starts when the heap has doubled, does not take it as a reason to
// let as much garbage pile up; and freeing it gives it back to the system at once.
//
// Where the system has no such memory for us (Windows, js), tensors come from the Go heap.
package hostmem
