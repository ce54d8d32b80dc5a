// Command published makes a file for mlperf compare --published of the logs in a clone of a round's repository, which has no
// summary_results.json before v5.1:
//
//	git clone https://github.com/mlcommons/inference_results_v4.1
//	go run ./scripts/published inference_results_v4.1 > v4.1.json
//	mlperf compare --published=v4.1.json results/resnet50/offline/performance/latest
//
// It reads the closed division. Ids of results are not in the repositories.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report/importlog"
	"github.com/mlperf-go/mlperf/internal/report/published"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: published CLONE")
		os.Exit(2)
	}
	rows, err := rowsOf(os.Args[1])
	if err == nil {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", " ")
		err = e.Encode(rows)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "published:", err)
		os.Exit(1)
	}
}

// rowsOf reads the results in a clone. Standard error names those that are left out.
func rowsOf(clone string) ([]published.Row, error) {
	_, round, found := strings.Cut(filepath.Base(filepath.Clean(clone)), "results_")
	if !found {
		return nil, fmt.Errorf("%s: must be the folder of a clone, as inference_results_v4.1", clone)
	}
	runs, err := filepath.Glob(filepath.Join(clone, "closed", "*", "results", "*", "*", "*", "performance", "run_1"))
	if err != nil || len(runs) == 0 {
		return nil, fmt.Errorf("%s has no closed/*/results/*/*/*/performance/run_1: %w", clone, err)
	}
	var rows []published.Row
	for _, run := range runs {
		row, err := rowOf(clone, run)
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out: %v\n", err)
			continue
		}
		row.Version = round
		rows = append(rows, row)
	}
	return rows, nil
}

// rowOf reads a result and the description of its system.
func rowOf(clone, run string) (row published.Row, err error) {
	names := strings.Split(filepath.ToSlash(strings.TrimPrefix(run, filepath.Clean(clone)+string(filepath.Separator))), "/")
	r, err := importlog.Read(run, importlog.About{})
	if err != nil {
		return row, err
	}
	if r.Metric == nil || !r.Valid() {
		return row, fmt.Errorf("%s: %s", run, r.Verdict())
	}
	text, err := os.ReadFile(filepath.Join(clone, names[0], names[1], "systems", names[3]+".json"))
	if err != nil {
		return row, err
	}
	var system struct {
		Name         string `json:"system_name"`
		Suite        string `json:"system_type"`
		Status       string `json:"status"`
		Nodes        any    `json:"number_of_nodes"`
		Processor    string `json:"host_processor_model_name"`
		Processors   any    `json:"host_processors_per_node"`
		Accelerator  string `json:"accelerator_model_name"`
		Accelerators any    `json:"accelerators_per_node"`
	}
	if err := json.Unmarshal(text, &system); err != nil {
		return row, fmt.Errorf("systems/%s.json: %w", names[3], err)
	}
	unit := map[string]string{"ms": "Latency (ms)", "samples/s": "Samples/s", "tokens/s": "Tokens/s"}[r.Metric.Unit]
	return published.Row{
		Submitter: names[1], Availability: system.Status, Category: names[0], Suite: system.Suite, System: system.Name, Model: names[4], Scenario: names[5],
		Nodes: system.Nodes, Processor: system.Processor, Processors: system.Processors, Accelerator: system.Accelerator, Accelerators: system.Accelerators,
		Value: r.Metric.Value, Unit: unit,
	}, nil
}
