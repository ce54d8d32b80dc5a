package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
	if len(words) == 0 {
		return nil
	}
	if strings.HasPrefix(words[0], "#") {
		p.comment(words)
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

// comment warns of a comment that LoadGen takes for a setting: to it, only a # by itself begins one. What has the form
// of a setting does no harm there, because nobody looks for a model of that name.
func (p *confParser) comment(words []string) {
	if words[0] == "#" || len(words) == 1 || words[1] == "#" {
		return
	}
	harmless := words[1] == "="
	for _, word := range words[2:] {
		_, err := parseReal(word)
		harmless = harmless && err == nil
	}
	if !harmless {
		p.conf.warn(p.at, "LoadGen refuses the whole file because of %q: want a space after the #", words[0])
	}
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

// check reports whether a value suits all keys that the entry sets, but for a 0 that may be of another benchmark.
func (p *confParser) check(matching []*key, e Entry) error {
	for _, k := range matching {
		if _, err := parseValue(k.kind, e.Value); err != nil && !errors.Is(err, errZero) {
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
