// Package cli is what the verbs of the command line share: exit statuses, arguments, flags and where their
// values come from, how progress, tables and JSON are shown, the program's name and version.
//
// A verb is a function that makes a *cobra.Command. Families of them are packages below this one, which do
// not know each other; cmd/mlperf puts them together. A verb reads its flags, calls a package that does the
// work and prints what comes of it:
//
//	RunE: func(cmd *cobra.Command, _ []string) error {
//		rows, err := run.Models()
//		if err != nil {
//			return err // StatusOf finds the exit status
//		}
//		return cli.PrintJSON(cmd.OutOrStdout(), "list", rows)
//	}
//
// No verb is known here, and no model, engine or rule.
package cli
