package shm

import (
	"errors"
	"os"
	"syscall"
)

// locked reports whether somebody else has a file locked.
func locked(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // which lets go of what there is
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}
