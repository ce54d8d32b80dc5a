package credentials

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// maxKey is how long the file of a key may be.
const maxKey = 64 << 10

// ReadKey reads a key from a file, without the space around it.
func ReadKey(path string) (string, error) {
	text, err := fileio.ReadFile(path, maxKey)
	if err != nil {
		return "", userinput.Wrap("token_file", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", userinput.Errorf("token_file", "%s is empty, want a key", path)
	}
	return key, CheckKey(key, "the file "+path)
}

// CheckKey refuses what cannot stand in a header: several lines, for instance. from says in words where
// the key is from.
func CheckKey(key, from string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return userinput.Errorf("token_file", "the key in %s has characters that no header can have (spaces, line breaks, others than ASCII)", from)
	}
	return nil
}
