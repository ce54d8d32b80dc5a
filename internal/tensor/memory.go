package tensor

// Grown returns memory for n elements: that of a slice, with what it has, if there is so much of
// it, or else new memory.
func Grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
