//go:build unix

package scratch

import (
	"errors"
	"os"
	"syscall"
)

// lock reports whether nobody else has a file locked, and locks it then until it is closed.
func lock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
