package jinja

import (
	"errors"
	"fmt"
	"strings"
)

// What a template may do to write one text.
const (
	maxText     = 16 << 20  // bytes of a text
	maxElements = 1 << 20   // of a list, or characters of a text of which a list is made
	maxWork     = 5_000_000 // steps; some bytes are one too
	maxCalls    = 100       // macros within macros

	bytesOfStep = 64 // that are made or written
)

var (
	errTooLong = fmt.Errorf("a text of more than %d bytes", maxText)
	errTooMany = fmt.Errorf("a list of more than %d elements", maxElements)
	errWork    = errors.New("the template does not come to an end")
)

// A machine is what the scopes of one text share.
type machine struct {
	work, calls int // how much is left, and how much there is
}

// spend counts work.
func (m *machine) spend(n int) error {
	if m.work -= n; m.work < 0 {
		return errWork
	}
	return nil
}

// A scope has the variables of a loop, a macro or the template, and what is written.
type scope struct {
	*machine
	outer     *scope
	variables map[string]any
	out       *strings.Builder
}

// inner is a scope within another.
func (s *scope) inner() *scope {
	return &scope{machine: s.machine, outer: s, variables: make(map[string]any), out: s.out}
}

// find returns a variable.
func (s *scope) find(name string) (any, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// write appends to the text.
func (s *scope) write(text string) error {
	if s.out.Len()+len(text) > maxText {
		return errTooLong
	}
	s.out.WriteString(text)
	return s.spend(len(text) / bytesOfStep)
}

// Render writes the text of a template with values for its names: texts, numbers, booleans,
// nil, and slices and maps of those. Keys of maps come in order, role
// and content first. Where the template itself calls for an error, or does what it may not, the
// error is an *Error.
func (t *Template) Render(values map[string]any) (string, error) { return t.render(values, maxWork) }

func (t *Template) render(values map[string]any, work int) (string, error) {
	globals := &scope{machine: &machine{work: work}, variables: make(map[string]any), out: new(strings.Builder)}
	for name, f := range functions {
		globals.variables[name] = f
	}
	top := globals.inner()
	for name, value := range values {
		v, err := valueOf(value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		globals.variables[name] = v
	}
	if err := run(t.body, top); err != nil {
		return "", err
	}
	return top.out.String(), nil
}
