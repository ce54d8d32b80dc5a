package config

import "github.com/mlperf-go/mlperf/internal/fileio"

// maxFile is how long a file of settings may be. mlperf.conf has 10 KB.
const maxFile = 16 << 20

// readSettings reads a file of settings.
func readSettings(path string) ([]byte, error) { return fileio.ReadFile(path, maxFile) }
