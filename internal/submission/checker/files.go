package checker

import (
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// largestJSON is the largest JSON file that is read. Its values may take forty times as much memory.
const largestJSON = 16 << 20

// readJSON reads a file as Python's json.load does.
func readJSON(t tree.Tree, path string) (python.Value, error) {
	data, err := t.Read(path, largestJSON)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	return python.DecodeJSON(data)
}

// lineOf returns the line that an error of reading names, or 0.
func lineOf(err error) int {
	var syntax *python.SyntaxError
	var encoding *python.EncodingError
	var line lineError
	switch {
	case errors.As(err, &line):
		return line.line
	case errors.As(err, &syntax):
		return syntax.Line
	case errors.As(err, &encoding):
		return encoding.Line
	}
	return 0
}

// eachLine calls each with the lines of a text until it returns false or the text ends. Each
// must not read another text.
func (g *judgement) eachLine(path string, each func(n int, line string) bool) error {
	f, err := g.tree.Open(path)
	if err != nil {
		return err
	}
	g.lines.Reset(f)
	for {
		line, err := g.lines.Next()
		if err == io.EOF {
			return f.Close()
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if !each(g.lines.Line, string(line)) {
			return f.Close()
		}
	}
}

// everywhere are files that may lie in any folder.
var everywhere = []string{"mlperf_log_trace.json", "results.json", ".gitkeep"}

// difference lists files that are missing or too many in a folder.
func difference(have, want, optional []string) (missing, extra []string) {
	return without(want, have, optional), without(have, want, optional, everywhere)
}

// without returns the names that are in none of the lists.
func without(names []string, lists ...[]string) (rest []string) {
	known := slices.Concat(lists...)
	for _, name := range names {
		if !slices.Contains(known, name) {
			rest = append(rest, name)
		}
	}
	return rest
}
