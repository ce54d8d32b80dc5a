package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/config"
)

// optionFile is the YAML file with flags. MLPERF_CONFIG names another.
const optionFile = "mlperf.yaml"

// variables are those of the environment that are no flags.
var variables = []string{"MLPERF_CONFIG", "MLPERF_CACHE_DIR", "MLPERF_DATA_DIR", "MLPERF_ORT_LIB", "MLPERF_API_KEY", "MLPERF_LONG_TESTS"}

// Before is what comes before every verb: flags from elsewhere, and those that all verbs have.
func Before(cmd *cobra.Command) error {
	if err := settle(cmd); err != nil {
		return err
	}
	_, err := progress.ParseStyle(cmd.Flag(progressFlag).Value.String())
	if err != nil {
		return Usage("--%s: %w", progressFlag, err)
	}
	return nil
}

// settle sets the flags that the command line does not have from the environment and from
// mlperf.yaml, notes where each comes from, and warns of variables that nothing reads.
func settle(cmd *cobra.Command) error {
	flags := cmd.Flags()
	var options []config.Option
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			set := func(value string) error { return reasonOf(flags.Set(f.Name, value)) }
			options = append(options, config.Option{Name: f.Name, Changed: f.Changed, Repeats: repeats(f), Set: set})
		}
	})
	file := config.OptionFile{Path: optionFile, Known: allFlags(cmd.Root()), Variables: variables}
	if path := os.Getenv("MLPERF_CONFIG"); path != "" {
		file.Path, file.Required = path, true
	}
	merged, err := config.MergeOptions(options, file)
	if err != nil {
		return Usage("%w", err)
	}
	for _, w := range merged.Warnings {
		_ = Say(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	for _, o := range options {
		if origin := merged.Origin(o.Name); origin != config.Default {
			if err := flags.SetAnnotation(o.Name, originKey, []string{origin}); err != nil {
				return err
			}
		}
	}
	return nil
}

// repeats reports whether a flag may be given several times.
func repeats(f *pflag.Flag) bool {
	_, list := f.Value.(pflag.SliceValue)
	return list || f.Value.Type() == KeyValue
}

// KeyValue is the type of flags that take key=value, again and again.
const KeyValue = "key=value"

// allFlags lists the flags of all commands: mlperf.yaml may have any of them.
func allFlags(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, sub := range cmd.Commands() {
		names = append(names, allFlags(sub)...)
	}
	return names
}
