package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// A sumList is SHA256SUMS: what was installed, and how it was then. It grows while
// files are installed, so that the next run knows them.
type sumList struct {
	root *os.Root
	mu   sync.Mutex
	sums map[string]string // path → SHA-256
	file *os.File
}

// openSums reads the list and opens it for further lines. A line that was cut off is
// dropped.
func openSums(root *os.Root) (*sumList, error) {
	l := &sumList{root: root, sums: map[string]string{}}
	data, err := readFile(root, sumsFile)
	if ignoreMissing(err) != nil {
		return nil, err
	}
	l.sums = parseSums(data)
	return l, l.rewrite()
}

// parseSums reads lines of sha256sum. What is not one is left out, and what has no end: its name may be cut off.
func parseSums(data []byte) map[string]string {
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line, whole := strings.CutSuffix(line, "\n")
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\r"), "  ")
		if ok && whole && len(sum) == 64 && checkHex("", sum, 32) == nil && checkPath(name) == nil {
			sums[name] = sum
		}
	}
	return sums
}

// rewrite replaces the file by a sorted one and opens it for appending.
func (l *sumList) rewrite() error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(l.sums)) {
		fmt.Fprintf(&b, "%s  %s\n", l.sums[name], name)
	}
	if err := l.close(); err != nil {
		return err
	}
	if err := writeFile(l.root, sumsFile, b.Bytes()); err != nil {
		return err
	}
	var err error
	l.file, err = l.root.OpenFile(sumsFile, os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// add notes that a file was installed.
func (l *sumList) add(name, sum string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sums[name] = sum
	_, err := fmt.Fprintf(l.file, "%s  %s\n", sum, name)
	return err
}

// get returns the checksum with which a file was installed; "" if it was not.
func (l *sumList) get(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums[name]
}

func (l *sumList) names() []string { return slices.Sorted(maps.Keys(l.sums)) }

func (l *sumList) close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// verify checks all files of the list. problem is told of each that is wrong. It
// returns how many there are, and their size.
func (l *sumList) verify(ctx context.Context, obs Observer, problem func(text string)) (files int, size int64, err error) {
	names := l.names()
	var mu sync.Mutex
	done := 0
	err = workerpool.Each(ctx, 0, len(names), func(ctx context.Context, i int) error {
		got, err := sumFile(ctx, l.root, names[i], nil)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		obs.Items(done, len(names))
		switch {
		case errors.Is(err, os.ErrNotExist):
			problem(names[i] + " is missing")
		case err != nil:
			problem(err.Error())
		case got.SHA256 != l.sums[names[i]]:
			problem(names[i] + " is not as it was installed: its SHA-256 has changed")
		default:
			size += got.Size
		}
		return nil
	})
	return len(names), size, err
}
