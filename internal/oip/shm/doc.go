// Package shm is memory that the programs of one machine share, by the names of POSIX
// (shm_open): what Triton's extension for shared memory registers.
//
//	mine, err := shm.Create(1 << 20)              // here
//	theirs, err := shm.Open(mine.Key(), 0, 1<<20) // in another program
//	err = mine.Write(0, elements)
//	err = theirs.Read(0, elements)
//
// Nothing is mapped: an object is read and written like the file that it is. Whoever makes it
// shorter, or fills the machine's memory, causes an error here and no signal that ends the
// program, and there is no memory that could be used after it was given back. A copy in
// the kernel takes as long as one outside.
package shm
