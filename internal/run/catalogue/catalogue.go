// Package catalogue describes what users can choose before a run: models, data sets and engines (catalogue.go),
// options of models (options.go), how long runs under the rules take (plan.go), and the README of a benchmark (readme.go).
package catalogue

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Model is an entry of the catalogue.
type Model struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Task    string `json:"task"`
	Dataset string `json:"dataset"`
	BuiltIn string `json:"built_in"` // present, or made when first used
}

// A Dataset has the models that are measured with it.
type Dataset struct {
	Name    string   `json:"name"`
	Models  []string `json:"models"`
	BuiltIn string   `json:"built_in"`
	Dir     string   `json:"dir,omitempty"` // of the built-in data, if present
}

// A Backend is an engine.
type Backend struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Devices []string `json:"devices"`
}

// askedOnly is the state of a model that has no built-in file.
const askedOnly = "none: servers of text answer (backend " + engine.OpenAI + ")"

// state is that of a built-in model or data set.
func state(present bool) string {
	if present {
		return "present"
	}
	return "made when first used"
}

// Models lists the catalogue.
func Models() ([]Model, error) {
	cache, err := home.CacheDir()
	if err != nil {
		return nil, err
	}
	var list []Model
	for _, m := range models.All() {
		list = append(list, Model{m.Name, m.Title, m.Task, m.Dataset, state(builtin.HasModel(cache, m))})
	}
	for _, m := range models.RemoteModels() {
		list = append(list, Model{m.Name, m.Title, m.Task, m.Dataset, askedOnly})
	}
	return list, nil
}

// NameOf is the name in the catalogue for any that a round has for a benchmark; "" if there is none.
func NameOf(name string) string {
	m, err := models.LookupAny(name)
	if err != nil {
		return ""
	}
	return m.Name
}

// Datasets lists the data sets. Models with the same built-in data share one.
func Datasets() ([]Dataset, error) {
	cache, err := home.CacheDir()
	if err != nil {
		return nil, err
	}
	var list []Dataset
	var folders []string // known before they are made
	for _, m := range slices.Concat(models.All(), models.RemoteModels()) {
		dir, there := builtin.HasDataset(cache, m)
		if i := slices.Index(folders, dir); i >= 0 {
			list[i].Models = append(list[i].Models, m.Name)
			continue
		}
		d := Dataset{Name: m.Dataset, Models: []string{m.Name}, BuiltIn: state(there)}
		if there {
			d.Dir = dir
		}
		folders, list = append(folders, dir), append(list, d)
	}
	return list, nil
}

// Backends lists the engines.
func Backends() []Backend {
	onnx := Backend{Name: engine.ONNXRuntime, Devices: ort.Devices()}
	library, _, err := ort.Search{}.Find()
	if err != nil {
		onnx.State = "no library: " + ort.Remedy
	} else {
		onnx.State = fmt.Sprintf("version %s, %s", library.Version, library.Path)
	}
	servers := []string{"those of the servers"}
	return []Backend{
		onnx, {Name: engine.Simulated, State: "ready", Devices: []string{"none"}},
		{Name: engine.OIP, State: "ready", Devices: servers}, {Name: engine.OpenAI, State: "ready", Devices: servers},
	}
}

// A Card has all that the catalogue knows of a model under a rule set.
type Card struct {
	Model
	PerformanceSamples int               `json:"performance_sample_count"`
	Metric             string            `json:"metric"`
	Reference          float64           `json:"reference"`
	Fraction           float64           `json:"fraction"`        // of the reference that is the target
	Target             string            `json:"target"`          // accuracy ≥ 75.6954
	Also               []string          `json:"also,omitempty"`  // further bounds, as rouge2 ≥ 21.8
	Notes              []string          `json:"notes,omitempty"` // of the model, and where the rules' text and their checker differ
	Work               []string          `json:"work,omitempty"`  // parameters and multiply-accumulates of each file
	Source             string            `json:"source"`
	Rules              string            `json:"rules"`
	Categories         []config.Category `json:"categories,omitempty"` // where the rules have lists: from v0.7 on
	Scenarios          []ScenarioCard    `json:"scenarios"`
}

// A ScenarioCard has the settings of a scenario that the rules make.
type ScenarioCard struct {
	Scenario string    `json:"scenario"`
	Result   string    `json:"result"` // the name of the number by which the round compares systems
	Settings []CardRow `json:"settings"`
}

// A CardRow has a setting.
type CardRow struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Unit  string `json:"unit,omitempty"`
}

// Describe returns the card of a model.
func Describe(name, rules string) (*Card, error) {
	m, err := models.LookupAny(name)
	if err != nil {
		return nil, userinput.Wrap("model", err)
	}
	set, err := config.Rules(rules)
	if err != nil {
		return nil, userinput.Wrap("rules", err)
	}
	m = models.InRound(set.Version, name, m)
	cache, err := home.CacheDir()
	if err != nil {
		return nil, err
	}
	q := m.QualityIn(set.Version)
	builtIn := askedOnly
	if m.Open != nil && m.BuiltIn != nil {
		builtIn = state(builtin.HasModel(cache, m))
	}
	card := &Card{
		Model:              Model{m.Name, m.Title, m.Task, m.Dataset, builtIn},
		PerformanceSamples: m.PerformanceSampleCount, Source: m.Source, Rules: set.Version,
		Metric: q.Metric, Reference: q.Reference, Fraction: q.Fraction, Target: q.String(), Categories: set.Categories(m.Rules),
		Notes: slices.Concat(m.Notes, set.TextNotes(m.Rules)),
	}
	networks, err := builtin.Networks(m)
	if err != nil {
		return nil, err
	}
	for _, n := range networks {
		card.Work = append(card.Work, WorkOf(n))
	}
	for _, bound := range q.Also {
		card.Also = append(card.Also, bound.String())
	}
	for _, s := range loadgen.Scenarios() {
		if !set.HasScenario(m.Rules, s) {
			continue
		}
		if err := card.add(m, set, s, s.String()); err != nil {
			return nil, err
		}
	}
	if asked, ok := m.Rules.Asked(set.Version); ok && asked.Has("Interactive") {
		m.Rules.Interactive = true
		_ = card.add(m, set, loadgen.Server, "Interactive") // an error says that only the checker knows the name
	}
	return card, nil
}

// add adds a scenario, which LoadGen may call otherwise.
func (c *Card) add(m workload.Model, set *config.RuleSet, s loadgen.Scenario, name string) error {
	r, err := config.Resolve(config.Request{Model: m.Rules, Scenario: s, Rules: set})
	if err != nil {
		return err
	}
	var rows []CardRow
	if target := m.QualityIn(set.Version).String(); target != c.Target {
		rows = append(rows, CardRow{Key: "target", Value: target})
	}
	for _, made := range r.Made {
		if made.Origin == config.Default || made.Key == "mode" {
			continue
		}
		if _, ok := r.Setting(made.Key); ok {
			rows = append(rows, CardRow{made.Key, made.Value, made.Unit})
		}
	}
	n := uint64(m.PerformanceSampleCount)
	result := report.ResultName(set.Version, r.Settings.Effective(n, n))
	if m.Turns > 0 && s == loadgen.SingleStream {
		result, rows = report.MeanLatency, append(rows, CardRow{Key: "min_query_count", Value: fmt.Sprint(m.Turns)})
	}
	c.Scenarios = append(c.Scenarios, ScenarioCard{name, result, rows})
	return nil
}
