package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// NoVerb are the arguments of a command that only has others below it: any is the name of one that is not there.
func NoVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		text += fmt.Sprintf(", did you mean %s?", strings.Join(close, " or "))
	}
	return Usage("%s", text)
}

// Arguments accepts between least and most arguments.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		verb := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") // errors begin with the program's name anyway
		want := strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name()))
		switch {
		case len(args) > most:
			return Usage("%s: unexpected argument %q", verb, args[most])
		case len(args) < least:
			return Usage("%s: want %s", verb, want)
		case slices.Contains(args, ""): // a variable of a shell that is not set
			return Usage("%s: an argument is empty: want %s", verb, want)
		}
		return nil
	}
}
