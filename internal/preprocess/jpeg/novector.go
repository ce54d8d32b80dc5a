//go:build !goexperiment.simd || !amd64 || go1.27

package jpeg

const vectors = false

func inverseVectors([]uint8, int, *block)           {}
func fromYCbCrVectors(_, _, _, _ []uint8) int       { return 0 }
func widenVectors(_, _, _ []uint8, _, _ uint64) int { return 0 }
