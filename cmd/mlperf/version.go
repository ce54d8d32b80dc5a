package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the version of the program; a release build replaces it.
var version = "0.1.0-dev"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mlperf version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, %s %s/%s\n", program(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// program is the name and the version, as results have them.
func program() string { return "mlperf " + version + revision() }

// revision is the commit that the program was built from, if the build knows it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return fmt.Sprintf(" (%.10s)", s.Value)
		}
	}
	return ""
}
