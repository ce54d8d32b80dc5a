package checker

import (
	"fmt"
	"regexp"
	"strings"
)

// A tabFinder reads YAML line by line for tabs that Python's yaml refuses and others accept:
// those outside of quotes, comments and texts that lie below a | or >.
type tabFinder struct {
	quote byte // that is open, or 0
	below int  // how far the line with a | or > is indented, -1 where there is none
}

var blockHeader = regexp.MustCompile(`(?:^|[\s:-])[|>][0-9+-]*[ ]*(?:#.*)?\r?$`)

// noStrayTabs returns an error that names the line of the first such tab.
func noStrayTabs(text string) error {
	f := tabFinder{below: -1}
	for i, line := range strings.Split(text, "\n") {
		if f.line(line) {
			return lineError{i + 1, fmt.Errorf("a tab stands where Python's yaml wants spaces")}
		}
	}
	return nil
}

// line reports whether a line has such a tab.
func (f *tabFinder) line(line string) bool {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if f.below >= 0 && (indent > f.below || strings.TrimSpace(line) == "") {
		return false
	}
	f.below = -1
	if f.scan(line) {
		return true
	}
	if f.quote == 0 && blockHeader.MatchString(line) {
		if f.below = indent; strings.ContainsAny(line[indent:indent+1], "|>") {
			f.below = 0 // of what it belongs to nothing is known here
		}
	}
	return false
}

// scan looks for such a tab before a comment.
func (f *tabFinder) scan(line string) bool {
	for i := 0; i < len(line); i++ {
		c := line[i]
		if f.quote != 0 {
			i += f.quoted(c)
			continue
		}
		first := i == 0 || strings.IndexByte(" ,:[{'", line[i-1]) >= 0
		switch {
		case c == '\t':
			return true
		case first && c == '#':
			return false
		case first && (c == '"' || c == '\''):
			f.quote = c
		}
	}
	return false
}

// quoted reads a character in quotes, and returns how many more to pass over.
func (f *tabFinder) quoted(c byte) int {
	switch {
	case f.quote == '"' && c == '\\':
		return 1
	case c == f.quote:
		f.quote = 0
	}
	return 0
}
