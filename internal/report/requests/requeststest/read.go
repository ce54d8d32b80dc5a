// Package requeststest reads requests.jsonl.gz for tests: programs of others read it, and none of this one.
//
//	header, err := requeststest.Read("out/requests.jsonl.gz", func(r requests.Request) error { … })
package requeststest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report/requests"
)

// mostLine bounds a line: an answer has at most 8 million pieces.
const mostLine = 256 << 20

// Read reads a file and calls f with each request.
func Read(path string, f func(requests.Request) error) (requests.Header, error) {
	file, err := fileio.Open(path)
	if err != nil {
		return requests.Header{}, err
	}
	defer file.Close()
	h, err := Decode(file, f)
	if err != nil {
		err = fmt.Errorf("reading %s: %w", path, err)
	}
	return h, err
}

// Decode reads what requests.Write writes, and calls f with each request.
func Decode(r io.Reader, f func(requests.Request) error) (h requests.Header, err error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return h, err
	}
	lines := bufio.NewScanner(packed)
	lines.Buffer(nil, mostLine)
	n := 0
	for ; lines.Scan(); n++ {
		if n == 0 {
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				return h, fmt.Errorf("line 1: %w", err)
			}
			if h.Schema != requests.Schema {
				return h, fmt.Errorf("line 1: the schema is %q: must be %q", h.Schema, requests.Schema)
			}
			continue
		}
		var one requests.Request
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return h, fmt.Errorf("line %d: %w", n+1, err)
		}
		if err := f(one); err != nil {
			return h, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if err := lines.Err(); err != nil {
		return h, fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return h, fmt.Errorf("the file is empty: its first line must have the schema %q", requests.Schema)
	}
	return h, nil
}
