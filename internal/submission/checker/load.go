package checker

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// A loader finds what there is to judge.
type loader struct {
	notebook  // findings that are not of one result
	tree      tree.Tree
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
	preset                      []Finding // what loading found
	endpoints                   bool      // measured without LoadGen
}

var divisions = []string{"closed", "network", "open"}

func (l *loader) load() error {
	found, err := l.tree.Folders(".")
	if err != nil {
		return err
	}
	for _, division := range divisions {
		if !slices.Contains(found, division) {
			continue
		}
		for _, submitter := range l.folders(division) {
			if l.submitter == "" || l.submitter == submitter {
				l.loadSubmitter(division, submitter)
			}
		}
	}
	return nil
}

// folders lists folders; one that cannot be listed is a finding.
func (l *loader) folders(path string) []string {
	names, err := l.tree.Folders(path)
	if err != nil {
		l.fail("tree-unreadable", problem{path: path, message: "cannot be listed: " + err.Error()})
	}
	return names
}

func (l *loader) loadSubmitter(division, submitter string) {
	home := division + "/" + submitter
	if !l.tree.Exists(home + "/results") {
		l.fail("tree-results", problem{path: home, message: "the submitter has no results", wanted: "a folder results"})
		return
	}
	var book notebook
	mapping := l.mapping(&book, division, home)
	before := len(l.jobs)
	for _, system := range l.folders(home + "/results") {
		l.loadSystem(job{loader: l, division: division, submitter: submitter, system: system}, mapping)
	}
	l.blame(l.jobs[before:], book.findings)
}

// blame gives findings to results, or to the tree if there are none.
func (l *loader) blame(jobs []*job, findings []Finding) {
	for _, j := range jobs {
		j.preset = append(j.preset, findings...)
	}
	if len(jobs) == 0 {
		l.findings = append(l.findings, findings...)
	}
}

// mapping returns what model_mapping.json says. Only the open division may have one.
func (l *loader) mapping(book *notebook, division, home string) python.Value {
	path := home + "/model_mapping.json"
	if division != "open" || !l.tree.Exists(path) {
		return nil
	}
	v, err := readJSON(l.tree, path)
	if err != nil {
		book.fail("mapping-json", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
	}
	return v
}

func (l *loader) loadSystem(j job, mapping python.Value) {
	home := j.division + "/" + j.submitter + "/results/" + j.system
	j.description = l.describe(j.division, j.submitter, j.system)
	before := len(l.jobs)
	benchmarks := l.folders(home)
	for _, benchmark := range benchmarks {
		j.benchmark = benchmark
		l.loadBenchmark(j, home+"/"+benchmark, mapping)
	}
	found := j.description.findings
	if len(l.jobs) == before {
		found = j.description.fatal(j.division != "open" && len(benchmarks) > 0)
	}
	l.blame(l.jobs[before:], found)
}

func (l *loader) loadBenchmark(j job, folder string, mapping python.Value) {
	var book notebook
	j.model = l.modelOf(&book, j, folder, mapping)
	folders := l.folders(folder)
	if j.division != "open" && j.description.dict != nil {
		l.scenarios(&book, j, folder, folders)
	}
	before := len(l.jobs)
	for _, scenario := range folders {
		one := j
		one.scenario, one.folder = scenario, folder+"/"+scenario
		l.jobs = append(l.jobs, &one)
	}
	if len(l.jobs) == before { // the official checker looks only at these
		book.findings = slices.DeleteFunc(book.findings, func(f Finding) bool { return f.Rule != "benchmark-unknown" || j.division == "open" })
	}
	l.blame(l.jobs[before:], book.findings)
	if l.strict {
		l.twice(folder, folders)
	}
}

// modelOf returns the official name of a benchmark.
func (l *loader) modelOf(book *notebook, j job, folder string, mapping python.Value) string {
	own := ""
	if d, ok := mapping.(*python.Dict); ok {
		v, _ := d.Get(j.benchmark)
		text, isText := v.(string)
		if python.Truth(v) && !isText {
			book.fail("mapping-json", problem{path: j.division + "/" + j.submitter + "/model_mapping.json", message: j.benchmark + " is mapped to what is not a text", found: python.Str(v), wanted: "the official name of a benchmark"})
		}
		own = text
	} else if name := l.round.ModelName(j.benchmark, "\x00"); mapping != nil && name == "\x00" {
		book.fail("mapping-json", problem{path: j.division + "/" + j.submitter + "/model_mapping.json", message: "is not an object", found: python.Str(mapping), wanted: "an object from names of models to official ones"})
	}
	name := l.round.ModelName(j.benchmark, own)
	if l.round.Model(name).Accuracy == nil {
		book.fail("benchmark-unknown", problem{path: folder, message: l.round.Version + " has no such benchmark", found: name, wanted: "one of " + strings.Join(l.listed(), ", ")})
	}
	return name
}

func (l *loader) listed() []string {
	names := []string{}
	for name, m := range l.round.Models {
		if m.Listed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
