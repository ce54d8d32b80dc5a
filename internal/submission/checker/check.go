package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Profile says how much is asked of a tree.
type Profile string

// The profiles.
const (
	Reference Profile = "reference" // what the official checker asks
	Strict    Profile = "strict"    // what the rules ask
)

// Options say what to judge.
type Options struct {
	Tree      string  // the folder with closed, open and network
	Rules     string  // a round, e.g. "v6.1"
	Profile   Profile // "" is Reference
	Submitter string  // "": all
}

// errNoResults is the error for a tree in which there is nothing to judge.
var errNoResults = errors.New("no results")

// Check judges a tree. A tree that does not pass is a report; an error means no
// judgement: the folder cannot be read, the round is unknown, or the tree has no
// results.
func Check(ctx context.Context, o Options) (*Report, error) {
	o.Profile = cmp.Or(o.Profile, Reference)
	round, err := rounds.Find(o.Rules)
	if err != nil {
		return nil, userinput.Invalid("rules", o.Rules, "one of "+strings.Join(rounds.Versions(), ", "))
	}
	if o.Profile != Reference && o.Profile != Strict {
		return nil, userinput.Invalid("profile", o.Profile, string(Reference+" or "+Strict))
	}
	if info, err := os.Stat(o.Tree); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", o.Tree)
	}
	l := &loader{tree: tree{o.Tree}, round: round, strict: o.Profile == Strict, submitter: o.Submitter}
	found, err := l.folders(".")
	if err != nil {
		return nil, err
	}
	for _, division := range found { // by name, as the official checker
		if !slices.Contains(rounds.Divisions(), division) {
			continue
		}
		for _, submitter := range l.list(division) {
			if l.submitter == "" || l.submitter == submitter {
				l.loadSubmitter(division, submitter)
			}
		}
	}
	report := &Report{Tree: o.Tree, Rules: o.Rules, Profile: o.Profile, Results: make([]Result, len(l.jobs))}
	// The results are judged on all processors, and beside them the tree is walked.
	err = workerpool.Each(ctx, 0, 1+len(l.jobs), func(ctx context.Context, i int) error {
		if i == 0 {
			return l.walk(ctx)
		}
		report.Results[i-1] = judge(l.jobs[i-1])
		return nil
	})
	if err != nil {
		return nil, err
	}
	report.Findings = sorted(l.found)
	userinput.Lines(report)
	fails := failing(report.Findings)
	_, fail := report.Counts()
	report.Passes = fail+fails == 0
	if len(report.Results)+fails == 0 {
		where := "in closed, open or network"
		if o.Submitter != "" {
			where = "of " + o.Submitter + " " + where
		}
		return report, fmt.Errorf("%s: %w %s: expected <division>/<submitter>/results/<system>/<benchmark>/<scenario>", filepath.Clean(o.Tree),
			errNoResults, where)
	}
	return report, nil
}

// A loader finds the results of a tree.
type loader struct {
	tree
	findings  // not about one result
	round     *rounds.Round
	strict    bool
	submitter string

	jobs []*job
}

// A job is one result to judge.
type job struct {
	*loader                     // read only
	division, submitter, system string
	benchmark, scenario, folder string
	model                       string
	description                 *description
	loaded                      []Finding // what loading found
}

// list lists folders; one that cannot be listed is a finding.
func (l *loader) list(path string) []string {
	names, err := l.folders(path)
	if err != nil {
		l.fail("tree-unreadable", problem{path: path, message: "cannot be listed: " + err.Error()})
	}
	return names
}

// assign gives findings to all results from the first on, or to the tree if there are none.
func (l *loader) assign(first int, found []Finding) {
	for _, j := range l.jobs[first:] {
		j.loaded = append(j.loaded, found...)
	}
	if first == len(l.jobs) {
		l.found = append(l.found, found...)
	}
}

func (l *loader) loadSubmitter(division, submitter string) {
	home := division + "/" + submitter
	if !l.exists(home + "/results") {
		l.fail("tree-results", problem{path: home, message: "the submitter has no results", wanted: "a folder results"})
		return
	}
	var own findings
	var mapping any // only the open division may have one
	if path := home + "/model_mapping.json"; division == "open" && l.exists(path) {
		var err error
		if mapping, err = l.readJSON(path); err != nil {
			own.unreadable("mapping-json", path, err, "")
		}
	}
	first := len(l.jobs)
	for _, system := range l.list(home + "/results") {
		l.loadSystem(job{loader: l, division: division, submitter: submitter, system: system}, mapping)
	}
	l.assign(first, own.found)
}

func (l *loader) loadSystem(j job, mapping any) {
	home := j.division + "/" + j.submitter + "/results/" + j.system
	j.description = l.describe(j.division, j.submitter, j.system)
	first := len(l.jobs)
	benchmarks := l.list(home)
	for _, benchmark := range benchmarks {
		j.benchmark = benchmark
		l.loadBenchmark(j, home+"/"+benchmark, mapping)
	}
	found := j.description.found
	if len(l.jobs) == first { // the official checker stops only for these where a system has no results
		found = slices.DeleteFunc(found, func(f Finding) bool {
			return !slices.Contains([]string{"system-missing", "system-json", "system-nameplate"}, f.Rule) &&
				(f.Rule != "system-type" || j.division == "open" || len(benchmarks) == 0)
		})
	}
	l.assign(first, found)
}

func (l *loader) loadBenchmark(j job, folder string, mapping any) {
	var own findings
	j.model = l.modelOf(&own, j, folder, mapping)
	scenarios := l.list(folder)
	if j.division != "open" && j.description.fields != nil {
		l.checkScenarios(&own, j, folder, scenarios)
	}
	first := len(l.jobs)
	for _, scenario := range scenarios {
		one := j
		one.scenario, one.folder = scenario, folder+"/"+scenario
		l.jobs = append(l.jobs, &one)
	}
	if len(scenarios) == 0 { // the official checker looks only at these
		own.found = slices.DeleteFunc(own.found, func(f Finding) bool { return f.Rule != "benchmark-unknown" || j.division == "open" })
	}
	l.assign(first, own.found)
	if !l.strict {
		return
	}
	folders := map[string]string{} // by scenario: Offline and offline are two folders of one
	for _, name := range scenarios {
		s := rounds.Scenario(name)
		if other, ok := folders[s]; ok && s != "" {
			l.fail("scenario-twice", problem{path: folder, message: s + " has two folders", found: other + ", " + name, wanted: "one"})
		}
		folders[s] = name
	}
}

// modelOf returns the official name of a benchmark.
func (l *loader) modelOf(own *findings, j job, folder string, mapping any) string {
	path := j.division + "/" + j.submitter + "/model_mapping.json"
	mapped := ""
	if _, isObject := mapping.(map[string]any); isObject {
		v := member(mapping, j.benchmark)
		text, isText := v.(string)
		if truth(v) && !isText {
			own.fail("mapping-json", problem{path: path, message: j.benchmark + " is mapped to something else than a text", found: str(v),
				wanted: "the official name of a benchmark"})
		}
		mapped = text
	} else if mapping != nil && l.round.ModelName(j.benchmark, "\x00") == "\x00" { // the official checker needs the mapping
		own.fail("mapping-json", problem{path: path, message: "not an object", found: str(mapping),
			wanted: "an object from names of models to official ones"})
	}
	name := l.round.ModelName(j.benchmark, mapped)
	if l.round.Model(name).Accuracy == nil {
		own.fail("benchmark-unknown", problem{path: folder, message: l.round.Version + " has no such benchmark", found: name,
			wanted: "one of " + strings.Join(l.round.Listed(), ", ")})
	}
	return name
}

// systemKinds are the values of system_type, and the kinds of systems in the tables of rounds.
var systemKinds = map[string]string{
	"edge": "edge", "datacenter": "datacenter", "datacenter,edge": "datacenter-edge", "edge,datacenter": "datacenter-edge",
}

// checkScenarios checks that a benchmark has the scenarios that closed and network ask for. One that is missing or unknown
// fails all of the benchmark.
func (l *loader) checkScenarios(own *findings, j job, folder string, have []string) {
	kind := systemKinds[j.description.systemType]
	if kind == "" {
		return // the check of the description says it
	}
	m := l.round.Model(j.model)
	required, known := m.Required[kind]
	if !known {
		if m.Accuracy != nil {
			own.fail("benchmark-unknown", problem{path: folder, message: l.round.Version + " has no " + j.model + " for systems of this type",
				found: j.description.systemType, wanted: "another system_type"})
		}
		return
	}
	contains := func(list []string, scenario string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, scenario) })
	}
	for _, s := range required {
		if !contains(have, s) {
			own.fail("scenario-missing", problem{path: folder, message: s + " is missing", found: strings.Join(have, ", "),
				wanted: strings.Join(required, ", ")})
		}
	}
	if m.WantsServer(kind) && !contains(have, "Interactive") && !contains(have, "Server") {
		own.fail("scenario-missing", problem{path: folder, message: "Interactive and Server are both missing", found: strings.Join(have, ", "),
			wanted: "one of the two, or both"})
	}
	allowed := slices.Concat(required, m.Optional[kind])
	for _, s := range have {
		if !contains(allowed, s) {
			own.fail("scenario-unknown",
				problem{path: folder + "/" + s, message: j.model + " has no such scenario on " + j.description.systemType + " systems", found: s,
					wanted: strings.Join(allowed, ", ")})
		}
	}
}
