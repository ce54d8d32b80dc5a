package vision

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// goldenLogs is where package accuracy keeps the logs that official scripts scored.
const goldenLogs = "../../accuracy/testdata/logs"

// unpack reads a packed file of the golden logs.
func unpack(t *testing.T, name string) []byte {
	t.Helper()
	return testenv.Read(t, filepath.Join(goldenLogs, name+".gz"))
}

// TestGoldenLogs goes through the models, from the data set's
// folder to the printed line.
func TestGoldenLogs(t *testing.T) {
	for _, set := range []struct {
		logs, model string
		truth       string // the file that the data set consists of
	}{
		{"resnet50", "resnet50", "val_map.txt"},
		{"ssd", "ssd-mobilenet", "annotations/instances_val2017.json"},
		{"ssd", "ssd-resnet34", "annotations/instances_val2017.json"},
		{"ssd_remove_empty", "ssd-resnet34", "annotations/instances_val2017.json"},
		{"retinanet", "retinanet", "annotations/openimages-mlperf.json"},
		{"kits19", "3d-unet", "cases.json"},
	} {
		dir := t.TempDir()
		put(t, dir, set.truth, string(unpack(t, set.logs+"/"+set.truth)))
		var golden struct {
			Runs []struct {
				Variant, Log, Error, Printed string
				Arguments                    []string
			}
		}
		if err := json.Unmarshal(unpack(t, set.logs+"/expected.json"), &golden); err != nil || len(golden.Runs) == 0 {
			t.Fatalf("%s: %d runs, %v", set.logs, len(golden.Runs), err)
		}
		m := find(t, set.model)
		for _, run := range golden.Runs {
			t.Run(set.model+" "+set.logs+" "+run.Variant, func(t *testing.T) {
				s := workload.Scoring{DatasetDir: dir, Options: workload.Values{
					inverseMapOption: strconv.FormatBool(slices.Contains(run.Arguments, "--use-inv-map")),
					onlyFullOption:   strconv.FormatBool(slices.Contains(run.Arguments, "--remove-48-empty-images")),
				}}
				for i, a := range run.Arguments {
					if a == "--dtype" || a == "--output_dtype" {
						s.Options[dtypeOption] = run.Arguments[i+1]
					}
				}
				score, err := m.Score(t.Context(), accuracy.Named(run.Log, bytes.NewReader(unpack(t, set.logs+"/"+run.Log))), s)
				if run.Error != "" {
					if err == nil || !strings.Contains(err.Error(), run.Log) {
						t.Errorf("scored %+v, %v; the script failed with %s", score, err, run.Error)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := score.Lines[len(score.Lines)-1]; got != run.Printed {
					t.Errorf("printed %q, want %q", got, run.Printed)
				}
			})
		}
	}
}
