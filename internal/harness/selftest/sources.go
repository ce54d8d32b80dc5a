package selftest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// CompareSources compares the load generator's sources with those that a detail log in the folder names, or those of a checkout, and
// returns how many files there are and which differ.
func CompareSources(folder string) (files int, differ []string, err error) {
	ours := loadgen.Sources()
	theirs, err := loggedSources(folder)
	if errors.Is(err, fs.ErrNotExist) {
		theirs, err = loadgen.SourcesIn(os.DirFS(filepath.Join(folder, "internal", "loadgen")))
		if len(theirs) == 0 && err == nil {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, fmt.Errorf("%s has neither %s nor internal/loadgen: expected a folder of logs or of the program's source", folder,
			mlperflog.DetailFile)
	}
	if err != nil {
		return 0, nil, err
	}
	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if ours[path] != theirs[path] {
			differ = append(differ, strings.TrimPrefix(path, "/"))
		}
	}
	return len(all), differ, nil
}

func loggedSources(folder string) (sums map[string]string, err error) {
	file, err := os.Open(filepath.Join(folder, mlperflog.DetailFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); { // it stands before the sets of samples, which are longer than a Scanner reads
		var message struct {
			Key   string
			Value json.RawMessage
		}
		text, found := strings.CutPrefix(lines.Text(), ":::MLLOG ")
		if !found || json.Unmarshal([]byte(text), &message) != nil || message.Key != "loadgen_file_sha1" {
			continue
		}
		if err := json.Unmarshal(message.Value, &sums); err != nil {
			return nil, fmt.Errorf("%s: loadgen_file_sha1: %w", file.Name(), err)
		}
		return sums, nil
	}
	return nil, fmt.Errorf("%s does not say which sources its load generator has (loadgen_file_sha1)", file.Name())
}
