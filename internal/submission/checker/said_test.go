package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// said is a finding as the tables of the tests write it: the rule, the place, and all that is
// said. What a folder has in front of a path is left out by under.
func said(f Finding, under string) string {
	text := f.Rule + " " + strings.TrimPrefix(f.Path, under+"/")
	if f.Line > 0 {
		text += fmt.Sprint(":", f.Line)
	}
	text += ": " + f.Message
	if f.Found != "" {
		text += "; found " + f.Found
	}
	if f.Wanted != "" {
		text += "; want " + f.Wanted
	}
	if f.Level == Notes {
		text += " (note)"
	}
	return text
}

// wantSaid compares findings with what a row of a table wants said, in the order of a report.
func wantSaid(t *testing.T, got []Finding, under string, want ...string) {
	t.Helper()
	texts := make([]string, 0, len(got))
	for _, f := range sorted(slices.Clone(got)) {
		texts = append(texts, said(f, under))
		if f.Fix == "" {
			t.Errorf("the rule %s says not what to do", f.Rule)
		}
	}
	if !slices.Equal(texts, want) {
		t.Errorf("said:\n\t%s\nwant:\n\t%s", strings.Join(texts, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// roundOf is a round that there is.
func roundOf(t testing.TB, version string) *rounds.Round {
	t.Helper()
	r, err := rounds.Find(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A bench is a tree in which one check is judged alone: only the files are there that it reads.
type bench struct {
	t    testing.TB
	root string
	g    *judgement
}

// newBench is the judgement of a result of a model in closed, in the scenario of its folder.
func newBench(t testing.TB, version, model, scenario string) *bench {
	t.Helper()
	l := &loader{tree: tree.Tree{Root: t.TempDir()}, round: roundOf(t, version)}
	j := &job{
		loader: l, division: "closed", submitter: "Org", system: "box", benchmark: "resnet50", model: model,
		scenario: scenario, folder: "closed/Org/results/box/resnet50/" + scenario,
		description: &description{systemType: "edge", dict: &python.Dict{}, path: "closed/Org/systems/box.json"},
	}
	return &bench{t, l.tree.Root, &judgement{job: j, rule: l.round.Model(model), lines: python.NewLines(nil)}}
}

// write puts a text at a path below the result's folder, or from the root if that starts with a slash.
func (b *bench) write(path, text string) {
	b.t.Helper()
	if rest, fromRoot := strings.CutPrefix(path, "/"); fromRoot {
		path = rest
	} else {
		path = b.g.folder + "/" + path
	}
	writeFile(b.t, filepath.Join(b.root, path), []byte(text))
}

func (b *bench) mkdir(path string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Join(b.root, b.g.folder, path), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// logOf is a log with a message for each line "key value", and where only a key stands, a message
// without a value.
func logOf(t testing.TB, path string, lines ...string) *detailLog {
	t.Helper()
	log := &detailLog{path: path, values: map[string]entry{}}
	if err := log.read(python.NewLines(strings.NewReader(logText(lines...)))); err != nil {
		t.Fatal(err)
	}
	return log
}

func logText(lines ...string) string {
	var text strings.Builder
	for _, line := range lines {
		key, value, has := strings.Cut(line, " ")
		if has {
			value = `"value": ` + value + ", "
		}
		fmt.Fprintf(&text, `:::MLLOG {"key": %q, %s"time_ms": 1.5, "metadata": {"is_error": false, "is_warning": false}}`+"\n", key, value)
	}
	return text.String()
}

// changed returns lines in which each change replaces the one of its key, or is added to them; a
// change that starts with a minus takes the line out.
func changed(lines []string, changes ...string) []string {
	lines = slices.Clone(lines)
	for _, c := range changes {
		key, _, _ := strings.Cut(strings.TrimPrefix(c, "-"), " ")
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line+" ", key+" ") })
		switch {
		case strings.HasPrefix(c, "-"):
			lines = slices.Delete(lines, i, i+1)
		case i < 0:
			lines = append(lines, c)
		default:
			lines[i] = c
		}
	}
	return lines
}

func (b *bench) remove(path string) {
	b.t.Helper()
	if err := os.RemoveAll(filepath.Join(b.root, b.g.folder, path)); err != nil {
		b.t.Fatal(err)
	}
}
