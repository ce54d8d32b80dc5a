package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/suite"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newList() *cobra.Command {
	asJSON := false
	kinds := []string{"models", "datasets", "backends", "suites"}
	cmd := &cobra.Command{
		Use:       "list [models|datasets|backends|suites]",
		Short:     "List the catalogue, and which of it is present on this machine",
		Example:   "  mlperf list\n  mlperf list backends",
		ValidArgs: kinds,
		Args:      arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := append(args, kinds[0])[0]
			switch w := cmd.OutOrStdout(); kind {
			case "models":
				models, err := catalogue.Models()
				if err != nil {
					return err
				}
				return printList(w, "list", asJSON, tableRow{"model", "what it does", "data set", "built-in model"}, models,
					func(m catalogue.Model) tableRow {
						task := m.Task // mlperf show has all of it, and why there is no built-in model
						for _, detail := range []string{",", ":", " of up to"} {
							task, _, _ = strings.Cut(task, detail)
						}
						made, _, _ := strings.Cut(m.BuiltIn, ":")
						return tableRow{m.Name, task, m.Dataset, made}
					})
			case "datasets":
				datasets, err := catalogue.Datasets()
				if err != nil {
					return err
				}
				return printList(w, "list", asJSON, tableRow{"data set", "models", "built-in data", "folder"}, datasets,
					func(d catalogue.Dataset) tableRow {
						return tableRow{d.Name, strings.Join(d.Models, ", "), d.BuiltIn, d.Dir}
					})
			case "backends":
				return printList(w, "list", asJSON, tableRow{"backend", "state", "devices that it knows (mlperf doctor: which work)"}, catalogue.Backends(),
					func(b catalogue.Backend) tableRow { return tableRow{b.Name, b.State, strings.Join(b.Devices, " ")} })
			case "suites":
				return listSuites(w, asJSON)
			}
			return usage("cannot list %q%s", kind, userinput.Want(kind, kinds, strings.Join(kinds, ", ")))
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// listSuites is also mlperf suite list.
func listSuites(w io.Writer, asJSON bool) error {
	suites, err := suite.List()
	if err != nil {
		return err
	}
	return printList(w, "suite-list", asJSON, tableRow{"suite", "purpose", "rules"}, suites,
		func(s suite.Listed) tableRow { return tableRow{s.Name, s.Title, s.Rules} })
}

func printList[T any](w io.Writer, form string, asJSON bool, header tableRow, rows []T, columns func(T) tableRow) error {
	if asJSON {
		return printJSON(w, form, rows)
	}
	return printTable(w, header, rows, columns)
}
