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
		conf: &Conf{Name: name, index: map[string]int{}},
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

// tokens splits a line at what C calls white space.
func tokens(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' })
}

type confParser struct {
	conf *Conf
	opts ParseOptions
	keys []key
	at   Place // of the current line
	errs []error
}

func (p *confParser) syntax(format string, args ...any) error {
	return &syntaxError{p.at, fmt.Sprintf(format, args...)}
}

// line reads a line. Of several values the last one counts, as in LoadGen.
func (p *confParser) line(words []string) error {
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	if err := p.form(words); err != nil {
		return err
	}
	entry, err := p.name(words[0])
	if err != nil {
		return err
	}
	matching, err := p.meaning(entry)
	if err != nil || matching == nil {
		return err
	}
	for _, word := range words[2:] {
		entry.Value = word
		if err := p.value(matching, entry); err != nil {
			return err
		}
	}
	if len(words) > 3 {
		p.conf.warn(p.at, "%s has %d values, of which LoadGen takes the last, %s", entry.Name(), len(words)-2, entry.Value)
	}
	return p.add(matching, entry)
}

// form finds lines that are no key = value.
func (p *confParser) form(words []string) error {
	switch {
	case len(words) == 1 || strings.HasPrefix(words[1], "#"):
		return p.syntax("want model.scenario.key = value, got only %q", words[0])
	case words[1] != "=":
		return p.syntax("want an = between spaces after %q, got %q", words[0], words[1])
	case len(words) == 2:
		return p.syntax("%s has no value", words[0])
	}
	return nil
}

// name splits model.scenario.key. The model may contain dots.
func (p *confParser) name(word string) (Entry, error) {
	rest, keyName, ok := cutLast(word)
	model, scenario, ok2 := cutLast(rest)
	if !ok || !ok2 || model == "" || keyName == "" {
		return Entry{}, p.syntax("want model.scenario.key before the =, got %q", word)
	}
	if !slices.Contains(confScenarios(), scenario) {
		return Entry{}, p.unknownScenario(scenario)
	}
	return Entry{Model: model, Scenario: scenario, Key: keyName, Line: p.at.Line}, nil
}

// cutLast cuts s at its last dot.
func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

// confScenarios are the names that files may have, spelled exactly so.
func confScenarios() []string { return []string{singleStream, multiStream, server, offline, "*"} }

func (p *confParser) unknownScenario(name string) error {
	if strings.EqualFold(name, interactive) {
		return p.syntax("Interactive is no scenario of LoadGen: write model-interactive.Server instead")
	}
	return newKeyError(p.at, "scenario", name, confScenarios())
}

// rows are the keys that an entry names, and those of them that LoadGen looks up in its scenario.
func (p *confParser) rows(e Entry) (named, matching []*key) {
	for i := range p.keys {
		k := &p.keys[i]
		if k.name != e.Key || k.optionOnly {
			continue
		}
		named = append(named, k)
		if k.scenario == "" || e.Scenario == "*" || k.scenario == e.Scenario {
			matching = append(matching, k)
		}
	}
	return named, matching
}

// value finds a value that none of the keys can have.
func (p *confParser) value(keys []*key, e Entry) error {
	if strings.HasPrefix(e.Value, "#") {
		return p.syntax("a comment needs a line of its own: LoadGen reads %q as a value", e.Value)
	}
	return p.check(keys, e)
}

// meaning returns the keys that an entry may set; none if it is left out.
func (p *confParser) meaning(e Entry) ([]*key, error) {
	named, matching := p.rows(e)
	switch {
	case len(named) == 0 && p.opts.AllowUnknownKeys:
		p.conf.warn(p.at, "unknown key %q is left out", e.Key)
	case len(named) == 0:
		return nil, newKeyError(p.at, "key", e.Key, keysInFiles(p.keys))
	case len(matching) == 0:
		p.conf.warn(p.at, "%s has no effect: LoadGen does not look it up in %s", e.Key, e.Scenario)
		return named, nil
	}
	return matching, nil
}

// check reports whether a value suits all keys that the entry sets.
func (p *confParser) check(matching []*key, e Entry) error {
	for _, k := range matching {
		if _, err := parseValue(k.kind, e.Value); err != nil {
			return p.syntax("%s: %v", e.Name(), err)
		}
	}
	return nil
}

// add stores an entry, unless the file has it already.
func (p *confParser) add(matching []*key, e Entry) error {
	i, again := p.conf.index[e.Name()]
	if !again {
		p.conf.index[e.Name()] = len(p.conf.entries)
		p.conf.entries = append(p.conf.entries, e)
		return nil
	}
	before := p.conf.entries[i]
	for _, k := range matching {
		old, _ := parseValue(k.kind, before.Value)
		if now, _ := parseValue(k.kind, e.Value); now != old {
			return p.syntax("%s is %s, but line %d says %s", e.Name(), e.Value, before.Line, before.Value)
		}
	}
	return nil
}
