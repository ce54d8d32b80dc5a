package config

import (
	"fmt"
	"slices"
	"strings"
)

// A SyntaxError is a line of a file, or a flag, that cannot be understood.
type SyntaxError struct {
	Place
	Problem string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%v: %s", e.Place, e.Problem) }

// A KeyError is a name that does not exist.
type KeyError struct {
	Place
	Kind    string   // of the name: "key", "scenario"
	Name    string   // as written
	Nearest string   // the choice that was probably meant; empty if none is near
	Choices []string // all that exist
}

func (e *KeyError) Error() string {
	meant := ""
	if e.Nearest != "" {
		meant = fmt.Sprintf("; did you mean %q?", e.Nearest)
	}
	text := fmt.Sprintf("unknown %s %q%s (known: %s)", e.Kind, e.Name, meant, strings.Join(e.Choices, ", "))
	if e.Source == "" {
		return text
	}
	return e.Place.String() + ": " + text
}

// newKeyError finds the nearest choice itself.
func newKeyError(at Place, kind, name string, choices []string) *KeyError {
	return &KeyError{Place: at, Kind: kind, Name: name, Nearest: nearest(name, choices), Choices: choices}
}

// A Place is where something was written: a line of a file, or a source without
// lines, such as a flag.
type Place struct {
	Source string // a file, or e.g. an environment variable
	Line   int    // counted from 1; 0: the source has no lines
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d", p.Source, p.Line)
}

// maxNameLength is how long a name may be for which near ones are looked for.
const maxNameLength = 100

// nearest returns the choice that differs least from name, if that is not much more
// than a third of it, or else one that begins with name.
func nearest(name string, choices []string) string {
	if len(name) > maxNameLength {
		return ""
	}
	best, least := "", len(name)/3+1
	for _, c := range choices {
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	if i := slices.IndexFunc(choices, func(c string) bool { return strings.HasPrefix(c, name) }); best == "" && i >= 0 && len(name) > 3 {
		best = choices[i]
	}
	return best
}

// editDistance counts the letters to insert, delete or replace, and the neighbours to
// swap (Damerau and Levenshtein, restricted), between a and b.
func editDistance(a, b string) int {
	// rows of the table of distances between prefixes: two above, above, current
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := one[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(one[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}

// sortedUnique returns the names in alphabetical order, each once.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
