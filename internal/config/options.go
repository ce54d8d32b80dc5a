package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An Option is a flag of a command. The environment and mlperf.yaml may set it too.
type Option struct {
	Name    string // without dashes in front: target-qps
	Changed bool   // given on the command line, which has it set
	Repeats bool   // may be given several times: a list gives each of its values
	// Set parses and stores a value, and where it comes from: environment MLPERF_TARGET_QPS, or mlperf.yaml: target-qps.
	Set func(value, origin string, role limitation.Role) error
}

// OptionFile is mlperf.yaml.
type OptionFile struct {
	Path      string   // empty: none
	Required  bool     // an error if there is no such file
	Known     []string // flags of all commands, which the file may have
	Variables []string // of the environment, which are not flags
}

const envPrefix = "MLPERF"

// MergeOptions sets every option that the command line does not have from the
// environment (MLPERF_TARGET_QPS for target-qps), or else from the file. Unknown keys
// of the file are errors; unknown variables are warnings, because other programs may have
// some of that prefix.
func MergeOptions(options []Option, file OptionFile) (warnings []string, err error) {
	for _, o := range options {
		file.Known = append(slices.Clip(file.Known), o.Name)
	}
	var values map[string]any
	if file.Path != "" {
		text, err := fileio.ReadFile(file.Path, maxFile)
		if errors.Is(err, fs.ErrNotExist) && !file.Required {
			text, err = nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading options: %w", err)
		}
		if values, err = parseOptionFile(file.Path, text, file.Known); err != nil {
			return nil, err
		}
	}
	v := viper.New()
	if err := v.MergeConfigMap(values); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file.Path, err)
	}
	var errs []error
	for _, o := range options {
		if !o.Changed {
			errs = append(errs, merge(v, o, file.Path))
		}
	}
	return strayVariables(file.Known, file.Variables), errors.Join(errs...)
}

func merge(v *viper.Viper, o Option, path string) error {
	variable := variableOf(o.Name)
	if err := v.BindEnv(o.Name, variable); err != nil {
		return fmt.Errorf("reading the environment: %w", err)
	}
	if !v.IsSet(o.Name) {
		return nil
	}
	origin, role := path+": "+o.Name, limitation.OptionFile
	if os.Getenv(variable) != "" { // viper does not tell which of its sources a value is of
		origin, role = "environment "+variable, limitation.Environment
	}
	texts := []string{fmt.Sprint(v.Get(o.Name))}
	if list, ok := v.Get(o.Name).([]string); ok && o.Repeats {
		texts = list
	} else if ok {
		texts = []string{strings.Join(list, ",")}
	}
	for _, text := range texts {
		if err := o.Set(text, origin, role); err != nil {
			return &userinput.Error{Field: strings.ReplaceAll(o.Name, "-", "_"), Origin: origin, Err: err}
		}
	}
	return nil
}

func variableOf(option string) string {
	return envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(option, "-", "_"))
}

// strayVariables warns of variables that nothing reads.
func strayVariables(options, others []string) []string {
	known := slices.Clone(others)
	for _, option := range options {
		known = append(known, variableOf(option))
	}
	var warnings []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix+"_") || slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("environment variable %s is not used", name)
		if near := userinput.Nearest(name, known); userinput.Distance(name, near) <= 2 {
			text += fmt.Sprintf("; did you mean %s?", near)
		}
		warnings = append(warnings, text)
	}
	slices.Sort(warnings)
	return warnings
}

// parseOptionFile reads a flat YAML document whose keys are names of options, with
// hyphens or underscores.
func parseOptionFile(path string, text []byte, known []string) (map[string]any, error) {
	decoder, err := viper.NewCodecRegistry().Decoder("yaml")
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	document := map[string]any{}
	if err := decoder.Decode(text, document); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	at := Place{Source: path}
	if line := secondDocument(text); line > 0 {
		return nil, &syntaxError{Place{path, line}, "a second document begins, which nothing would read"}
	}
	values := map[string]any{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(document)) {
		option := strings.ReplaceAll(name, "_", "-")
		value, err := optionValue(document[name])
		switch _, twice := values[option]; {
		case !slices.Contains(known, option):
			errs = append(errs, &KeyError{Place: at, Kind: "key", Name: name, Choices: sortedUnique(slices.Clone(known))})
		case twice:
			errs = append(errs, &syntaxError{at, option + " is given twice, with hyphens and with underscores"})
		case err != nil:
			errs = append(errs, &syntaxError{at, fmt.Sprintf("%s: %v", name, err)})
		}
		values[option] = value
	}
	return values, errors.Join(errs...)
}

// secondDocument returns the line at which another document begins after one with keys; 0: none.
func secondDocument(text []byte) (line int) {
	begun := false
	for number, l := range strings.Split(string(text), "\n") {
		l = strings.TrimRight(l, " \t\r")
		with := strings.HasPrefix(l, "--- ") // and content
		marker := with || l == "---" || l == "..."
		content := with || !marker && l != "" && l[0] != '#' && l[0] != '%'
		if marker && begun && line == 0 {
			line = number + 1
		}
		if content && line > 0 {
			return line
		}
		begun = begun || content
	}
	return 0
}

// optionValue writes a YAML value as a flag would have it: a text, or the texts of a list.
func optionValue(v any) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return optionText(v)
	}
	items := make([]string, len(list))
	for i, item := range list {
		text, err := optionText(item)
		if err != nil {
			return nil, err
		}
		items[i] = text
	}
	return items, nil
}

// optionText writes a YAML value as a flag would have it.
func optionText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case nil:
		return "", errors.New("has no value")
	}
	return "", errors.New("expected one value or a list of values")
}
