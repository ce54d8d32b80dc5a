package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// version is the version of the program; the linker replaces it in a release (.goreleaser.yaml).
var version = "0.9.0"

// program is the name and the version, with what it was built from if that is known, as results have them.
var program = sync.OnceValue(func() string {
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	return "mlperf " + version + builtFrom(mlperflog.ThisProgram(version).Revision, module)
})

// builtFrom is the commit that the program was built from, or the version that go install was asked for.
func builtFrom(commit, module string) string {
	if from := cmp.Or(commit, module); from != "" && from != "(devel)" {
		return " (" + from + ")"
	}
	return ""
}

func newVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mlperf version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "version", map[string]string{
					"program": program(), "version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				})
			}
			return say(cmd.OutOrStdout(), "%s, %s %s/%s\n", program(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
