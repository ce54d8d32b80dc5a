package checker

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// A resultCheck judges one result.
type resultCheck struct {
	*job
	findings
	rule *rounds.Model // what the round asks of the benchmark

	performance, accuracy *runLog // nil: missing, or cannot be read
	endpoint              bool    // measured without LoadGen

	metric       any         // the result
	accuracies   []string    // metrics of accuracy.txt and their values, as the summary has them
	score        string      // the accuracy of a result without LoadGen
	sets         []scoredSet // all scores of such a result
	measurements map[string]any
	power        float64 // watts, or millijoules of a query
	watts        string  // of the power supplies
}

// A runLog is what is judged of a log: the first message of each key, and the errors.
type runLog struct {
	path    string
	entries map[string]mlperflog.Entry
	errors  []mlperflog.Entry
}

func (l *runLog) value(key string) any { return l.entries[key].Value }
func (l *runLog) line(key string) int  { return l.entries[key].Line }

// text returns a value that is a text, or "".
func (l *runLog) text(key string) string {
	s, _ := l.entries[key].Value.(string)
	return s
}

// show returns a value as a finding has it.
func (l *runLog) show(key string) string {
	e, ok := l.entries[key]
	if !ok {
		return "no such key"
	}
	return str(e.Value)
}

func judge(j *job) Result {
	c := &resultCheck{job: j, rule: j.round.Model(j.model)}
	c.found = slices.Clone(j.loaded)
	// Without either log, the result may have been measured without LoadGen.
	performance, accuracy := c.folder+"/performance/run_1/mlperf_log_detail.txt", c.folder+"/accuracy/mlperf_log_detail.txt"
	if c.exists(performance) || c.exists(accuracy) || !c.readEndpointFiles() {
		c.performance, c.accuracy = c.readLog(performance), c.readLog(accuracy)
	}
	if c.rule.Accuracy != nil && c.description.fields != nil {
		if c.performance != nil {
			before := failing(c.found)
			c.metric = c.checkRun(c.performance)
			if !truth(c.metric) && failing(c.found) == before {
				c.fail("perf-metric", problem{path: c.performance.path, message: "the result is " + str(c.metric), found: str(c.metric),
					wanted: "a number above 0"})
			}
			c.checkPower()
		}
		if c.accuracy != nil {
			c.checkAccuracy()
		}
		c.checkAudits()
	}
	c.checkMeasurements()
	switch {
	case !c.strict || c.rule.Accuracy == nil:
	case c.endpoint:
		c.strictEndpoint()
	default:
		c.checkStrictly()
	}
	r := Result{
		Path: c.folder, Division: c.division, Submitter: c.submitter, System: c.system,
		Benchmark: c.benchmark, Model: c.model, Scenario: c.scenarioFolder(),
	}
	if failing(c.found) == 0 {
		r.Row = c.row()
	}
	r.Findings = sorted(c.found)
	r.Passes = failing(r.Findings) == 0
	return r
}

// readLog reads a detail log that must exist.
func (c *resultCheck) readLog(path string) *runLog {
	if !c.exists(path) {
		c.fail("log-missing", problem{path: path, message: "the log is missing", wanted: "the detail log of LoadGen"})
		return nil
	}
	d, err := mlperflog.ReadDetail(c.at(path))
	if d != nil {
		err = nil // what the official parser passes over does not count
		if d.Refused != nil {
			err = d.Refused
		}
	}
	if err != nil {
		c.unreadable("log-format", path, err, "")
		return nil
	}
	log := &runLog{path: path, entries: map[string]mlperflog.Entry{}, errors: d.Errors()}
	for _, e := range d.Entries {
		if _, again := log.entries[e.Key]; !again {
			log.entries[e.Key] = e
		}
	}
	return log
}

// scenarioFolder is the scenario as the official checker takes it from the folder.
func (c *resultCheck) scenarioFolder() string {
	if c.endpoint && strings.EqualFold(c.scenario, "online") {
		return "server"
	}
	return c.scenario
}

// measurementsFolder is where user.conf and README.md are.
func (c *resultCheck) measurementsFolder() string {
	if c.round.Before6() {
		return strings.Join([]string{c.division, c.submitter, "measurements", c.system, c.benchmark, c.scenario}, "/")
	}
	return c.folder
}

// measurementsName returns the name of the measurements. Up to v5.1 it is the first that starts with the system's name;
// "": there is none.
func (c *resultCheck) measurementsName(files []string) string {
	if !c.round.Before6() {
		return "measurements.json"
	}
	for _, f := range files {
		if strings.HasPrefix(f, c.system) && strings.HasSuffix(f, ".json") {
			return f
		}
	}
	return ""
}

// sourceFolder is where the code of a submitter is.
func (c *resultCheck) sourceFolder() string {
	if c.round.Before6() {
		return c.division + "/" + c.submitter + "/code"
	}
	return c.division + "/" + c.submitter + "/src"
}

func (c *resultCheck) checkMeasurements() {
	if path := c.sourceFolder(); !c.exists(path) {
		c.fail("tree-source", problem{path: path, message: "the source is missing", wanted: "the code of the benchmark"})
	}
	folder := c.measurementsFolder()
	files, err := c.files(folder)
	if err != nil {
		message := "cannot be listed: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message = "the folder is missing"
		}
		c.fail("measure-missing", problem{path: folder, message: message, wanted: "measurements, user.conf and README.md"})
		return
	}
	for _, name := range []string{"user.conf", "README.md"} {
		path := folder + "/" + name
		if name == "user.conf" && c.endpoint {
			continue
		}
		if !slices.Contains(files, name) {
			c.fail("measure-file", problem{path: path, message: "the file is missing"})
		} else if info, err := os.Stat(c.at(path)); err != nil || info.Size() == 0 {
			c.fail("measure-file", problem{path: path, message: "the file is empty", found: "0 bytes", wanted: "content"})
		}
	}
	name := c.measurementsName(files)
	path := folder + "/" + name
	if name == "" || !c.exists(path) {
		if name == "" {
			path += c.system + "_<implementation>_" + c.scenario + ".json"
		}
		c.fail("measure-missing", problem{path: path, message: "the measurements are missing", wanted: "a JSON file"})
		return
	}
	v, err := c.readJSON(path)
	if err != nil {
		c.unreadable("measure-json", path, err, "")
		return
	}
	var isObject bool
	if c.measurements, isObject = v.(map[string]any); !isObject {
		c.fail("measure-json", problem{path: path, message: "not an object", found: str(v)})
		return
	}
	for _, field := range FieldNames(MeasurementFields()) {
		if v, exists := c.measurements[field]; !exists {
			c.fail("measure-field", problem{path: path, message: "field " + field + " is missing", wanted: field})
		} else if !truth(v) {
			c.fail("measure-field", problem{path: path, message: "field " + field + " is empty", found: str(v), wanted: "a text that is not empty"})
		}
	}
}

// row returns what the official summary has of a result; nil, and a finding, if the summary does not know its scenario.
func (c *resultCheck) row() *Row {
	folder := c.scenarioFolder()
	scenario := rounds.Scenario(folder)
	if folder != scenario && folder != strings.ToLower(scenario) {
		c.fail("scenario-unknown", problem{path: c.folder, message: "the folder's name is spelled in a way that the official summary does not know",
			found: folder, wanted: scenario})
		return nil
	}
	field := func(name string) string { return str(c.description.fields[name]) }
	nodes, _ := parseWhole(c.description.fields["number_of_nodes"]) // which the description's check has read
	accelerators, _ := parseWhole(c.description.fields["accelerators_per_node"])
	notes := field("hw_notes")
	if sw := c.description.fields["sw_notes"]; truth(sw) {
		if notes = str(sw); truth(c.description.fields["hw_notes"]) {
			notes = field("hw_notes") + ". " + str(sw)
		}
	}
	root := c.root
	if !strings.HasSuffix(root, "/") {
		root += "/"
	}
	accuracy := strings.Join(c.accuracies, ", ")
	if c.endpoint {
		accuracy = c.score
	}
	r := &Row{
		Availability: field("status"), SystemType: field("system_type"), SystemName: field("system_name"),
		Result: str(c.metric), Units: c.rule.UnitOf(scenario),
		// As JSON without its punctuation.
		Accuracy: strings.TrimSpace(strings.NewReplacer(",", " ", `"`, "", "{", "", "}", "").Replace(accuracy)),
		Nodes:    field("number_of_nodes"), Processor: field("host_processor_model_name"),
		Processors: field("host_processors_per_node"), Cores: field("host_processor_core_count"),
		Accelerator: field("accelerator_model_name"), Accelerators: field("accelerators_per_node"),
		Total:     strconv.FormatInt(nodes*accelerators, 10),
		Location:  root + c.folder + "/performance/run_1", // as reached from where the tree is
		Framework: field("framework"), System: field("operating_system"), Notes: notes,
		Inferred: folder != c.performance.text("effective_scenario"), HasPower: c.hasPower(), Weights: str(c.measurements["weight_data_types"]),
	}
	if !rounds.Before(c.round.Version, "v6.1") {
		r.DesignWatts = "None"
		if r.HasPower {
			r.DesignWatts = c.watts
		}
	}
	if r.HasPower {
		r.PowerResult, r.PowerUnits = formatFloat(c.power), "Watts"
		if scenario == "SingleStream" || scenario == "MultiStream" {
			r.PowerUnits = "millijoules"
		}
	}
	return r
}
