package published

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Result is one that MLCommons has published.
type Result struct {
	ID           string  `json:"id,omitempty"` // absent in what was made of logs
	Round        string  `json:"round"`
	Submitter    string  `json:"submitter"`
	Suite        string  `json:"suite"` // datacenter or edge
	Division     string  `json:"division"`
	Availability string  `json:"availability"`
	System       string  `json:"system"`
	Chip         string  `json:"chip"`  // accelerator, or processor of systems without
	Chips        int     `json:"chips"` // of all nodes
	Benchmark    string  `json:"benchmark"`
	Scenario     string  `json:"scenario"`
	Value        float64 `json:"value"`
	Unit         string  `json:"unit"`
	PerChip      float64 `json:"per_chip,omitempty"` // of rates
	Precision    string  `json:"precision,omitempty"`
	Times        float64 `json:"times_this_run,omitempty"` // how many times faster than the run it is
}

// A Row is a result as summary_results.json has it (mlcommons/inference_results_v5.1). Numbers may be texts or absent there.
type Row struct {
	ID           string  `json:"ID"`
	Submitter    string  `json:"Submitter"`
	Availability string  `json:"Availability"`
	Category     string  `json:"Category"`
	Suite        string  `json:"Suite"`
	System       string  `json:"System"`
	Model        string  `json:"Model"`
	Scenario     string  `json:"Scenario"`
	Nodes        any     `json:"Nodes"`
	Processor    string  `json:"Processor"`
	Processors   any     `json:"host_processors_per_node"`
	Accelerator  string  `json:"Accelerator"`
	Accelerators any     `json:"a#"` // of a node
	Version      string  `json:"version"`
	Precision    any     `json:"weight_data_types"`
	Value        float64 `json:"Performance_Result"`
	Unit         string  `json:"Performance_Units"`
}

// unitOf are ours for those of the rows.
var unitOf = map[string]string{"Latency (ms)": "ms", "Queries/s": "samples/s", "Samples/s": "samples/s", "Tokens/s": "tokens/s"}

// result is a row in our words; false: it lacks what a comparison needs.
func (r Row) result() (Result, bool) {
	count := func(v any) int {
		n, _ := strconv.Atoi(strings.TrimSpace(fmt.Sprint(v)))
		return n
	}
	out := Result{
		ID: r.ID, Round: r.Version, Submitter: r.Submitter, Suite: r.Suite, Division: r.Category, Availability: r.Availability, System: r.System,
		Chip: r.Accelerator, Chips: count(r.Accelerators) * max(count(r.Nodes), 1), Benchmark: r.Model, Scenario: r.Scenario, Value: r.Value,
		Unit: unitOf[r.Unit],
	}
	if text, ok := r.Precision.(string); ok {
		out.Precision = text
	}
	if out.Chips == 0 {
		out.Chip, out.Chips = r.Processor, max(count(r.Processors), 1)*max(count(r.Nodes), 1)
	}
	if out.Unit != "ms" {
		out.PerChip = out.Value / float64(out.Chips)
	}
	return out, out.Value > 0 && out.Unit != "" && out.Round != ""
}

// Read reads files in the form of summary_results.json, or all *.json of folders.
func Read(paths ...string) (list []Result, err error) {
	for _, path := range paths {
		files, err := filepath.Glob(filepath.Join(path, "*.json"))
		if err != nil || len(files) == 0 {
			files = []string{path}
		}
		for _, file := range files {
			const most = 64 << 20 // v5.1 has 2 MB
			text, err := fileio.ReadFile(file, most)
			if err != nil {
				return nil, fmt.Errorf("reading published results: %w", err)
			}
			var rows []Row
			if err := json.Unmarshal(text, &rows); err != nil {
				return nil, fmt.Errorf("%s is not in the form of summary_results.json: %w", file, err)
			}
			userinput.Lines(&rows)
			for _, row := range rows {
				if r, ok := row.result(); ok {
					list = append(list, r)
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("reading published results: %w in %s", fs.ErrNotExist, strings.Join(paths, ", "))
	}
	return list, nil
}

// A Standing is a run beside published results of its benchmark and scenario, the fastest first: by chip where the result is a rate.
type Standing struct {
	Run     report.Run `json:"-"`
	Folder  string     `json:"folder"`
	Value   float64    `json:"value"`
	Unit    string     `json:"unit"`
	Lower   bool       `json:"lower_is_better"`
	Results []Result   `json:"results"`
	All     []Result   `json:"-"`  // before Shorten and Only
	Of      int        `json:"of"` // length of All
	Notes   []string   `json:"notes"`
}

// MostBetween is how many results Shorten leaves.
const MostBetween = 12

// otherQuantity are settings whose change makes the result of a scenario another quantity.
var otherQuantity = []string{"target_latency", "target_latency_percentile", "ttft_latency", "tpot_latency", "samples_per_query", "target_qps"}

// Against compares a run with results of the closed division. Accuracy is that of its model and device, nil if it is not known; same reports whether
// a name in the results is of the run's benchmark. An error says why there is no comparison that means anything.
func Against(run report.Run, accuracy *report.LineAccuracy, list []Result, same func(benchmark string) bool) (*Standing, error) {
	r := run.Results
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%s cannot stand beside published results: %s", run.Folder, fmt.Sprintf(format, args...))
	}
	switch {
	case r.Limitations.Has(limitation.OwnModel) || r.Model == report.NotKnown:
		return nil, refuse("its model is no benchmark of the rules")
	case r.Metric == nil || r.Performance == nil:
		return nil, refuse("it measured no performance")
	case r.Verdict() != report.Valid:
		return nil, refuse("it is %s", r.Verdict())
	case r.Backend.Simulated:
		return nil, refuse("its engine is simulated")
	case strings.HasPrefix(r.Metric.Name, "scheduled") || r.Metric.Name == "streams":
		return nil, refuse("rules %s measure %s; published are rounds from v4.1 on: --rules v5.1", r.Rules, r.Metric.Name)
	case r.Input.Precision != "fp32" && accuracy == nil:
		return nil, refuse("it has the precision %q, and its accuracy is not known: run --mode accuracy first", r.Input.Precision)
	case r.Input.Precision != "fp32" && (!accuracy.Met || accuracy.Partial):
		return nil, refuse("it has the precision %q, and its accuracy is below the target of the closed division, or of a part of the data",
			r.Input.Precision)
	}
	for _, l := range r.Limitations {
		if l.ID == limitation.Setting && slices.Contains(otherQuantity, l.Key) || l.ID == limitation.SmallerModel || l.ID == limitation.TimedPreprocessing {
			return nil, refuse("%s", report.Sentence(l))
		}
	}
	s := &Standing{Run: run, Folder: run.Folder, Value: r.Metric.Value, Unit: r.Metric.Unit, Lower: r.Metric.Unit == "ms"}
	rounds := map[string]bool{}
	for _, one := range list {
		if one.Division != "closed" || !strings.EqualFold(one.Scenario, r.ScenarioName()) || one.Unit != s.Unit || !same(one.Benchmark) {
			continue
		}
		one.Times = one.Value / s.Value
		if s.Lower {
			one.Times = s.Value / one.Value
		}
		rounds[one.Round] = true
		s.Results = append(s.Results, one)
	}
	if s.Of = len(s.Results); s.Of == 0 {
		return nil, refuse("%s %s has no results of the closed division there", r.Model, r.ScenarioName())
	}
	slices.SortStableFunc(s.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(b.speed(), a.speed()), cmp.Compare(a.Submitter, b.Submitter))
	})
	s.All = slices.Clone(s.Results)
	for round := range rounds {
		if round != r.Rules {
			s.Notes = append(s.Notes, fmt.Sprintf("the run has the rules of %s, results are of %s", r.Rules, round))
		}
	}
	slices.Sort(s.Notes)
	s.Notes = append(s.Notes, "the result of the run is unverified, those that are published are verified, of the closed division")
	for _, sentence := range r.Limitations.Sentences() {
		s.Notes = append(s.Notes, "the run: "+sentence)
	}
	return s, nil
}

// speed orders results: by chip where they are rates.
func (r Result) speed() float64 {
	if r.Unit == "ms" {
		return 1 / r.Value
	}
	return r.PerChip
}

// Only keeps results whose submitter, system or chip has a text in it, in any case.
func (s *Standing) Only(text string) error {
	text = strings.ToLower(text)
	s.Results = slices.DeleteFunc(s.Results, func(r Result) bool {
		return !strings.Contains(strings.ToLower(strings.Join([]string{r.Submitter, r.System, r.Chip, r.Suite, r.Round, r.ID}, "\n")), text)
	})
	if len(s.Results) == 0 {
		return errors.New("none of the " + strconv.Itoa(s.Of) + " results has " + strconv.Quote(text) +
			" in its submitter, system, chip, suite, round or id")
	}
	return nil
}

// Shorten keeps the fastest, the slowest, and some between.
func (s *Standing) Shorten() {
	n := len(s.Results)
	if n <= MostBetween {
		return
	}
	var list []Result
	for i := range MostBetween {
		list = append(list, s.Results[i*(n-1)/(MostBetween-1)])
	}
	s.Results = list
}
