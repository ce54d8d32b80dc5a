//go:build !linux

package shm

import "os"

// locked reports that nobody has a file locked: there are no objects here.
func locked(*os.File) bool { return false }
