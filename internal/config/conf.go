package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Place is a line of a file, or a source without lines, such as a flag.
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

// A syntaxError is the error of a line of a file, or of a flag.
type syntaxError struct {
	Place
	Problem string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%v: %s", e.Place, e.Problem) }

// A KeyError is the error of an unknown name.
type KeyError struct {
	Place
	Kind    string   // of the name: "key", "scenario"
	Name    string   // as written
	Choices []string // all known names
	// LeftOut says that ParseOptions.AllowUnknownKeys would leave it out, as LoadGen does.
	LeftOut bool
}

func (e *KeyError) Error() string {
	meant := ""
	if nearest := userinput.Nearest(e.Name, e.Choices); nearest != "" {
		meant = fmt.Sprintf("; did you mean %q?", nearest)
	}
	text := fmt.Sprintf("unknown %s %q%s (known: %s)", e.Kind, e.Name, meant, strings.Join(e.Choices, ", "))
	if e.Source == "" {
		return text
	}
	return e.Place.String() + ": " + text
}

// An Entry is a setting in a file. Model and Scenario may be "*".
type Entry struct {
	Model, Scenario, Key string
	Value                string // as written
	Line                 int
}

// Name returns the key in full, as files spell it.
func (e Entry) Name() string { return e.Model + "." + e.Scenario + "." + e.Key }

// A Conf is the content of a file of settings.
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

const maxFile = 16 << 20 // bytes of a file of settings; mlperf.conf has 10 KB

// ReadConf reads and parses a file.
func ReadConf(path string, opts ParseOptions) (*Conf, error) {
	text, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	return ParseConf(path, text, opts)
}

const (
	byteOrderMark = "\uFEFF" // that some editors put before a text
	maxErrors     = 20       // that are reported one by one; a file with more is not a file of settings
)

// ParseConf parses the text of a file. It reports all errors, each with its line.
func ParseConf(name string, text []byte, opts ParseOptions) (*Conf, error) {
	p := &confParser{conf: &Conf{Name: name, Text: text, index: map[string]int{}}, opts: opts}
	p.at.Source = name
	text, marked := bytes.CutPrefix(text, []byte(byteOrderMark))
	if marked {
		p.conf.warn(Place{name, 1}, "the byte order mark before the first line is left out: LoadGen would take it for a part of the line and ignore that")
	}
	var errs []error
	for line := range strings.Lines(string(text)) {
		p.at.Line++
		// C's white space separates words.
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' })
		if err := p.line(words); err != nil {
			errs = append(errs, err)
		}
	}
	if n := len(errs); n > maxErrors {
		errs = append(errs[:maxErrors], &syntaxError{Place{Source: name}, fmt.Sprintf("%d more lines are wrong", n-maxErrors)})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p.conf, nil
}

// Lookup finds a setting for a model and a scenario in LoadGen's order: for both, for any model, for any scenario, for all. A
// model may have several names, and the first one in the file counts.
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

// models lists the names that the file has settings for, each once, without *.
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

type confParser struct {
	conf *Conf
	opts ParseOptions
	at   Place // of the current line
}

func (p *confParser) syntax(format string, args ...any) error {
	return &syntaxError{p.at, fmt.Sprintf(format, args...)}
}

// line reads a line. The last of several values counts, as in LoadGen.
func (p *confParser) line(words []string) error {
	switch {
	case len(words) == 0:
		return nil
	case strings.HasPrefix(words[0], "#"):
		p.comment(words)
		return nil
	case len(words) == 1 || strings.HasPrefix(words[1], "#"):
		return p.syntax("expected model.scenario.key = value, got only %q", words[0])
	case words[1] != "=":
		return p.syntax("expected an = between spaces after %q, got %q", words[0], words[1])
	case len(words) == 2:
		return p.syntax("%s has no value", words[0])
	}
	e, err := p.name(words[0])
	if err != nil {
		return err
	}
	var named, matching []*loadgen.Setting // the keys of the name, and those that LoadGen looks up in the scenario
	for _, k := range loadgen.Settings() {
		if k.Key != e.Key || !inFiles(k) {
			continue
		}
		named = append(named, k)
		if k.Scenario == "" || e.Scenario == "*" || k.Scenario == e.Scenario {
			matching = append(matching, k)
		}
	}
	switch {
	case len(named) == 0 && formerKeys[e.Key] != "":
		p.conf.warn(p.at, "%s is left out: LoadGen does not read it, its key is %s", e.Key, formerKeys[e.Key])
		return nil
	case len(named) == 0 && p.opts.AllowUnknownKeys:
		p.conf.warn(p.at, "unknown key %q is left out", e.Key)
		return nil
	case len(named) == 0:
		var names []string
		for _, k := range loadgen.Settings() {
			if inFiles(k) {
				names = append(names, k.Key)
			}
		}
		return &KeyError{p.at, "key", e.Key, sortedUnique(names), true}
	case len(matching) == 0:
		p.conf.warn(p.at, "%s has no effect: LoadGen does not look it up in %s", e.Key, e.Scenario)
		matching = named
	}
	for _, e.Value = range words[2:] {
		if strings.HasPrefix(e.Value, "#") {
			return p.syntax("a comment needs a line of its own: LoadGen reads %q as a value", e.Value)
		}
		for _, k := range matching {
			if _, err := parseValue(k.Kind, e.Value); err != nil && !errors.Is(err, errZero) { // a 0 may be of another benchmark
				return p.syntax("%s: %v", e.Name(), err)
			}
		}
	}
	if len(words) > 3 {
		p.conf.warn(p.at, "%s has %d values, LoadGen takes the last, %s", e.Name(), len(words)-2, e.Value)
	}
	i, again := p.conf.index[e.Name()]
	if !again {
		p.conf.index[e.Name()] = len(p.conf.entries)
		p.conf.entries = append(p.conf.entries, e)
		return nil
	}
	before := p.conf.entries[i]
	for _, k := range matching {
		old, _ := parseValue(k.Kind, before.Value)
		if now, _ := parseValue(k.Kind, e.Value); now != old {
			p.conf.warn(p.at, "%s = %s replaces line %d, %s: LoadGen takes the last", e.Name(), e.Value, before.Line, before.Value)
			p.conf.entries[i] = e
			break
		}
	}
	return nil
}

// inFiles reports whether files may have a setting; LoadGen ignores some of those that official files have.
func inFiles(k *loadgen.Setting) bool {
	return k.Source == loadgen.FromFiles || k.Source == loadgen.FromMLPerfConf
}

// formerKeys are keys of published files that no LoadGen of today reads, mostly the names of fields of TestSettings in older
// rounds, and what it reads instead.
var formerKeys = map[string]string{
	"performance_sample_count":         "performance_sample_count_override",
	"multi_stream_samples_per_query":   "samples_per_query",
	"multi_stream_target_qps":          "target_qps",
	"multi_stream_target_latency":      "target_latency",
	"multi_stream_max_async_queries":   "max_async_queries",
	"multi_stream_expected_latency_ns": "target_latency",
	"single_stream_target_latency":     "target_latency",
	"single_stream_expected_latency":   "target_latency",
	"server_target_qps":                "target_qps",
	"server_target_latency":            "target_latency",
	"server_target_latency_percentile": "target_latency_percentile",
	"server_max_async_queries":         "max_async_queries",
	"offline_expected_qps":             "target_qps",
	"offline_target_qps":               "target_qps",
	"expected_qps":                     "target_qps",
	"min_duration_ms":                  "min_duration",
	"max_duration_ms":                  "max_duration",
}

// comment warns of a comment that LoadGen takes for a setting: there only a # by itself begins one. If it has the form of a
// setting it does no harm, as its model does not exist.
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
		p.conf.warn(p.at, "LoadGen refuses the whole file because of %q: put a space after the #", words[0])
	}
}

// confScenarios are the names that files may have, spelled exactly so.
var confScenarios = []string{loadgen.SingleStream.String(), loadgen.MultiStream.String(), loadgen.Server.String(), loadgen.Offline.String(), "*"}

const (
	interactive       = "Interactive"  // Server, with the settings of another model:
	interactiveSuffix = "-interactive" // behind the model's name
)

// name splits model.scenario.key. The model may contain dots.
func (p *confParser) name(word string) (Entry, error) {
	parts := strings.Split(word, ".")
	n := len(parts)
	if n < 3 || strings.Join(parts[:n-2], ".") == "" || parts[n-1] == "" {
		return Entry{}, p.syntax("expected model.scenario.key before the =, got %q", word)
	}
	e := Entry{Model: strings.Join(parts[:n-2], "."), Scenario: parts[n-2], Key: parts[n-1], Line: p.at.Line}
	switch {
	case strings.EqualFold(e.Scenario, interactive):
		return e, p.syntax("LoadGen has no scenario Interactive: write model-interactive.Server instead")
	case !slices.Contains(confScenarios, e.Scenario):
		return e, &KeyError{Place: p.at, Kind: "scenario", Name: e.Scenario, Choices: confScenarios}
	}
	return e, nil
}
