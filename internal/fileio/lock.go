package fileio

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// FolderLock is the lock of a folder. The folder itself is the lock file, so that nothing is left in it. Windows locks no folders: there
// it is a file of the user's temporary folder, opened with flags.
func FolderLock(dir string, flags int) *flock.Flock {
	if runtime.GOOS != "windows" {
		return flock.New(dir, flock.SetFlag(os.O_RDONLY))
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = strings.ToLower(abs)
	}
	return flock.New(filepath.Join(os.TempDir(), fmt.Sprintf("mlperf-%x.lock", sha256.Sum256([]byte(dir)))), flock.SetFlag(flags))
}
