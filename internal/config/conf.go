package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An Entry is a setting in a file. Model and Scenario may be "*".
type Entry struct {
	Model, Scenario, Key string
	Value                string // as written
	Line                 int
}

// Name returns the key in full, as files spell it.
func (e Entry) Name() string { return e.Model + "." + e.Scenario + "." + e.Key }

// A Conf is what is in a file of settings.
type Conf struct {
	Name     string // of the file
	Text     []byte // of the file, as it was read
	Warnings []string
	entries  []Entry // in the order of the file, each name once
	index    map[string]int
}

// ParseOptions are how strictly a file is read.
type ParseOptions struct {
	AllowUnknownKeys bool // warn of them and leave them out
}

// ReadConf reads and parses a file.
func ReadConf(path string, opts ParseOptions) (*Conf, error) {
	text, err := readSettings(path)
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	return ParseConf(path, text, opts)
}

// ParseConf parses the text of a file. It reports what is wrong with it, each with
// its line, as *syntaxError and *keyError joined; it goes on after an error.
func ParseConf(name string, text []byte, opts ParseOptions) (*Conf, error) {
	p := &confParser{
		conf: &Conf{Name: name, Text: text, index: map[string]int{}},
		opts: opts,
		keys: keys(),
	}
	p.at.Source = name
	text, marked := bytes.CutPrefix(text, []byte(byteOrderMark))
	if marked {
		p.conf.warn(Place{name, 1}, "the byte order mark before the first line is left out: LoadGen would take it for a part of the line and ignore that")
	}
	for line := range strings.Lines(string(text)) {
		p.at.Line++
		if err := p.line(tokens(line)); err != nil {
			p.errs = append(p.errs, err)
		}
	}
	if n := len(p.errs); n > maxErrors {
		more := &syntaxError{Place{Source: name}, fmt.Sprintf("%d more lines are wrong", n-maxErrors)}
		p.errs = append(p.errs[:maxErrors], more)
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return p.conf, nil
}

// byteOrderMark is what some editors put before a text.
const byteOrderMark = "\uFEFF"

// maxErrors is how many errors of a file are reported one by one. More of them mean
// that it is not a file of settings at all.
const maxErrors = 20

// Lookup finds a setting for a model and a scenario in LoadGen's order: for exactly
// these, for the scenario, for the model, for all. Of several names of the model the first
// counts that the file has.
func (c *Conf) Lookup(scenario, key string, model ...string) (Entry, bool) {
	any := []string{"*"}
	for _, pattern := range [...]struct {
		names    []string
		scenario string
	}{{model, scenario}, {any, scenario}, {model, "*"}, {any, "*"}} {
		for _, name := range pattern.names {
			if i, ok := c.index[name+"."+pattern.scenario+"."+key]; ok {
				return c.entries[i], true
			}
		}
	}
	return Entry{}, false
}

// Knows reports whether the file has a setting for the model by name.
func (c *Conf) Knows(model string) bool {
	return slices.ContainsFunc(c.entries, func(e Entry) bool { return e.Model == model })
}

// models are the names that the file has settings for, each once, without *.
func (c *Conf) models() []string {
	var names []string
	for _, e := range c.entries {
		if e.Model != "*" && !slices.Contains(names, e.Model) {
			names = append(names, e.Model)
		}
	}
	return names
}

// Format returns the settings as the text of a file.
func (c *Conf) Format() []byte {
	var b strings.Builder
	for _, e := range c.entries {
		fmt.Fprintf(&b, "%s = %s\n", e.Name(), e.Value)
	}
	return []byte(b.String())
}

func (c *Conf) at(e Entry) Place { return Place{c.Name, e.Line} }

func (c *Conf) warn(at Place, format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf("%v: ", at)+fmt.Sprintf(format, args...))
}
