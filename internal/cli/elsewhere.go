package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mlperf-go/mlperf/internal/machine/home"
)

// Elsewhere says of an error about a file that cannot be written in one of the program's own folders how they are to lie
// elsewhere; empty: it is another error.
func Elsewhere(err error) string {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.ENOSPC) {
		return ""
	}
	path := pathOf(err)
	if path == "" {
		return ""
	}
	for variable, folder := range map[string]func(...string) (string, error){"MLPERF_CACHE_DIR": home.CacheDir, "MLPERF_DATA_DIR": home.DataDir} {
		if dir, err := folder(); err == nil && (below(path, dir) || below(dir, path)) {
			return "; " + variable + " names another folder"
		}
	}
	return ""
}

// pathOf is the file that an error is about; empty: it names none.
func pathOf(err error) string {
	var of *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &of):
		return of.Path
	case errors.As(err, &link):
		return link.New
	}
	return ""
}

// below reports whether a path is a folder or lies in it.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
