package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
)

// progressFlag is the flag that says how progress is shown.
const progressFlag = "progress"

// DefineProgress defines the flag that says how progress is shown, which all verbs have.
func DefineProgress(f *pflag.FlagSet) {
	f.String(progressFlag, string(progress.Auto), "how progress is shown: auto, plain (lines), none, json (an object a line, on standard error)")
}

// NewDisplay shows how the job of a verb goes on, as that flag says.
func NewDisplay(cmd *cobra.Command) *progress.Display {
	return progress.New(cmd.ErrOrStderr(), progress.Style(cmd.Flag(progressFlag).Value.String()))
}
