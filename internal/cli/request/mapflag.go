package request

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// A MapFlag is repeatable: key=value, each key once.
type MapFlag map[string]string

// String implements pflag.Value.
func (m *MapFlag) String() string { return "" }

// Type implements pflag.Value.
func (*MapFlag) Type() string { return cli.KeyValue }

// Set implements pflag.Value.
func (m *MapFlag) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return errors.New("want key=value")
	}
	if _, twice := (*m)[key]; twice {
		return fmt.Errorf("%s was given before", key)
	}
	if *m == nil {
		*m = MapFlag{}
	}
	(*m)[key] = value
	return nil
}
