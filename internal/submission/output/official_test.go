package output

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

// An official is the rows of a summary, and the sheets that generate_final_report.py makes of them;
// see testdata/make_final.py.
type official struct {
	Version string
	Results []map[string]any
	Sheets  []Sheet
}

func TestSheetsAreThoseOfTheFinalReport(t *testing.T) {
	data, err := os.ReadFile("testdata/final.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []official
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for i, o := range all {
		got, err := Final(o.report())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o.Sheets, got); diff != "" {
			t.Errorf("report %d of %s (-official +here):\n%s", i, o.Version, diff)
		}
	}
}

// report is what the checker would say: a row with power follows that without.
func (o official) report() *checker.Report {
	r := &checker.Report{Rules: "v" + o.Version}
	for _, row := range o.Results {
		text := func(name string) string {
			if n, isNumber := row[name].(json.Number); isNumber {
				return n.String()
			}
			s, _ := row[name].(string)
			return s
		}
		if unit := text("Units"); unit == "Watts" || unit == "millijoules" {
			last := r.Results[len(r.Results)-1].Row
			last.PowerResult, last.PowerUnits = text("Result"), unit
			continue
		}
		power, _ := row["has_power"].(bool)
		r.Results = append(r.Results, checker.Result{
			Division: text("Division"), Submitter: text("Organization"), System: text("Platform"), Benchmark: text("Model"), Model: text("MlperfModel"), Scenario: text("Scenario"), Passes: true,
			Row: &checker.Row{
				Availability: text("Availability"), SystemType: text("SystemType"), SystemName: text("SystemName"), Result: text("Result"), Units: text("Units"), Accuracy: text("Accuracy"),
				Nodes: text("number_of_nodes"), Processor: text("host_processor_model_name"), Processors: text("host_processors_per_node"), Accelerator: text("accelerator_model_name"),
				Accelerators: text("accelerators_per_node"), Total: text("total_accelerators"), Framework: text("framework"), Notes: text("notes"), HasPower: power,
			},
		})
	}
	return r
}
