package workload

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An Option is an option of Open, Score or NewReader. Options of one name mean the same in all models.
type Option struct {
	Name    string   // lower case, with hyphens
	Aliases []string // other spellings, those of the official scripts
	Kind    OptionKind
	Help    string   // one line, lower case, no full stop
	Choices []string // the only values of a text, in any case (nil: any), or those that a Bool has beside true and false
	Scoring bool     // it says how a log is scored, also where it is an option of a run
	// AccuracyFile is a file that an accuracy run leaves, which the performance run of the same result reads by this option, unless DataFile is
	// beside the data: accuracy goes first, and does not take the option. Empty: it has no such file.
	AccuracyFile, DataFile string
}

// An OptionKind is what the value of an option is.
type OptionKind uint8

// The kinds.
const (
	Text OptionKind = iota
	Integer
	Bool
	Path // of a file or a folder
	List // of values with commas between; its flag is repeatable
)

// OutputOption is the name of the option that says which outputs of a model are read.
const OutputOption = "model-output"

// ChooseOutput is that option.
func ChooseOutput() Option {
	return Option{Name: OutputOption,
		Help: "name of the model's output to read, or names, separated by commas: of a detector those of boxes, scores, labels " +
			"and perhaps their number, of BERT those of starts and ends (default: inferred)"}
}

// TokenizerOption is the name of the option that names the tokenizer of a language model.
const TokenizerOption = "tokenizer"

// ChooseTokenizer is that option.
func ChooseTokenizer() Option {
	return Option{Name: TokenizerOption, Kind: Path,
		Help: "the model's tokenizer.json (default: the one beside the data, or else the model); prompts that are made up: lengths are in its tokens"}
}

// Values are the options of a user, by name.
type Values map[string]string

// CheckOptions finds what a model cannot be opened with, before anything is opened. Errors
// have the name of the option as their field.
func (m Model) CheckOptions(v Values) error { return m.check(m.Options, v) }

// CheckScoreOptions finds what the model's logs cannot be scored with.
func (m Model) CheckScoreOptions(v Values) error { return m.check(m.ScoreOptions, v) }

// CheckReaderOptions finds how files cannot be made into inputs of the model.
func (m Model) CheckReaderOptions(v Values) error { return m.check(m.ReaderOptions, v) }

// Shared are the options that a run and the score of its log have in common, for example a tokenizer.
func (m Model) Shared(run Values) Values {
	shared := Values{}
	for _, o := range m.ScoreOptions {
		if v, given := run[o.Name]; given {
			shared[o.Name] = v
		}
	}
	return shared
}

// AfterAccuracy reports whether a performance run reads what the accuracy run of the same result leaves.
func (m Model) AfterAccuracy() bool {
	return slices.ContainsFunc(m.RemoteOptions, func(o Option) bool { return o.AccuracyFile != "" })
}

// FromAccuracy are a user's options with the defaults that a performance run has from an accuracy run in a folder, or scored, without them.
func (m Model) FromAccuracy(given Values, folder, dataset string, scored bool) Values {
	v := Values{}
	maps.Copy(v, given)
	for _, o := range m.RemoteOptions {
		switch {
		case o.AccuracyFile == "":
		case scored:
			delete(v, o.Name)
		case v[o.Name] == "" && (dataset == "" || !fileio.Exists(filepath.Join(dataset, o.DataFile))):
			v[o.Name] = filepath.Join(folder, o.AccuracyFile)
		}
	}
	return v
}

func (m Model) check(options []Option, values Values) error {
	var errs []error
	for name, value := range values {
		i := slices.IndexFunc(options, func(o Option) bool { return o.Name == name })
		if i < 0 {
			errs = append(errs, userinput.Errorf(name, "%s has no such option", m.Name))
			continue
		}
		if err := options[i].check(value); err != nil {
			errs = append(errs, userinput.Wrap(name, err))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// check looks at a value alone.
func (o Option) check(value string) error {
	var err error
	switch o.Kind {
	case Integer:
		if _, err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
	case Bool:
		if slices.Contains(o.Choices, value) {
			return nil
		}
		if _, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		return nil
	}
	known := func(choice string) bool { return strings.EqualFold(choice, value) }
	if len(o.Choices) > 0 && !slices.ContainsFunc(o.Choices, known) {
		return fmt.Errorf("%q is not known: must be one of %s", value, strings.Join(o.Choices, ", "))
	}
	return nil
}

// Integer returns an option that is a number; nil if it is not set.
func (v Values) Integer(name string) (*int, error) {
	text, ok := v[name]
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, userinput.Errorf(name, "%q is not a whole number", text)
	}
	return &n, nil
}

// Bool returns an option that is on or off; nil if it is not set.
func (v Values) Bool(name string) (*bool, error) {
	text, ok := v[name]
	if !ok {
		return nil, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return nil, userinput.Errorf(name, "%q is neither true nor false", text)
	}
	return &on, nil
}

// On reports whether a switch was given and is on.
func (v Values) On(name string) (bool, error) {
	on, err := v.Bool(name)
	return on != nil && *on, err
}
