package config

import (
	"fmt"
	"io"
	"os"
)

// maxFile is how long a file of settings may be. mlperf.conf has 10 KB.
const maxFile = 16 << 20

// readRegular reads a file that is one: opening a pipe or a device could wait, or go on,
// for ever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than %d MiB, which no file of settings is", path, maxFile>>20)
	}
	return text, err
}
