package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report/published"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A published log becomes a row with the system's description.
func TestRowsOf(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "inference_results_v4.1")
	run := filepath.Join(clone, "closed", "Able", "results", "one", "3d-unet-99", "Offline", "performance", "run_1")
	testenv.Must(t, os.MkdirAll(run, 0o755))
	for _, name := range []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt"} {
		f, err := os.Open(filepath.Join("..", "..", "internal", "report", "importlog", "testdata", "v4.1-offline", name+".gz"))
		testenv.Must(t, err)
		z, err := gzip.NewReader(f)
		testenv.Must(t, err)
		text, err := io.ReadAll(z)
		testenv.Must(t, err)
		testenv.Must(t, f.Close())
		testenv.Must(t, os.WriteFile(filepath.Join(run, name), text, 0o600))
	}
	testenv.Tree(t, clone, map[string]string{"closed/Able/systems/one.json": `{"system_name": "One", "system_type": "edge", "status": "available", "number_of_nodes": "2", "accelerator_model_name": "Chip", "accelerators_per_node": "4"}`})
	rows, err := rowsOf(clone)
	want := published.Row{Submitter: "Able", Availability: "available", Category: "closed", Suite: "edge", System: "One", Model: "3d-unet-99", Scenario: "Offline",
		Nodes: "2", Accelerator: "Chip", Accelerators: "4", Version: "v4.1", Value: 6.73664, Unit: "Samples/s"}
	if err != nil || len(rows) != 1 || rows[0] != want {
		t.Errorf("%+v, %v, want %+v", rows, err, want)
	}
	if _, err := rowsOf(t.TempDir()); err == nil {
		t.Error("a folder of another name: no error")
	}
}
