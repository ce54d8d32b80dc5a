package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A syntaxError is a line of a file, or a flag, that cannot be understood.
type syntaxError struct {
	Place
	Problem string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%v: %s", e.Place, e.Problem) }

// A keyError is a name that does not exist.
type keyError struct {
	Place
	Kind    string   // of the name: "key", "scenario"
	Name    string   // as written
	Nearest string   // the choice that was probably meant; empty if none is near
	Choices []string // all that exist
}

func (e *keyError) Error() string {
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
func newKeyError(at Place, kind, name string, choices []string) *keyError {
	return &keyError{Place: at, Kind: kind, Name: name, Nearest: userinput.Nearest(name, choices), Choices: choices}
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

// sortedUnique returns the names in alphabetical order, each once.
func sortedUnique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
