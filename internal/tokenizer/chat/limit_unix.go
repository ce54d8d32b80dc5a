//go:build unix

package chat

import "syscall"

// limitMemory has the system refuse more memory than twice what values may take: one large value comes quicker than watchMemory looks.
func limitMemory() {
	limit := syscall.Rlimit{Cur: 2 * maxMemory, Max: 2 * maxMemory}
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &limit) // watchMemory stays
}
