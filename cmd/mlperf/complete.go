package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/suite"
)

// values are the functions that complete values of flags, by name of the flag.
func values() map[string]func() []string {
	of := func(list ...string) func() []string { return func() []string { return list } }
	return map[string]func() []string{
		"model":              modelNames,
		"only":               modelNames,
		"scenario":           of("SingleStream", "MultiStream", "Server", "Offline", "Interactive"),
		"mode":               of("performance", "accuracy", "submission", "find-peak"),
		"rules":              config.Versions,
		"division":           of("closed", "open", "network"),
		"precision":          of("fp32", "fp16", "int8"),
		"device":             func() []string { return run.Backends()[0].Devices },
		"backend":            backendNames,
		"profile":            func() []string { return append([]string{run.Auto}, below(".", ".json", 1)...) },
		"target-latency":     of(request.AutoLatency),
		"execution":          of(request.Sequential, request.Parallel),
		"graph-optimization": of("none", "basic", "extended", "all"),
		"progress":           progress.Styles,
		"power":              of("auto", "rapl", "nvml", "ptd:", "file:"),
		"route":              of("chat", "completions"),
	}
}

func modelNames() []string {
	list, _ := run.Models() // a cache that is not there has no names for us
	var names []string
	for _, m := range list {
		names = append(names, m.Name+"\t"+m.Title)
	}
	return names
}

func datasetNames() []string {
	list, _ := run.Datasets()
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func backendNames() []string {
	var list []string
	for _, b := range run.Backends() {
		list = append(list, b.Name)
	}
	return list
}

// runFolders are the folders of runs below that where runs are kept, the newest first.
func runFolders() []string {
	files := below(run.KeptRuns, report.FileName, 8)
	slices.SortStableFunc(files, func(a, b string) int {
		return strings.Compare(filepath.Base(filepath.Dir(b)), filepath.Base(filepath.Dir(a)))
	})
	var list []string
	for _, f := range files {
		list = append(list, filepath.Dir(f))
	}
	return list
}

// mostFound bounds what is looked for while somebody waits for a completion.
const mostFound = 200

// below lists files whose names end so, to a depth.
func below(root, ending string, depth int) []string {
	var list []string
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return filepath.SkipDir
		case len(list) >= mostFound:
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

// firsts complete the arguments of verbs.
func firsts() map[string]func() []string {
	return map[string]func() []string{
		"mlperf show": modelNames, "mlperf explain": runFolders, "mlperf accuracy": runFolders, "mlperf report": runFolders,
		"mlperf suite run": suite.Names, "mlperf suite show": suite.Names,
		"mlperf synth model": modelNames, "mlperf synth dataset": datasetNames,
	}
}

// setCompletion has shells complete values: models, scenarios, rules, devices, run folders.
func setCompletion(cmd *cobra.Command) error {
	of := values()
	var failed error
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		list, ok := of[f.Name]
		if _, done := cmd.GetFlagCompletionFunc(f.Name); !ok || done || failed != nil {
			return
		}
		failed = cmd.RegisterFlagCompletionFunc(f.Name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return list(), cobra.ShellCompDirectiveNoFileComp
		})
	})
	if list, ok := firsts()[cmd.CommandPath()]; ok && cmd.ValidArgsFunction == nil && failed == nil {
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return list(), cobra.ShellCompDirectiveDefault
		}
	}
	for _, sub := range cmd.Commands() {
		if failed == nil {
			failed = setCompletion(sub)
		}
	}
	return failed
}
