//go:build !goexperiment.simd || !amd64 || go1.27

package preprocess

func sidewaysVectors([]int16, []byte, []column) int          { return 0 }
func bytesVectors(_ []byte, _, _ []int16, _, _ int32) int    { return 0 }
func floatsSidewaysVectors([]float32, []byte, []between) int { return 0 }
func floatsVectors(_, _, _ []float32, _, _ float32) int      { return 0 }
func (Step) applyVectors([]float32) int                      { return 0 }
func planesVectors(_, _, _, _ []float32) int                 { return 0 }
