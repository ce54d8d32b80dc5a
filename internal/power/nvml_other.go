//go:build !linux

package power

import "errors"

// openNVML: elsewhere NVIDIA's library has other names, which nobody has tried.
func openNVML(string) ([]counter, error) {
	return nil, errors.New("NVML is read on Linux only")
}
