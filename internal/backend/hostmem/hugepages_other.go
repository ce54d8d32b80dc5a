//go:build unix && !linux

package hostmem

func preferHugePages([]byte) {}
