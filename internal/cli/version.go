package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is the version of the program; the linker replaces it in a release (scripts/release.sh).
var version = "0.9.0"

// program is the name and the version, with what it was built from if that is known, as results have them.
func program() string {
	name := "mlperf " + version
	if info, ok := debug.ReadBuildInfo(); ok {
		name += revision(info)
	}
	return name
}

// revision is the commit that the program was built from, or the version that go install was asked for.
func revision(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return fmt.Sprintf(" (%.10s)", s.Value)
		}
	}
	if v := info.Main.Version; strings.HasPrefix(v, "v") {
		return " (" + v + ")"
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
