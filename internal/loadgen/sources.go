package loadgen

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"io/fs"
	"strings"
	"sync"
)

//go:embed *.go mlperflog/*.go
var sources embed.FS

// Sources returns the SHA-1 sum of each file of the load generator that the program was built from, by a path that begins with a
// slash, as the reference logs those of its own (loadgen_file_sha1; version_generator.py). Tests are left out.
// The map is shared: it must not be changed.
var Sources = sync.OnceValue(func() map[string]string {
	sums, err := SourcesIn(sources)
	if err != nil {
		panic(err) // the files are in the program
	}
	return sums
})

// SourcesIn returns the same sums of the files in a folder.
func SourcesIn(folder fs.FS) (map[string]string, error) {
	sums := map[string]string{}
	for _, pattern := range []string{"*.go", "mlperflog/*.go"} {
		paths, err := fs.Glob(folder, pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := fs.ReadFile(folder, path)
			if err != nil {
				return nil, err
			}
			sum := sha1.Sum(text)
			sums["/"+path] = hex.EncodeToString(sum[:])
		}
	}
	return sums, nil
}
