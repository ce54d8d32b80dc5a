package checker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

const goodMeasurements = `{
 "input_data_types": "fp32",
 "retraining": "no",
 "starting_weights_filename": "resnet50_v1.onnx",
 "weight_data_types": "fp32",
 "weight_transformations": "none"
}
`

// measured is a result with all that is asked for beside its logs.
func measured(t *testing.T, version string) *bench {
	t.Helper()
	b := newBench(t, version, "resnet", "Offline")
	name, source := "measurements.json", "src"
	if b.g.round.Before6() {
		name, source = "box_impl_Offline.json", "code"
	}
	folder := "/" + b.g.measurementsFolder() + "/"
	b.write(folder+name, goodMeasurements)
	b.write(folder+"user.conf", "resnet50.Offline.target_qps = 1\n")
	b.write(folder+"README.md", "run it\n")
	b.write("/closed/Org/"+source+"/run.py", "pass\n")
	return b
}

func TestWhatIsWrongWithMeasurementsIsNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(b *bench)
		want   []string
	}{
		{"nothing", func(*bench) {}, nil},
		{"no user.conf", func(b *bench) { b.remove("user.conf") }, []string{"measure-file user.conf: the file is missing"}},
		{"an empty user.conf", func(b *bench) { b.write("user.conf", "") }, []string{"measure-file user.conf: the file is empty; found 0 bytes; want content"}},
		{"a user.conf of one line end", func(b *bench) { b.write("user.conf", "\n") }, nil},
		{"a README in other letters", func(b *bench) { b.remove("README.md"); b.write("readme.md", "x") }, []string{"measure-file README.md: the file is missing"}},
		{"no measurements", func(b *bench) { b.remove("measurements.json") }, []string{"measure-missing measurements.json: the measurements are missing; want a JSON file"}},
		{"measurements of the older rounds", func(b *bench) { b.remove("measurements.json"); b.write("box_impl_Offline.json", goodMeasurements) },
			[]string{"measure-missing measurements.json: the measurements are missing; want a JSON file"}},
		{"measurements that are cut", func(b *bench) { b.write("measurements.json", "{\n\"retraining\": \"no\"\n") },
			[]string{`measure-json measurements.json:3: cannot be read: byte 21: want "," or "}"`}},
		{"measurements that are a text", func(b *bench) { b.write("measurements.json", `"x"`) }, []string{"measure-json measurements.json: is not an object; found x"}},
		{"a field of the wrong name", func(b *bench) {
			b.write("measurements.json", strings.Replace(goodMeasurements, "retraining", "Retraining", 1))
		},
			[]string{"measure-field measurements.json: field retraining is missing; want retraining"}},
		{"an empty field", func(b *bench) { b.write("measurements.json", strings.Replace(goodMeasurements, `"no"`, `""`, 1)) },
			[]string{"measure-field measurements.json: field retraining is empty; want a text that is not empty"}},
		{"a field that is false", func(b *bench) { b.write("measurements.json", strings.Replace(goodMeasurements, `"no"`, `false`, 1)) },
			[]string{"measure-field measurements.json: field retraining is empty; found False; want a text that is not empty"}},
		{"weights that cannot be printed", func(b *bench) {
			b.write("measurements.json", strings.Replace(goodMeasurements, `"weight_data_types": "fp32"`, `"weight_data_types": "\udfff"`, 1))
		}, []string{"system-text measurements.json: weight_data_types has half of a surrogate pair; want characters that can be written as UTF-8"}},
		{"the folder is a file", func(b *bench) { b.remove("."); b.write("", "x") }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := measured(t, "v6.1")
			if c.name == "the folder is a file" {
				b.remove(".")
				writeFile(t, filepath.Join(b.root, b.g.folder), []byte("x"))
				if b.g.checkMeasurements(); len(b.g.findings) != 1 || !strings.HasPrefix(b.g.findings[0].Message, "cannot be listed: ") {
					t.Errorf("findings %v", b.g.findings)
				}
				return
			}
			c.change(b)
			b.g.checkMeasurements()
			wantSaid(t, b.g.findings, b.g.folder, c.want...)
		})
	}
}

func TestMeasurementsOfOlderRoundsLieBesideResults(t *testing.T) {
	const folder = "closed/Org/measurements/box/resnet50/Offline"
	for _, c := range []struct {
		name   string
		change func(b *bench)
		want   []string
	}{
		{"nothing", func(*bench) {}, nil},
		{"of any name that starts with the system's", func(b *bench) { b.rename(folder+"/box_impl_Offline.json", folder+"/boxer.json") }, nil},
		{"of another system", func(b *bench) { b.rename(folder+"/box_impl_Offline.json", folder+"/other_impl_Offline.json") },
			[]string{"measure-missing box_<implementation>_Offline.json: the measurements are missing; want a JSON file"}},
		{"the first of two", func(b *bench) { b.write("/"+folder+"/box_a_Offline.json", "[]") },
			[]string{"measure-json box_a_Offline.json: is not an object; found []"}},
		{"none at all", func(b *bench) { b.removeAll("closed/Org/measurements") },
			[]string{"measure-missing " + folder + ": the folder is missing; want measurements, user.conf and README.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := measured(t, "v5.1")
			c.change(b)
			b.g.checkMeasurements()
			wantSaid(t, b.g.findings, folder, c.want...)
		})
	}
}

func (b *bench) rename(from, to string) {
	b.t.Helper()
	if err := os.Rename(filepath.Join(b.root, from), filepath.Join(b.root, to)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) removeAll(path string) {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.root, path)); err != nil {
		b.t.Fatal(err)
	}
}

func TestTheSourceIsWhereTheRoundWantsIt(t *testing.T) {
	for _, c := range []struct{ version, have, want string }{
		{"v6.1", "src", ""}, {"v6.0", "src", ""}, {"v5.1", "code", ""}, {"v5.0", "code", ""},
		{"v6.1", "code", "tree-source closed/Org/src: the source is missing; want the code of the benchmark"},
		{"v5.1", "src", "tree-source closed/Org/code: the source is missing; want the code of the benchmark"},
	} {
		b := newBench(t, c.version, "resnet", "Offline")
		b.write("/closed/Org/"+c.have+"/a.py", "x")
		if b.g.checkSource(); c.want == "" {
			wantSaid(t, b.g.findings, "")
		} else {
			wantSaid(t, b.g.findings, "", c.want)
		}
	}
}

func TestScenariosOfABenchmark(t *testing.T) {
	const (
		interactive = "scenario-missing f: neither Interactive nor Server is there; found Offline; want one of the two, or both"
		missing     = "scenario-missing f: "
	)
	for _, c := range []struct {
		name, model, kind, have string
		want                    []string
	}{
		{"all on an edge system", "resnet", "edge", "SingleStream MultiStream Offline", nil},
		{"in any letters", "resnet", "edge", "singlestream MULTISTREAM offline", nil},
		{"one missing", "resnet", "edge", "SingleStream Offline", []string{missing + "MultiStream is missing; found SingleStream, Offline; want SingleStream, MultiStream, Offline"}},
		{"none there", "resnet", "edge", "", []string{
			missing + "SingleStream is missing; want SingleStream, MultiStream, Offline",
			missing + "MultiStream is missing; want SingleStream, MultiStream, Offline",
			missing + "Offline is missing; want SingleStream, MultiStream, Offline"}},
		{"one too many", "resnet", "edge", "SingleStream MultiStream Offline Server", []string{
			"scenario-unknown f/Server: resnet has no such scenario on edge systems; found Server; want SingleStream, MultiStream, Offline"}},
		{"one of no round", "resnet", "edge", "SingleStream MultiStream Offline notes", []string{
			"scenario-unknown f/notes: resnet has no such scenario on edge systems; found notes; want SingleStream, MultiStream, Offline"}},
		{"a language model with Server", "llama3.1-8b", "datacenter", "Offline Server", nil},
		{"or with Interactive", "llama3.1-8b", "datacenter", "Offline interactive", nil},
		{"or with both", "llama3.1-8b", "datacenter", "Offline Server Interactive", nil},
		{"but not with neither", "llama3.1-8b", "datacenter", "Offline", []string{interactive}},
		{"on systems that it is not for", "llama3.1-8b", "edge", "Offline", []string{
			"benchmark-unknown f: v6.1 has no llama3.1-8b for systems of this type; found edge; want another system_type"}},
		{"of a type that no system has", "resnet", "Edge", "", nil}, // which the description's check says
		{"of a model that the round does not know", "nobody", "edge", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &loader{round: roundOf(t, "v6.1")}
			var book notebook
			l.scenarios(&book, job{loader: l, model: c.model, description: &description{systemType: c.kind}}, "f", strings.Fields(c.have))
			wantSaid(t, book.findings, "", c.want...)
		})
	}
}

func TestAScenarioHasOneFolder(t *testing.T) {
	l := &loader{}
	l.twice("f", []string{"Offline", "notes", "offline", "Server", "others"})
	wantSaid(t, l.findings, "", "scenario-twice f: Offline has two folders; found Offline, offline; want one")
}

// TestATreeIsWalked plants one thing at a time in a tree that has nothing else to find.
func TestATreeIsWalked(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(e *edit)
		want []string // of strict; those with a star, of reference too, as notes
	}{
		{"texts at the root", func(e *edit) { e.write("README.md", "x"); e.write("a.pdf", "x") }, nil},
		{"what is not submitted", func(e *edit) { e.write(".git/config", "x"); e.write(".github/a b", "x"); e.write("assets/x.png", "x") }, nil},
		{"a file at the root", func(e *edit) { e.write("a.txt", "x") }, []string{"tree-root-file a.txt: does not belong at the root; want *.md and *.pdf"}},
		{"a folder at the root", func(e *edit) { e.write("Closed/a.md", "x") }, []string{
			"tree-folder-unknown Closed: is not a division; found Closed; want closed, network, open",
			"tree-division-file Closed/a.md: does not belong in a division; want folders of submitters"}},
		{"a file of a division", func(e *edit) { e.write("open/a.md", "x") }, []string{"tree-division-file open/a.md: does not belong in a division; want folders of submitters"}},
		{"a hidden file", func(e *edit) { e.write("open/Org/.DS_Store", "x") }, []string{"tree-name open/Org/.DS_Store: the name starts with a point; found .DS_Store; want another name"}},
		{"the hidden file that keeps a folder", func(e *edit) { e.write("open/Org/docs/.gitkeep", "") }, nil},
		{"a name with a space", func(e *edit) { e.write("open/Org/a b", "x") }, []string{"tree-name open/Org/a b: the name has a space; found a b; want a name without spaces"}},
		{"a folder whose name has a space", func(e *edit) { e.write("open/O rg/a", "x") }, []string{"tree-name open/O rg: the name has a space; found O rg; want a name without spaces"}},
		{"compiled Python", func(e *edit) { e.write("open/Org/__pycache__/a.pyc", "x") }, []string{"tree-pycache open/Org/__pycache__: compiled Python files are not submitted"}},
		{"an empty folder", func(e *edit) { e.mkdir("open/Org/src") }, []string{"tree-empty-folder open/Org/src: the folder is empty"}},
		{"an empty division", func(e *edit) { e.mkdir("closed") }, []string{"tree-empty-folder closed: the folder is empty"}},
		{"a link to nowhere", func(e *edit) { e.mkdir("open/Org"); e.symlink("gone", "open/Org/l") }, []string{"tree-link-broken open/Org/l: the link leads nowhere; found gone; want a file"}},
		{"a link within", func(e *edit) { e.write("open/Org/a", "x"); e.symlink("a", "open/Org/l") }, nil},
		{"a link to a folder above in the tree", func(e *edit) { e.mkdir("open/Org"); e.symlink("../..", "open/Org/l") }, nil},
		{"a link out", func(e *edit) { e.mkdir("open/Org"); e.symlink("/etc", "open/Org/l") }, []string{"*tree-link-outside open/Org/l: the link leaves the tree; found /etc; want a file of the tree"}},
		{"a file of just 50 MiB", func(e *edit) { e.write("open/Org/a", ""); e.ok(os.Truncate(e.at("open/Org/a"), 50<<20)) }, nil},
		{"a larger file", func(e *edit) { e.write("open/Org/a", ""); e.ok(os.Truncate(e.at("open/Org/a"), 50<<20+1)) },
			[]string{"tree-large-file open/Org/a: the file is too large; found 52428801 bytes; want ≤ 52428800 bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &edit{t, t.TempDir()}
			c.make(e)
			for _, strict := range []bool{true, false} {
				l := &loader{tree: tree.Tree{Root: e.root}, strict: strict}
				if err := l.hygiene(context.Background()); err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, text := range c.want {
					plain, both := strings.CutPrefix(text, "*")
					switch {
					case strict:
						want = append(want, plain)
					case both:
						want = append(want, plain+" (note)")
					}
				}
				wantSaid(t, l.findings, "", want...)
			}
		})
	}
}

func TestOneSubmitterIsWalkedAlone(t *testing.T) {
	e := &edit{t, t.TempDir()}
	for _, path := range []string{"open/Org/a b", "open/Other/a b", "closed/Other/x/.y", "README.txt"} {
		e.write(path, "x")
	}
	l := &loader{tree: tree.Tree{Root: e.root}, strict: true, submitter: "Org"}
	if err := l.hygiene(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, l.findings, "",
		"tree-root-file README.txt: does not belong at the root; want *.md and *.pdf",
		"tree-name open/Org/a b: the name has a space; found a b; want a name without spaces")
}

func TestOrphansAndCalibrationAreOfSubmittersWithResults(t *testing.T) {
	e := &edit{t, t.TempDir()}
	for _, home := range []string{"closed/Org", "open/Org", "network/Org"} {
		e.write(home+"/systems/box.json", "{}")
	}
	e.write("closed/Org/systems/left.json", "{}")
	e.write("closed/Org/systems/box_power.yaml", "")
	e.write("network/Org/calibration.md", "how it was done\n")
	l := &loader{tree: tree.Tree{Root: e.root}, strict: true}
	for _, division := range divisions {
		l.jobs = append(l.jobs, &job{loader: l, division: division, submitter: "Org", system: "box"})
	}
	l.orphans()
	wantSaid(t, l.findings, "closed/Org",
		"tree-calibration documentation/calibration.md: calibration is not described; want the file",
		"tree-orphan systems/left.json: the system has no results; want closed/Org/results/left")
}

func TestWhatIsLoaded(t *testing.T) {
	paths := func(l *loader) string {
		var all []string
		for _, j := range l.jobs {
			all = append(all, j.folder+"="+j.model)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		name, submitter string
		make            func(e *edit)
		jobs            string
		want            []string
	}{
		{"results in the order of divisions", "", func(e *edit) {
			for _, division := range []string{"open", "closed"} {
				e.write(division+"/Org/systems/box.json", "[]")
				e.mkdir(division + "/Org/results/box/bert-99/Offline")
			}
		}, "closed/Org/results/box/bert-99/Offline=bert-99 open/Org/results/box/bert-99/Offline=bert-99", nil},
		{"of one submitter", "B", func(e *edit) {
			for _, who := range []string{"A", "B"} {
				e.write("open/"+who+"/systems/box.json", "[]")
				e.mkdir("open/" + who + "/results/box/resnet50/Offline")
			}
		}, "open/B/results/box/resnet50/Offline=resnet", nil},
		{"a submitter without results", "", func(e *edit) { e.mkdir("closed/Org/systems") }, "",
			[]string{"tree-results closed/Org: the submitter has no results; want a folder results"}},
		{"a system without results or description", "", func(e *edit) { e.mkdir("closed/Org/results/box") }, "",
			[]string{"system-missing closed/Org/systems/box.json: the system has no description; want a JSON file"}},
		{"another name in open", "", func(e *edit) {
			e.write("open/Org/systems/box.json", "[]")
			e.write("open/Org/model_mapping.json", `{"mine": "bert-99"}`)
			e.mkdir("open/Org/results/box/mine/Offline")
		}, "open/Org/results/box/mine/Offline=bert-99", nil},
		{"which closed must not have", "", func(e *edit) {
			e.write("closed/Org/systems/box.json", "[]")
			e.write("closed/Org/model_mapping.json", `{"mine": "bert-99"}`)
			e.mkdir("closed/Org/results/box/mine/Offline")
		}, "closed/Org/results/box/mine/Offline=mine", nil},
		{"a mapping that is cut, without results", "", func(e *edit) {
			e.write("open/Org/model_mapping.json", "{\n")
			e.mkdir("open/Org/results")
		}, "", []string{"mapping-json open/Org/model_mapping.json:2: cannot be read: byte 2: want a name in quotes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &edit{t, t.TempDir()}
			c.make(e)
			l := &loader{tree: tree.Tree{Root: e.root}, round: roundOf(t, "v6.1"), submitter: c.submitter}
			if err := l.load(); err != nil {
				t.Fatal(err)
			}
			if got := paths(l); got != c.jobs {
				t.Errorf("results %s, want %s", got, c.jobs)
			}
			wantSaid(t, l.findings, "", c.want...)
		})
	}
}

func TestModelsAreNamedByTheMappingFirst(t *testing.T) {
	const file = "mapping-json open/Org/model_mapping.json: "
	unknown := func(found string) string {
		return "benchmark-unknown f: v6.1 has no such benchmark; found " + found + "; want one of " + strings.Join((&loader{round: roundOf(t, "v6.1")}).listed(), ", ")
	}
	for _, c := range []struct {
		name, benchmark, mapping, model string
		want                            []string
	}{
		{"an official name", "bert-99", "", "bert-99", nil},
		{"an alias", "resnet50", "", "resnet", nil},
		{"a name that nobody knows", "mine", "", "mine", []string{unknown("mine")}},
		{"mapped to an official name", "mine", `{"mine": "bert-99"}`, "bert-99", nil},
		{"mapped to nothing", "mine", `{"mine": ""}`, "mine", []string{unknown("mine")}},
		{"mapped to a list", "mine", `{"mine": ["bert-99"]}`, "mine", []string{
			unknown("mine"), file + "mine is mapped to what is not a text; found ['bert-99']; want the official name of a benchmark"}},
		{"a mapping of others", "bert-99", `{"mine": "resnet"}`, "bert-99", nil},
		{"a mapping that is a list, and needed", "mine", `[1]`, "mine", []string{
			unknown("mine"), file + "is not an object; found [1]; want an object from names of models to official ones"}},
		{"a mapping that is a list, and not needed", "resnet50", `[1]`, "resnet", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &loader{round: roundOf(t, "v6.1")}
			var mapping python.Value
			if c.mapping != "" {
				var err error
				if mapping, err = python.DecodeJSON([]byte(c.mapping)); err != nil {
					t.Fatal(err)
				}
			}
			var book notebook
			got := l.modelOf(&book, job{loader: l, division: "open", submitter: "Org", benchmark: c.benchmark}, "f", mapping)
			if got != c.model {
				t.Errorf("%s, want %s", got, c.model)
			}
			wantSaid(t, book.findings, "", c.want...)
		})
	}
}

func TestWhatCannotBeJudgedIsAnError(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "file"), []byte("x"))
	if err := os.MkdirAll(filepath.Join(root, "empty/open/Org/results"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Tree: root + "/empty", Rules: "v4.1"}, `rules is "v4.1", want one of v5.0, v5.1, v6.0, v6.1`},
		{Options{Tree: root + "/empty", Rules: ""}, `rules is "", want one of v5.0, v5.1, v6.0, v6.1`},
		{Options{Tree: root + "/empty", Rules: "v6.1", Profile: "lax"}, "profile is lax, want reference or strict"},
		{Options{Tree: root + "/gone", Rules: "v6.1"}, "no such file or directory"},
		{Options{Tree: root + "/file", Rules: "v6.1"}, "file is not a folder"},
		{Options{Tree: root + "/empty/", Rules: "v6.1"}, root + "/empty: no results in closed, open or network: want <division>/<submitter>/results/<system>/<benchmark>/<scenario>"},
		{Options{Tree: root + "/empty", Rules: "v6.1", Submitter: "Other"}, "no results of Other in closed, open or network"},
	} {
		if _, err := Check(context.Background(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
}

func TestRulesAreListedByName(t *testing.T) {
	list := Rules()
	if !slices.IsSortedFunc(list, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) }) || len(list) != len(rules) {
		t.Errorf("%d of %d rules, in the order %v", len(list), len(rules), list)
	}
	for _, r := range list {
		if strings.HasSuffix(r.Fix, ".") || strings.ToLower(r.ID) != r.ID || len(r.Title) > 70 {
			t.Errorf("rule %+v is not told as the others", r)
		}
	}
}
