//go:build !unix

package chat

// limitMemory leaves it to watchMemory.
func limitMemory() {}
