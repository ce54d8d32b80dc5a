package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/suite"
)

// completeValues has shells complete the values of flags, by the name of the flag, and the arguments of verbs.
func completeValues(root *cobra.Command) {
	words := func(list ...string) func() []string { return func() []string { return list } }
	flags := map[string]func() []string{
		"model":     modelNames,
		"only":      modelNames,
		"scenario":  words("single-stream", "multi-stream", "server", "offline", "interactive", "SingleStream", "MultiStream"),
		"mode":      words("performance", "accuracy", "submission", "find-peak"),
		"rules":     config.Versions,
		"division":  rounds.Divisions,
		"precision": words("fp32", "fp16", "bf16", "int8", "int4"),
		"device":    func() []string { return catalogue.Backends()[0].Devices },
		"backend": func() []string {
			return namesOf(catalogue.Backends(), nil, func(b catalogue.Backend) string { return b.Name })
		},
		"profile":            func() []string { return append([]string{run.Auto}, filesBelow(".", ".json", 1)...) },
		"target-latency":     words(autoLatency),
		"execution":          words(sequential, parallel),
		"graph-optimization": words("none", "basic", "extended", "all"),
		"progress":           progress.Styles,
		"power":              words("auto", "rapl", "nvml", "ptd:", "file:"),
		"route":              words("chat", "completions"),
	}
	arguments := map[string]func() []string{
		"mlperf show": modelNames, "mlperf explain": runFolders, "mlperf accuracy": runFolders, "mlperf report": runFolders,
		"mlperf suite run": suite.Names, "mlperf suite show": suite.Names, "mlperf synth model": modelNames, "mlperf synth dataset": datasetNames,
	}
	for _, cmd := range commandsBelow(root) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if list, ok := flags[f.Name]; ok {
				// An error says that the flag is completed in its own way already.
				_ = cmd.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
					return inCase(list(), begun), cobra.ShellCompDirectiveNoFileComp
				})
			}
		})
		if list, ok := arguments[cmd.CommandPath()]; ok {
			cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return inCase(list(), begun), cobra.ShellCompDirectiveDefault
			}
		}
	}
}

// inCase are the words that begin so in any case, with the beginning as it was typed: shells drop the others.
func inCase(words []string, begun string) (list []string) {
	for _, w := range words {
		if len(w) >= len(begun) && strings.EqualFold(w[:len(begun)], begun) {
			list = append(list, begun+w[len(begun):])
		}
	}
	return list
}

// completeWith has shells complete the value of a flag of one command with one of a few words.
func completeWith(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the command has no such flag
	}
}

// namesOf are the names of a list, once each. A list that cannot be read has none: the shell completes nothing.
func namesOf[T any](list []T, _ error, name func(T) string) (names []string) {
	for _, one := range list {
		names = append(names, name(one))
	}
	return slices.Compact(names)
}

func modelNames() []string {
	list, err := catalogue.Models()
	return namesOf(list, err, func(m catalogue.Model) string { return m.Name + "\t" + m.Title })
}

func datasetNames() []string {
	list, err := catalogue.Datasets()
	return namesOf(list, err, func(d catalogue.Dataset) string { return d.Name })
}

// runFolders are the folders of kept runs, the newest first.
func runFolders() (list []string) {
	files := filesBelow(outdir.Root, report.FileName, 8)
	slices.SortStableFunc(files, func(a, b string) int {
		return strings.Compare(filepath.Base(filepath.Dir(b)), filepath.Base(filepath.Dir(a)))
	})
	for _, f := range files {
		list = append(list, filepath.Dir(f))
	}
	return list
}

// filesBelow lists files whose names end so, down to a depth, and at most 200: a user waits for the completion.
func filesBelow(root, ending string, depth int) (list []string) {
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return filepath.SkipDir
		case len(list) >= 200:
			return filepath.SkipAll
		case d.IsDir() && path != root && strings.Count(path, string(filepath.Separator)) >= depth:
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ending):
			list = append(list, path)
		}
		return nil
	})
	return list
}
