//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package download

import "os"

// tryLock does nothing here: do not run two downloads into one folder at once.
func tryLock(*os.File) (bool, error) { return true, nil }
