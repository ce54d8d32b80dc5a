package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/own"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Resolved request has a model, rules and settings. Nothing was opened or made for it.
type Resolved struct {
	// Request has the defaults filled in, and the values of a profile.
	Request Request
	// The settings with their origins.
	*config.Resolved
	Notes []string // for the user before the run

	model       workload.Model
	files       workload.Model // the same with its files, where servers of text are asked: built-in data are made with those
	division    config.Division
	interactive bool              // Server with the bounds of the model's Interactive
	confFiles   map[string][]byte // the files that settings were read from, by their usual names
	fromProfile []report.Setting
	replayed    []time.Duration // arrivals of a file; nil: others
	source      []string        // notes about where the model files come from
	newFolder   bool            // the results go to a folder that the run makes
}

// Resolve finds the model, the rules and the settings of a request. It reads only files of settings and a profile.
func Resolve(q Request) (*Resolved, error) {
	r, err := resolve(q)
	if err != nil {
		return nil, err
	}
	out := &r.Request.Output
	if r.newFolder = *out == ""; r.newFolder {
		*out = filepath.Join(outdir.Root, r.model.Name, strings.ToLower(r.ScenarioName()), cmp.Or(q.Mode, "performance"),
			clock.Now().Format("20060102-150405"))
	}
	if q.Ranging {
		*out = filepath.Join(*out, power.Testing)
	}
	if !r.newFolder {
		err = r.checkFolder(*out)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ResolveService resolves a request to serve a model, without a test. The model runs as in Offline: on all cores, in
// batches. Nothing is written.
func ResolveService(q Request) (*Resolved, error) {
	q.Scenario, q.Output, q.Force = loadgen.Offline.String(), "", false
	return resolve(q)
}

func resolve(q Request) (*Resolved, error) {
	r := &Resolved{Request: q}
	for _, step := range []func() error{r.lookUp, r.Request.check, r.settings, r.profile, r.servers} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if s := r.Settings; q.Mode == FindPeak && s.Scenario != loadgen.Server && s.MultiStreamQPS == 0 {
		return nil, userinput.Errorf("mode", "find-peak searches the highest load that keeps a bound: Server has one, and MultiStream under rules "+
			"v0.5 to v1.0; %v has none, so measure it in performance mode", s.Scenario)
	}
	return r, nil
}

// checkFolder refuses a folder that has the results of another run, or other files where this one writes.
func (r *Resolved) checkFolder(dir string) error {
	q := &r.Request
	if q.Force {
		return nil
	}
	if q.Prompts.Artifacts != "" {
		if err := outdir.CheckNames(q.Prompts.Artifacts, endpoints.Names()...); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, harness.PeakFile)); err == nil && q.Mode == FindPeak {
		return nil // the search was interrupted, and continues
	}
	if q.Ranging {
		if err := outdir.CheckNames(filepath.Dir(dir), power.Ranging, power.About); err != nil {
			return err
		}
	}
	return outdir.Check(dir, r.confFiles)
}

// ScenarioName is the scenario as users call it: Interactive, too.
func (r *Resolved) ScenarioName() string {
	if r.interactive {
		return "Interactive"
	}
	return r.Settings.Scenario.String()
}

// streams reports whether responses come in pieces, also by the round's reference.
func (r *Resolved) streams() bool {
	whole := r.Request.Prompts.Stream != "on" && r.model.WholeBefore != "" && rounds.Before(r.Rules.Version, r.model.WholeBefore)
	return !whole && r.Request.streams(r.Settings.Scenario)
}

// ModelName is the model's name in the catalogue.
func (r *Resolved) ModelName() string { return r.model.Name }

// lookUp finds the model and the division by their names, and checks the options of the model.
func (r *Resolved) lookUp() (err error) {
	q := &r.Request
	switch {
	case q.Model == "" && !q.noBenchmark():
		return userinput.Missing("model", "give a model of the catalogue, a model file, or the name of a model at the servers (remote_model)")
	case q.Scenario == "":
		return userinput.Missing("scenario", "give SingleStream, MultiStream, Server, Offline or Interactive")
	case q.freePrompts():
		p := q.Prompts
		r.model = prompts.Model(prompts.Config{
			Name:      cmp.Or(prompts.NameOf(q.Engine.Remote.Model), "endpoint"),
			Synthetic: max(p.Synthetic, p.Conversations), Words: p.Words, Answer: p.Answer, Exact: q.exact(),
			Prefixes: p.Prefixes, PrefixWords: p.PrefixWords, All: q.replays(),
			Turns: p.turns(), Delays: p.Delays, Recorded: p.Recorded, Task: p.task(), Inputs: p.inputs(),
		})
	case q.ownModel() && q.Engine.Name == engine.OIP:
		remote, file := &q.Engine.Remote, q.ModelPath
		if _, err := os.Stat(file); file != "" && err != nil {
			return userinput.Wrap("model_path", err)
		}
		if remote.Model == "" {
			remote.Model = servedName(file)
		}
		r.model, q.ModelPath = own.Served(remote.Model, file), "" // the servers have the model
	case q.asksServers():
		if r.model, err = models.LookupAny(q.Model); err == nil && r.model.OpenRemote == nil {
			err = fmt.Errorf("%s takes no prompts: servers of text are asked for language models only", r.model.Name)
		}
	default:
		if r.model, err = models.Find(q.Model, q.ModelPath); err != nil {
			if m, other := models.LookupAny(q.Model); other == nil {
				err = fmt.Errorf("%s does not run here: servers of text are asked (backend %s)", m.Name, engine.OpenAI)
			}
		}
	}
	if err != nil {
		return userinput.Wrap("model", err)
	}
	if rules, err := config.Rules(q.Rules); err == nil { // what is wrong with them is said later
		r.model = models.InRound(rules.Version, q.Model, r.model)
	}
	if r.files = r.model; q.asksServers() && !q.freePrompts() {
		r.model = r.model.Remote()
	}
	if r.division, err = config.ParseDivision(q.Division); err != nil {
		return userinput.Wrap("division", err)
	}
	if q.ownModel() && r.division == config.Closed {
		if q.origin("division") != config.Default {
			return userinput.Errorf("division", "the closed division has only the benchmarks of the rules: %s is of the open one", r.model.Name)
		}
		r.division = config.Open
	}
	if q.TargetAccuracy != 0 && !q.ownModel() {
		return userinput.Errorf("target_accuracy", "is of own models: %s has the target of the rules", q.Model)
	}
	if q.Rows != 0 {
		if err := builtin.CheckRows(r.model, q.Rows); err != nil {
			return err
		}
		if q.ModelPath != "" {
			return userinput.Errorf("rows", "is of built-in models, the model is %s", q.ModelPath)
		}
	}
	return r.model.CheckOptions(q.Options)
}

// ServedName is the name of the model at servers of this program.
func (r *Resolved) ServedName() string {
	if r.Request.ownModel() {
		return servedName(r.Request.ModelPath)
	}
	return r.model.Name
}

// servedName is the name of a model file at servers: without its ending, unless that is the name of a benchmark.
func servedName(file string) string {
	base := filepath.Base(file)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if _, err := models.LookupAny(name); err == nil || name == "" {
		return base
	}
	return name
}

// task is the route, if its answers are not texts.
func (p Prompts) task() string {
	if openai.IsTask(p.Route) {
		return p.Route
	}
	return ""
}

// inputs are how many texts a synthetic request has that asks for no text.
func (p Prompts) inputs() int {
	if p.Route == openai.Rerank {
		return cmp.Or(p.Inputs, 10)
	}
	return cmp.Or(p.Inputs, 1)
}

// turns are how many turns conversations have: those that are made up have 4.
func (p Prompts) turns() prompts.Lengths {
	if p.Conversations > 0 {
		return cmp.Or(p.Turns, "4")
	}
	return p.Turns
}

// exact reports whether responses have to be as long as their limit: those to synthetic prompts, after which models end
// anywhere.
func (q *Request) exact() bool { return q.Prompts.Synthetic > 0 || q.Prompts.Conversations > 0 }

// settings merges rules, conf files and overrides.
func (r *Resolved) settings() error {
	q := &r.Request
	rules, err := config.Rules(q.Rules)
	if err != nil {
		return userinput.Wrap("rules", err)
	}
	scenario, interactive, err := config.ParseScenario(q.Scenario)
	if err != nil {
		return userinput.Wrap("scenario", err)
	}
	if _, err := config.ParseMode(q.loadgenMode()); err != nil {
		return userinput.Errorf("mode", "%w, or find-peak", err)
	}
	if q.AutoLatency && scenario != loadgen.Server && (scenario != loadgen.MultiStream || rules.MultiStream != config.FixedIntervalQueries) {
		return userinput.Errorf("target_latency",
			"auto is for the Server scenario, which has a latency bound, and for MultiStream at the intervals of rules v0.5 to v1.0")
	}
	r.interactive = interactive && !q.noBenchmark()
	r.model.Rules.Interactive = r.interactive
	c := config.Request{Model: r.model.Rules, Known: models.RuleNames(), Scenario: scenario, Rules: rules}
	if q.freePrompts() {
		c.Options = q.promptSettings(scenario, interactive)
	}
	if q.Quick {
		c.Options = append(c.Options, config.QuickRun(scenario)...)
	} else if n := r.model.Turns; n > 0 && scenario == loadgen.SingleStream {
		c.Options = append(c.Options, config.Override{Key: "min_query_count", Value: fmt.Sprint(n), Origin: "recorded conversations", Role: limitation.RuleSet})
	}
	c.Options = append(c.Options, config.Override{Key: "mode", Value: q.loadgenMode(), Origin: q.origin("mode")})
	if scenario == loadgen.Server {
		c.Options = append(c.Options, q.objectiveSettings()...)
	}
	c.Options = append(c.Options, q.Settings...) // the user's come last, and win
	if err := r.replay(&c); err != nil {
		return err
	}

	if _, err := os.Stat("user.conf"); err == nil && q.UserConf == "" {
		q.UserConf = "user.conf"
	}
	r.confFiles = map[string][]byte{"mlperf.conf": rules.Conf.Format()}
	for _, f := range []struct {
		name, path string
		conf       **config.Conf
	}{{"mlperf.conf", q.MLPerfConf, &c.MLPerfConf}, {"user.conf", q.UserConf, &c.UserConf}, {"audit.config", q.AuditConf, &c.AuditConf}} {
		if f.path == "" {
			continue
		}
		if *f.conf, err = config.ReadConf(f.path, config.ParseOptions{AllowUnknownKeys: q.AllowUnknownKeys}); err != nil {
			return err
		}
		r.confFiles[f.name] = (*f.conf).Text
	}
	if r.Resolved, err = config.Resolve(c); err != nil {
		return err
	}
	r.Settings.ServerReplay = r.replayed
	for _, o := range q.SLO {
		if o.Of != report.OfLatency && !r.Settings.UseTokenLatencies {
			return userinput.Errorf("slo", "%v: the times of tokens are measured of language models only: it must be about the latency", o)
		}
	}
	if (q.ownModel() || q.Prompts.task() != "") && scenario == loadgen.Server && r.placeholder("target_latency") {
		q.AutoLatency = true
	}
	if q.noBenchmark() { // the rules know no model, which is no news
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "have no settings for the model") })
	}
	if s, ok := r.Setting("mode"); ok && q.Mode == FindPeak && s.Replaces != nil && r.Settings.Mode == loadgen.PerformanceOnly {
		r.Warnings = append(r.Warnings, s.Origin+": the mode is that of each test: find-peak still searches")
	}
	return userinput.Wrap("settings", r.Settings.Validate())
}

// objectiveSettings are the bounds of Server that objectives make. LoadGen has one bound of the latency, and judges those of tokens at
// the 99th percentile. A quick run keeps its own percentile.
func (q *Request) objectiveSettings() (list []config.Override) {
	set := func(key, value string) {
		if !slices.ContainsFunc(list, func(o config.Override) bool { return o.Key == key }) {
			list = append(list, config.Override{Key: key, Value: value, Origin: q.origin("slo")})
		}
	}
	for _, o := range q.SLO {
		bound, percentile := time.Duration(o.BoundNS).String(), strings.TrimPrefix(o.Percentile, "p")
		switch {
		case o.Of == report.OfLatency:
			set("target_latency", bound)
			if !q.Quick {
				set("target_latency_percentile", percentile)
			}
		case percentile != "99":
		case o.Of == report.OfFirstToken:
			set("ttft_latency", bound)
		default:
			set("tpot_latency", bound)
		}
	}
	return list
}

// promptSettings are the settings for prompts that belong to no benchmark, under those of the user. The bounds are those
// of llama2-70b, Server and Interactive (mlperf.conf since v4.1 and v5.0). All prompts are asked equally often, unless the user says how many
// are asked at least.
func (q *Request) promptSettings(s loadgen.Scenario, interactive bool) []config.Override {
	if !q.streams(s) && s != loadgen.Offline || q.Prompts.task() != "" {
		return nil
	}
	set := func(key, value string) config.Override {
		return config.Override{Key: key, Value: value, Origin: "prompts without a benchmark", Role: limitation.Prompts}
	}
	list := []config.Override{set("use_token_latencies", "true")}
	if !slices.ContainsFunc(q.Settings, func(o config.Override) bool { return o.Key == "min_query_count" }) { // which would be that of all prompts
		list = append(list, set("sample_concatenate_permutation", "true"))
	}
	if s == loadgen.Server {
		firstToken, perToken := "2000ms", "200ms"
		if interactive {
			firstToken, perToken = "450ms", "40ms"
		}
		// As many queries as the 99th percentile needs; the rules' number is that of images.
		list = append(list, set("ttft_latency", firstToken), set("tpot_latency", perToken),
			set("min_query_count", fmt.Sprint(loadgen.NeededQueries(1, 0.99))))
	}
	return list
}

// runs is how many runs make the result: of Server before v1.0, the lowest of five. A search for the highest load confirms it by as many.
func (r *Resolved) runs() int {
	if s := r.Settings; s.Scenario == loadgen.Server && s.Mode == loadgen.PerformanceOnly && (!r.Request.Quick || r.Request.Mode == FindPeak) {
		return r.Rules.ServerRuns
	}
	return 1
}

// needsTarget reports whether the rate, or the expected latency, of the scenario is only the rules' placeholder.
func (r *Resolved) needsTarget() bool {
	if r.Settings.Scenario == loadgen.Offline && r.Settings.MinDuration == 0 { // a number of samples, whatever the rate
		return false
	}
	return slices.ContainsFunc(loadgen.Settings(), func(s *loadgen.Setting) bool {
		return s.Speed && s.Scenario == r.Settings.Scenario.String() && r.placeholder(s.Key)
	})
}

// placeholder reports whether only the rules made a setting.
func (r *Resolved) placeholder(key string) bool {
	s, made := r.Setting(key)
	return !made || s.Role == limitation.RuleSet
}

// byQuickRun reports whether the quick run made a setting.
func (r *Resolved) byQuickRun(key string) bool {
	s, _ := r.Setting(key)
	return s.Role == limitation.QuickRun
}

// fewQueries reports whether the quick run, and not the user, chose the number of queries and the percentile: a slow
// model may have fewer then.
func (r *Resolved) fewQueries() bool {
	return r.byQuickRun("min_query_count") && r.byQuickRun("target_latency_percentile")
}

// fitStreams reports whether queries at fixed intervals may have fewer samples: in a quick run, if their number is only
// the rules' placeholder. Find-peak searches it.
func (r *Resolved) fitStreams() bool {
	atIntervals := r.Settings.Scenario == loadgen.MultiStream && r.Rules.MultiStream == config.FixedIntervalQueries
	return r.Request.Quick && r.Request.Mode != FindPeak && atIntervals && r.placeholder("samples_per_query")
}

// Subject is the subject of profiles that fit the request.
func (r *Resolved) Subject() profile.Subject {
	device := cmp.Or(r.Request.Backend.Device, "cpu")
	if r.Request.Engine.Name != engine.ONNXRuntime {
		device = r.Request.Engine.Name
	}
	return profile.Subject{
		Model: r.model.Name, Scenario: r.Settings.Scenario.String(), Device: device,
		Machine: profile.Machine{CPU: machine.Describe("").CPU.Model, Cores: runtime.GOMAXPROCS(0)},
	}
}

// ProfilePath is the file of a subject's profile.
func ProfilePath(s profile.Subject) (string, error) { return home.DataDir("profiles", s.FileName()) }

// profile sets the fields that the user did not give to the values of a profile.
func (r *Resolved) profile() error {
	q, path := &r.Request, r.Request.Profile
	if path == "" {
		return nil
	}
	subject := r.Subject()
	if path == Auto {
		var err error
		if path, err = ProfilePath(subject); err != nil {
			return err
		}
	}
	p, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) && q.Profile == Auto {
		model := "--model " + subject.Model
		if q.ownModel() {
			model = q.ModelPath
		}
		r.Notes = append(r.Notes, fmt.Sprintf("no profile of %s %s on this machine: mlperf tune %s --scenario %s makes one",
			subject.Model, subject.Scenario, model, strings.ToLower(subject.Scenario)))
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range [][3]string{{"model", p.Model, subject.Model}, {"scenario", p.Scenario, subject.Scenario}, {"device", p.Device, subject.Device}} {
		if !strings.EqualFold(f[1], f[2]) {
			return userinput.Errorf("profile", "the profile %s is of %s %s, this run of %s", path, f[0], f[1], f[2])
		}
	}
	if p.Machine != subject.Machine {
		r.Notes = append(r.Notes, fmt.Sprintf("the profile %s was made on another machine: %s, %d cores", path, p.Machine.CPU, p.Machine.Cores))
	}
	origin, remote := "profile "+path, q.Engine.IsRemote()
	var taken []string
	for _, s := range []struct {
		field, key, value string
		decided           bool // by the rest of the request
		set               func()
	}{
		{"instances", "instances", strconv.Itoa(p.Instances), q.Engine.Remote.Concurrency > 0 || q.asksServers(), func() { q.Instances = p.Instances }},
		{"intra_threads", "intra_threads", strconv.Itoa(p.Threads), q.Engine.SharedThreads > 0 || remote, func() { q.Backend.IntraThreads = p.Threads }},
		{"max_batchsize", "max_batch_size", strconv.Itoa(p.MaxBatch), q.asksServers(), func() { q.MaxBatch = p.MaxBatch }},
		{"max_batch_delay", "max_batch_delay", p.MaxDelay, false, func() { q.MaxDelay = p.Delay() }},
		{"model_path", "model_path", p.ModelPath, remote, func() { q.ModelPath = p.ModelPath }},
		{"precision", "precision", p.Precision, remote, func() { q.Precision = p.Precision }},
	} {
		if s.value != "" && q.origin(s.field) == config.Default && !s.decided {
			s.set()
			r.fromProfile = append(r.fromProfile, report.Setting{Key: s.key, Value: s.value, Origin: origin})
			taken = append(taken, s.key+" "+s.value)
		}
	}
	r.Notes = append(r.Notes, origin+": "+cmp.Or(strings.Join(taken, ", "), "all of its values were given otherwise"))
	if err := q.checkNumbers(); err != nil {
		return fmt.Errorf("the profile %s: %w", path, err)
	}
	return nil
}

// The number of requests under way, unless the user gives one.
const (
	samplesAtOnce  = 64  // inferences or tasks
	severalAtOnce  = 8   // samples of a model of several files: each takes hundreds of requests, and its state lies here
	offlineAtOnce  = 256 // prompts in Offline
	measuredAtOnce = 16  // prompts that measure the rate of Server
)

// servers chooses the workers of a run on servers, where a worker waits for a response and computes nothing, and refuses
// requests that servers cannot answer.
func (r *Resolved) servers() error {
	q, s := &r.Request, r.Settings.Scenario
	remote := &q.Engine.Remote
	if !q.Engine.IsRemote() {
		return nil
	}
	if q.asksServers() { // one predictor asks for all samples
		if r.Settings.UseTokenLatencies && s != loadgen.Offline && !r.streams() {
			return userinput.Errorf("stream", "%s has bounds on tokens in %v, and whole answers have no first one: it must be on", r.model.Name, s)
		}
		q.Instances, q.Backend.IntraThreads, q.MaxBatch = 1, 1, 1
		if remote.Concurrency == 0 {
			if s == loadgen.Offline {
				remote.Concurrency = offlineAtOnce
			}
			remote.FitFiles(machine.OpenFiles())
		}
		switch s {
		case loadgen.Offline:
			q.MaxBatch = min(remote.Concurrency, engine.WarmConnections)
		case loadgen.Server:
			q.MaxBatch = measuredAtOnce
		}
		return nil
	}

	network := r.division == config.Network
	if network {
		if s != loadgen.Server && s != loadgen.Offline {
			return userinput.Errorf("scenario", "the Network division has Server and Offline, not %v", s)
		}
		if field := userinput.FirstSet([]string{"max_batchsize", "max_batch_delay", "retry"}, q.MaxBatch > 1, q.MaxDelay > 0,
			remote.Retry > 0); field != "" {
			return userinput.Errorf(field, "is not for the Network division: on this side samples are neither gathered nor sent twice")
		}
	}
	if err := remote.CheckNames(r.model); err != nil {
		return err
	}
	if r.model.FilesRunTogether() && !network {
		return userinput.Errorf("backend",
			"%s keeps the state of its decoder in memory from step to step: over the protocol it would be sent for every token; use the "+
				"division network, which has servers answer whole samples (%s), or the engine %s",
			r.model.Name, remote.TaskName(r.model), engine.OpenAI)
	}
	if network && r.Settings.UseTokenLatencies && s == loadgen.Server {
		or := ""
		if r.model.OpenRemote != nil {
			or = ", or the engine " + engine.OpenAI
		}
		return userinput.Errorf("scenario", "%s bounds the time to the first token, and the answers of %s come whole: it must be offline%s",
			r.model.Name, remote.TaskName(r.model), or)
	}
	if remote.Concurrency == 0 && q.Instances == 0 {
		switch {
		case s == loadgen.SingleStream:
			q.Instances = 1
		case r.model.Roles != nil && !network:
			q.Instances = severalAtOnce
		default:
			q.Instances = samplesAtOnce
		}
	}
	q.Instances = cmp.Or(q.Instances, remote.Concurrency)
	remote.Concurrency = q.Instances
	q.MaxBatch = cmp.Or(q.MaxBatch, 1)
	q.Backend.IntraThreads = 1
	return nil
}
