package suite

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Step is one run of a suite.
type Step struct {
	Model     string `json:"model"`
	Scenario  string `json:"scenario"`
	Mode      string `json:"mode"`
	Precision string `json:"precision,omitempty"`
	// Batch and Concurrency are those of a point of a grid; 0: the step is none.
	Batch       int    `json:"batch,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	Folder      string `json:"folder"` // within that of the suite

	State State  `json:"state"`
	Error string `json:"error,omitempty"`

	Estimate time.Duration `json:"estimate_ns"`
	// Guessed is set if the speed of the model is not known yet: the estimate is the least
	// that the rules require.
	Guessed bool    `json:"guessed,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // that it took
	// Celsius is the temperature of the machine before the step; 0: not known.
	Celsius float64 `json:"celsius,omitempty"`

	Results *report.Results `json:"-"`

	request run.Request
}

// A State says how far a step is.
type State string

// The states of steps.
const (
	Planned     State = "planned"
	Done        State = "done"        // it has results, VALID or not
	Failed      State = "failed"      // it has none; Error says why
	Unsupported State = "unsupported" // the catalogue lacks the model
)

// answersAs reports whether two steps run the same model, in the same way, on the same data: their answers are the same.
func (s *Step) answersAs(o *Step) bool {
	a, b := &s.request, &o.request
	return s.Model == o.Model && s.Precision == o.Precision && a.ModelPath == b.ModelPath && a.DatasetPath == b.DatasetPath &&
		a.Count == b.Count && maps.Equal(a.Options, b.Options)
}

func (s *Step) String() string {
	model := s.Model
	if s.Precision != "" {
		model += " " + s.Precision
	}
	return fmt.Sprintf("%s %s %s", model, s.ScenarioName(), s.Mode)
}

// ScenarioName is the scenario, with the point of a grid.
func (s *Step) ScenarioName() string { return scenarioName(s.Scenario, s.Batch, s.Concurrency) }

func scenarioName(scenario string, batch, concurrency int) string {
	if batch == 0 {
		return scenario
	}
	return fmt.Sprintf("%s, batch %d × concurrency %d", scenario, batch, concurrency)
}

// The modes of steps, beside run.FindPeak.
const (
	modeAccuracy    = "accuracy"
	modePerformance = "performance"
)

// A Request asks for a suite to be run.
type Request struct {
	// Base has what is the same for all benchmarks: engine, device, workers, Quick. Its
	// Settings win over those of the suite.
	Base run.Request
	// Endpoints are the servers that answer for a model of the suite, by any of its names; those of Base answer for all others that only
	// servers answer.
	Endpoints map[string][]string
	// Only are the benchmarks that are wanted, as MODEL or MODEL/SCENARIO; none: all.
	Only       []string
	Part       Part // of several machines, which have a part each; zero: all
	NoAccuracy bool
	Cooldown   *time.Duration // instead of the suite's
	Output     string         // folder; empty: nothing is run
	Resume     bool           // go on with what is in the folder
	Earlier    []report.Run   // from which the speed of models on this machine is known
	// Command is the command line of a single run of a request, argument by argument; nil: not known.
	Command func(run.Request) []string
}

// A Part is the benchmarks of one of several machines: the models of the suite are dealt out to them in turn, each with all of its
// scenarios and precisions.
type Part struct{ Index, Of int } // Index counts from 0; Of 0: not divided

// ParsePart reads INDEX/OF, as 0/4 to 3/4. Empty: all.
func ParsePart(text string) (p Part, err error) {
	if text == "" {
		return p, nil
	}
	index, of, _ := strings.Cut(text, "/")
	i, errIndex := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if errIndex != nil || errOf != nil || i < 0 || i >= n {
		return p, userinput.Invalid("part", text, "INDEX/OF with an index from 0, as 0/4 to 3/4")
	}
	return Part{i, n}, nil
}

// deal keeps the steps of a part.
func (p *Plan) deal() {
	if p.request.Part.Of == 0 {
		return
	}
	var models []string
	p.Steps = slices.DeleteFunc(p.Steps, func(s *Step) bool {
		at := slices.Index(models, s.Model)
		if at < 0 {
			at, models = len(models), append(models, s.Model)
		}
		return at%p.request.Part.Of != p.request.Part.Index
	})
}

// A Plan is a suite with a step for each run.
type Plan struct {
	Suite *Suite
	Steps []*Step

	request  Request
	cooldown time.Duration
	celsius  func() (float64, bool) // temperature of the machine; false: not known
	took     map[string]float64     // seconds of the steps of an earlier process, by folder
}

// Performance returns the requests of the performance runs, for a caller that runs them itself.
func (p *Plan) Performance() []run.Request {
	var list []run.Request
	for _, s := range p.Steps {
		if s.Mode == modePerformance && s.State == Planned {
			q := s.request
			q.Output = ""
			list = append(list, q)
		}
	}
	return list
}

// NewPlan makes the steps of a suite. Wrong settings of the suite or of the request are errors; a model that
// the catalogue lacks is not.
func NewPlan(s *Suite, q Request) (*Plan, error) {
	rules, err := config.Rules(cmp.Or(q.Base.Rules, s.Rules))
	if err != nil {
		return nil, userinput.Wrap("rules", err)
	}
	if d := q.Cooldown; d != nil && (*d < 0 || *d > mostCooldown) {
		return nil, userinput.Invalid("cooldown", *d, wantCooldown)
	}
	ofRules := *s
	ofRules.Rules = rules.Version
	p := &Plan{Suite: &ofRules, request: q, celsius: machine.Temperature}
	if err := p.restore(); err != nil {
		return nil, err
	}
	switch { // a quick run does not wait for the machine to cool down
	case q.Cooldown != nil:
		p.cooldown = *q.Cooldown
	case !q.Base.Quick:
		p.cooldown = time.Duration(s.Cooldown)
	}
	if err := p.addAll(); err != nil {
		return nil, err
	}
	return p, p.resolve()
}

// resolve resolves the request of every step, and estimates it, before the first one runs.
func (p *Plan) resolve() error {
	var errs []error
	for _, s := range p.Steps {
		if s.State == Unsupported {
			continue
		}
		s.request.Force = p.request.Resume
		resolved, err := run.Resolve(s.request)
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", s, err))
			continue
		}
		if err := p.estimate(s, resolved); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", s, err))
		}
	}
	return errors.Join(errs...)
}

// addAll adds the steps of all benchmarks that are wanted.
func (p *Plan) addAll() (err error) {
	benchmarks := p.Suite.Benchmarks
	if len(benchmarks) == 0 {
		if benchmarks, err = p.Suite.ofRound(); err != nil {
			return err
		}
	}
	for _, b := range benchmarks {
		for _, scenario := range b.Scenarios {
			p.add(b, scenario)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(p.request.Endpoints)) {
		if !slices.ContainsFunc(p.Steps, func(s *Step) bool { return p.means(model, s.Model, s.Scenario) }) {
			return userinput.Invalid("endpoint", model, "a URL, or MODEL=URL of a model that the suite runs")
		}
	}
	for _, only := range p.request.Only {
		if !slices.ContainsFunc(p.Steps, func(s *Step) bool { return p.means(only, s.Model, s.Scenario) }) {
			return userinput.Invalid("only", only, "benchmarks of the suite, as MODEL or MODEL/SCENARIO")
		}
	}
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if seen[s.Folder] {
			return fmt.Errorf("%v is in suite %s twice, and has one folder, %s: give each model, precision and scenario once", s, p.Suite.Name, s.Folder)
		}
		seen[s.Folder] = true
	}
	p.deal()
	return nil
}

// add adds the steps of a benchmark in a scenario: the accuracy first.
func (p *Plan) add(b Benchmark, scenario string) {
	b.Model = p.nameOf(b.Model)
	switch s, interactive, err := config.ParseScenario(scenario); { // as the rules spell it
	case interactive:
		scenario = "Interactive"
	case err == nil:
		scenario = s.String()
	}
	wanted := func(only string) bool { return p.means(only, b.Model, scenario) }
	if len(p.request.Only) > 0 && !slices.ContainsFunc(p.request.Only, wanted) {
		return
	}
	s := p.step(b, scenario, cmp.Or(b.Mode, modePerformance))
	accuracy := p.Suite.Accuracy
	if p.request.Base.Quick && accuracy != accuracyNone { // the first scenario's counts for all
		accuracy = accuracyOnce
	}
	if _, err := p.lookup(b.Model); err != nil {
		s.State, s.Error = Unsupported, err.Error()
		if errors.Is(err, errNoEndpoint) && p.request.Command != nil {
			q := s.request
			q.Engine = engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"URL"}}}
			s.Error += ": " + report.CommandLine(p.request.Command(q))
		}
	} else if !p.request.NoAccuracy && accuracy != accuracyNone && (accuracy != accuracyOnce || p.accuracyElsewhere(s) == nil) {
		p.Steps = append(p.Steps, p.step(b, scenario, modeAccuracy))
	}
	if len(b.Batch) == 0 && len(b.Concurrency) == 0 || s.State == Unsupported {
		p.Steps = append(p.Steps, s)
		return
	}
	axis := func(list []int) []int {
		if len(list) == 0 {
			return []int{1}
		}
		return list
	}
	for _, batch := range axis(b.Batch) {
		for _, concurrency := range axis(b.Concurrency) {
			of := p.step(b, scenario, modePerformance)
			of.Batch, of.Concurrency = batch, concurrency
			of.Folder = filepath.Join(filepath.Dir(of.Folder), fmt.Sprintf("batch-%d-concurrency-%d", batch, concurrency))
			q := &of.request
			q.MaxBatch, q.Instances, q.Output = batch, concurrency, filepath.Join(p.request.Output, of.Folder)
			q.Settings = append(q.Settings, config.Override{Key: "samples_per_query", Value: strconv.Itoa(batch * concurrency),
				Origin: "suite " + p.Suite.Name})
			p.Steps = append(p.Steps, of)
		}
	}
}

// errNoEndpoint is why a model that only servers answer is not run.
var errNoEndpoint = errors.New("only servers of text answer it, and no endpoint is given")

// lookup finds a model among those that the engine of the suite, or the servers that are given beside it, can run. An error says why
// there is none.
func (p *Plan) lookup(name string) (workload.Model, error) {
	e := &p.request.Base.Engine
	m, err := models.LookupAny(name)
	switch {
	case err != nil:
		return m, errors.New("not in the catalogue")
	case len(p.endpoints(name)) > 0:
	case e.Name == engine.OpenAI && m.OpenRemote == nil:
		return m, errors.New("it takes no prompts: servers of text do not answer it")
	case onlyServers(name) && e.Name != engine.OpenAI && len(e.Remote.Endpoints) == 0:
		return m, errNoEndpoint
	case onlyServers(name) && e.Name == engine.OIP:
		return m, errors.New("only servers of text answer it, and those of the suite take tensors")
	}
	return models.InRound(p.Suite.Rules, name, m), nil
}

// onlyServers reports whether a model of the catalogue does not run here.
func onlyServers(name string) bool {
	_, err := models.Lookup(name)
	return err != nil
}

// endpoints are the servers that are given for a model.
func (p *Plan) endpoints(model string) []string {
	for name, urls := range p.request.Endpoints {
		if p.means(name, model, "") {
			return urls
		}
	}
	return nil
}

// engineFor is the engine of a model: its own servers, of text if it takes prompts, or else the engine of the suite, and servers of text
// for what only those answer. Others have no use for the endpoints.
func (p *Plan) engineFor(model string) engine.Config {
	e := p.request.Base.Engine
	urls := p.endpoints(model)
	switch m, err := models.LookupAny(model); {
	case len(urls) > 0 && err == nil:
		remote := e.Remote
		remote.Endpoints, e = urls, engine.Config{Name: engine.OIP}
		if m.OpenRemote != nil {
			e.Name = engine.OpenAI
		}
		e.Remote = remote
	case e.IsRemote():
	case onlyServers(model):
		e = engine.Config{Name: engine.OpenAI, Remote: e.Remote}
	default:
		e.Remote = engine.Remote{}
	}
	return e
}

// nameOf is the name of a model in the catalogue, or as it was written if it has none.
func (p *Plan) nameOf(model string) string {
	if m, err := models.LookupAny(model); err == nil {
		return models.InRound(p.Suite.Rules, model, m).Name
	}
	return model
}

// means reports whether MODEL or MODEL/SCENARIO of a request is a benchmark.
func (p *Plan) means(only, model, scenario string) bool {
	m, s, both := strings.Cut(only, "/")
	return userinput.Same(p.nameOf(m), model) && (!both || userinput.Same(s, scenario))
}

// accuracyOf finds the accuracy step of what a step measures, in its own scenario.
func (p *Plan) accuracyOf(s *Step) *Step {
	return p.accuracyStep(func(a *Step) bool { return a.answersAs(s) && a.Scenario == s.Scenario })
}

// accuracyElsewhere finds the accuracy step of what a step measures, in any scenario.
func (p *Plan) accuracyElsewhere(s *Step) *Step {
	return p.accuracyStep(func(a *Step) bool { return a.answersAs(s) })
}

func (p *Plan) accuracyStep(fits func(*Step) bool) *Step {
	i := slices.IndexFunc(p.Steps, func(s *Step) bool { return s.Mode == modeAccuracy && fits(s) })
	if i < 0 {
		return nil
	}
	return p.Steps[i]
}

// step makes a run of a benchmark.
func (p *Plan) step(b Benchmark, scenario, mode string) *Step {
	s := &Step{Model: b.Model, Scenario: scenario, Mode: mode, Precision: cmp.Or(b.Precision, p.request.Base.Precision), State: Planned}
	folder := strings.ToLower(b.Model)
	if s.Precision != "" {
		folder += "-" + s.Precision
	}
	s.Folder = filepath.Join(folder, strings.ToLower(scenario), mode)
	q := p.request.Base
	q.Model, q.Scenario, q.Mode, q.Precision, q.Engine = b.Model, scenario, mode, s.Precision, p.engineFor(b.Model)
	q.Rules, q.Division = p.Suite.Rules, cmp.Or(q.Division, p.Suite.Division)
	q.ModelPath, q.DatasetPath = cmp.Or(b.ModelPath, q.ModelPath), cmp.Or(b.DatasetPath, q.DatasetPath)
	q.Count = cmp.Or(b.Count, q.Count)
	q.Options = map[string]string{}
	maps.Copy(q.Options, p.request.Base.Options)
	maps.Copy(q.Options, b.Options)
	q.Unplugged = p.Suite.Unplugged
	q.Settings = slices.Concat(p.overrides(p.Suite.Settings), p.overrides(b.Settings), q.Settings)
	// A quick run chooses its bound: that of Server, or the intervals of MultiStream in the first rounds. One that
	// no rate can keep would end the run, or make it endless.
	rules, err := config.Rules(p.Suite.Rules)
	bounded := userinput.Same(scenario, "server") || err == nil && rules.MultiStream == config.FixedIntervalQueries &&
		userinput.Same(scenario, "multistream")
	q.AutoLatency = (q.AutoLatency || q.Quick) && bounded && mode != modeAccuracy
	if p.request.Command != nil {
		q.Command = p.request.Command(q)
	}
	q.Output = filepath.Join(p.request.Output, s.Folder)
	s.request = q
	return s
}

// lengths are the settings that decide the length of a run. Quick runs have their own.
var lengths = []string{"min_duration", "max_duration", "min_query_count", "max_query_count", "target_latency_percentile"}

// overrides are settings in the order of their names, so that equal suites make equal tests.
func (p *Plan) overrides(s settings) []config.Override {
	var list []config.Override
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !p.request.Base.Quick || !slices.Contains(lengths, key) {
			list = append(list, config.Override{Key: key, Value: s[key], Origin: "suite " + p.Suite.Name})
		}
	}
	return list
}

// ofRound lists the benchmarks that the round requires of systems of the category, in the order of the
// catalogue. Those that the catalogue lacks come last.
func (s *Suite) ofRound() ([]Benchmark, error) {
	round, err := rounds.Find(s.Rules)
	if err != nil {
		return nil, fmt.Errorf("a suite by category: %w", err)
	}
	var list, lacking []Benchmark
	taken := map[string]bool{}
	for _, m := range models.All() {
		name, ok := nameIn(round, m)
		if scenarios := required(round, name, s.Category); ok && !taken[name] && len(scenarios) > 0 {
			taken[name] = true
			list = append(list, Benchmark{Model: m.Name, Scenarios: scenarios})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(round.Models)) {
		if scenarios := required(round, name, s.Category); round.Models[name].Listed && !taken[name] && len(scenarios) > 0 {
			lacking = append(lacking, Benchmark{Model: name, Scenarios: scenarios})
		}
	}
	return append(list, lacking...), nil
}

// nameIn is the round's own name of a model of the catalogue. Models that only resemble one of
// the round's do not count for it.
func nameIn(round *rounds.Round, m workload.Model) (string, bool) {
	if !m.Rules.In(round.Version) {
		return "", false
	}
	for _, name := range append([]string{m.Name, m.Name + "-99"}, m.Rules.Listed()...) {
		if known := round.Models[name]; known != nil && known.Listed {
			return name, true
		}
	}
	return "", false
}

// required are the scenarios without which the category has no result of the benchmark. Of Server and Interactive it is Server where either
// is enough.
func required(round *rounds.Round, name, category string) []string {
	m := round.Models[name]
	if m == nil {
		return nil
	}
	list := m.Required[category]
	if m.WantsServer(category) && !slices.Contains(list, "Server") && !slices.Contains(list, "Interactive") {
		list = append(slices.Clone(list), "Server")
	}
	return rounds.InOrder(list)
}

// An Estimate says how long the planned steps take. The time to make built-in models and data,
// once, is not in it.
type Estimate struct {
	Steps    int           `json:"steps"`
	Traffic  time.Duration `json:"traffic_ns"`
	Cooldown time.Duration `json:"cooldown_ns"`
	Guessed  int           `json:"guessed"` // steps that may take longer: the speed of their models is not known yet
}

// Total is all of the time.
func (e Estimate) Total() time.Duration { return e.Traffic + e.Cooldown }

// String says it in words.
func (e Estimate) String() string {
	least := ""
	if e.Guessed > 0 {
		least = "at least "
	}
	text := fmt.Sprintf("%s, %s%s", runs(e.Steps), least, coarse(e.Total()))
	if e.Cooldown > 0 {
		text += fmt.Sprintf(", %s of it to cool down", coarse(e.Cooldown))
	}
	if e.Guessed > 0 {
		text += fmt.Sprintf(" (speed on this machine not known yet: %s)", runs(e.Guessed))
	}
	return text
}

// coarse writes a time in whole seconds.
func coarse(d time.Duration) string { return units.Duration(d.Round(time.Second)) }

// Estimate adds up the planned steps.
func (p *Plan) Estimate() Estimate {
	var e Estimate
	for _, s := range p.Steps {
		if s.State != Planned {
			continue
		}
		e.Steps++
		e.Traffic += s.Estimate
		if s.Guessed {
			e.Guessed++
		}
		if p.coolsBefore(s) {
			e.Cooldown += p.cooldown
		}
	}
	return e
}

// overhead is the time of a run beside its traffic: opening, warming up, writing.
const overhead = 3 * time.Second

// estimate says how long a step will take.
func (p *Plan) estimate(s *Step, r *run.Resolved) (err error) {
	speed, samples := p.speedOf(s)
	s.Guessed = speed == 0 || s.Mode == run.FindPeak
	s.Estimate, err = r.Estimate(speed, samples)
	s.Estimate += overhead
	return err
}

// speedOf is how many samples per second the newest run of the same model on the same kind of
// engine answered, and how many samples it had; 0: not known.
func (p *Plan) speedOf(s *Step) (speed float64, samples int) {
	var known []*report.Results
	for _, run := range p.request.Earlier {
		known = append(known, run.Results)
	}
	for _, other := range p.Steps {
		known = append(known, other.Results)
	}
	known = slices.DeleteFunc(known, func(r *report.Results) bool {
		return r == nil || r.Model != s.Model || s.Precision != "" && r.Input.Precision != s.Precision ||
			!strings.HasPrefix(r.Backend.Engine, s.request.Engine.Name) || r.Backend.WarmUp.LatencyNS <= 0
	})
	if len(known) == 0 {
		return 0, 0
	}
	slices.Reverse(known) // of equally new ones the last
	newest := slices.MaxFunc(known, func(a, b *report.Results) int { return a.Created.Compare(b.Created) })
	b := newest.Backend
	return float64(max(1, b.Instances)) / time.Duration(b.WarmUp.LatencyNS).Seconds(), newest.Input.Samples
}

// estimateAgain estimates the planned steps of the model that has just been measured.
func (p *Plan) estimateAgain(from *Step) {
	for _, s := range p.Steps {
		if s.State != Planned || s.Model != from.Model || s.Precision != from.Precision {
			continue
		}
		if r, err := run.Resolve(s.request); err == nil {
			_ = p.estimate(s, r) // it worked before
		}
	}
}
