package request

import (
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/run"
)

// OptionFlags are the flags of options that models declare: how they are fed, read or scored.
type OptionFlags []*pflag.Flag

// Define defines the flags of some options.
func (o *OptionFlags) Define(f *pflag.FlagSet, options []run.Option) {
	for _, option := range options {
		if option.Switch {
			f.Bool(option.Name, false, option.Help)
		} else {
			f.String(option.Name, "", option.Help)
		}
		*o = append(*o, f.Lookup(option.Name))
	}
}

// Values are the options that were given.
func (o OptionFlags) Values() map[string]string {
	values := map[string]string{}
	for _, f := range o {
		if f.Changed {
			values[f.Name] = f.Value.String()
		}
	}
	return values
}
