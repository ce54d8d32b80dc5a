package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
)

// lists are what can be listed, by name.
func lists() map[string]func(io.Writer, bool) error {
	return map[string]func(io.Writer, bool) error{
		"models":   listModels,
		"datasets": listDatasets,
		"backends": listBackends,
	}
}

func newList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:       "list [models|datasets|backends]",
		Short:     "List the catalogue, and what of it is present on this machine",
		Example:   "  mlperf list\n  mlperf list backends",
		ValidArgs: []string{"models", "datasets", "backends"},
		Args:      arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := "models"
			if len(args) == 1 {
				what = args[0]
			}
			show, ok := lists()[what]
			if !ok {
				return usage("cannot list %q, want models, datasets or backends", what)
			}
			return show(cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// A row of the lists.
type modelRow struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Task    string `json:"task"`
	Dataset string `json:"dataset"`
	BuiltIn string `json:"built_in"` // present, or not made yet
}

func listModels(w io.Writer, asJSON bool) error {
	cache, err := home.CacheDir()
	if err != nil {
		return err
	}
	var rows []modelRow
	for _, m := range models.All() {
		present := "made when first used"
		if builtin.HasModel(cache, m) {
			present = "present"
		}
		rows = append(rows, modelRow{m.Name, m.Title, m.Task, m.Dataset, present})
	}
	if asJSON {
		return report.JSON(w, rows)
	}
	return printTable(w, table.Row{"model", "title", "task", "data set", "built-in model"}, rows,
		func(r modelRow) table.Row { return table.Row{r.Name, r.Title, r.Task, r.Dataset, r.BuiltIn} })
}

type datasetRow struct {
	Name    string `json:"name"`
	Models  string `json:"models"`
	BuiltIn string `json:"built_in"`
	Dir     string `json:"dir,omitempty"`
}

func listDatasets(w io.Writer, asJSON bool) error {
	cache, err := home.CacheDir()
	if err != nil {
		return err
	}
	var rows []datasetRow
	var folders []string // of the rows
	for _, m := range models.All() {
		row := datasetRow{Name: m.Dataset, Models: m.Name, BuiltIn: "made when first used"}
		dir, ok := builtin.HasDataset(cache, m)
		if ok {
			row.BuiltIn, row.Dir = "present", dir
		}
		// Models with the same built-in data share a row. The folder is known before it is made.
		if i := slices.Index(folders, dir); i >= 0 {
			rows[i].Models += ", " + m.Name
			continue
		}
		folders, rows = append(folders, dir), append(rows, row)
	}
	if asJSON {
		return report.JSON(w, rows)
	}
	return printTable(w, table.Row{"data set", "models", "built-in data", "folder"}, rows,
		func(r datasetRow) table.Row { return table.Row{r.Name, r.Models, r.BuiltIn, r.Dir} })
}

type backendRow struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Devices []string `json:"devices"`
}

func listBackends(w io.Writer, asJSON bool) error {
	onnx := backendRow{Name: "onnxruntime", Devices: ort.Devices()}
	library, _, err := ort.Search{}.Find()
	if err != nil {
		onnx.State = "no library: " + ort.Remedy
	} else {
		onnx.State = fmt.Sprintf("version %s, %s", library.Version, library.Path)
	}
	rows := []backendRow{onnx, {Name: "simulated", State: "ready", Devices: []string{"none"}}}
	if asJSON {
		return report.JSON(w, rows)
	}
	return printTable(w, table.Row{"backend", "state", "devices that it knows (mlperf doctor: which work)"}, rows,
		func(r backendRow) table.Row { return table.Row{r.Name, r.State, strings.Join(r.Devices, " ")} })
}
