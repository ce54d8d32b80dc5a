package regular

import (
	"os"
	"path/filepath"
)

// Matching lists what in a folder has a name of a pattern (filepath.Match), by name. What the folder itself is
// called is no pattern. Of a folder that cannot be read it is nothing.
func Matching(folder, pattern string) (paths []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if fits, _ := filepath.Match(pattern, e.Name()); fits {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
}
