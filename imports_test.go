package mlperf_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/mlperf-go/mlperf/"

// rules protect the decisions behind the architecture: from imports none of not, but for except. A name stands for a package
// and all below it.
var rules = []struct{ from, not, except, why string }{
	{"internal/loadgen", "internal configs", "internal/loadgen internal/userinput internal/units internal/fileio internal/machine/clock internal/machine/priority internal/machine/cgroup", "the load generator knows no model, engine or file format"},
	{"internal/models", "internal/harness internal/run internal/cli", "", "only the harness joins models and load generator"},
	{"internal/backend", "internal/models internal/harness internal/run internal/loadgen internal/cli", "", "engines know no benchmark"},
	{"internal/accuracy", "internal/models internal/backend internal/loadgen internal/harness internal/run", "", "metrics know values and files"},
	{"internal/harness", "internal/models internal/run internal/cli", "internal/models/workload", "the harness runs any benchmark"},
	{"internal/tokenizer", "internal", "internal/tokenizer internal/fileio internal/userinput", "text and tokens know no model"},
	{"internal/cli", "internal/models internal/dataset internal/accuracy", "", "verbs reach benchmarks through run"},
}

// Rooms are the folders of internal. Of two, one at most imports the other.
func TestRoomsDoNotImportEachOther(t *testing.T) {
	imports := map[[2]string]string{} // of rooms, by one of the packages
	for from, list := range packages(t) {
		for _, path := range list {
			if a, b := room(from), room(path); a != b && a != "" && b != "" {
				imports[[2]string{a, b}] = from + " imports " + path
			}
		}
	}
	for pair, why := range imports {
		if back, found := imports[[2]string{pair[1], pair[0]}]; found && pair[0] < pair[1] {
			t.Errorf("%s and %s import each other: %s, %s", pair[0], pair[1], why, back)
		}
	}
	rooms := map[string]bool{}
	for name := range packages(t) {
		rooms[room(name)] = true
	}
	if delete(rooms, ""); len(rooms) > 26 {
		t.Errorf("internal has %d rooms, at most 26 are a table of contents: what has one user lives with it", len(rooms))
	}
	if len(imports) < 50 {
		t.Errorf("%d imports between rooms", len(imports))
	}
}

// room is the folder of internal that a package of the module lies in; empty: none.
func room(name string) string {
	inside, found := strings.CutPrefix(name, "internal/")
	if !found {
		return ""
	}
	first, _, _ := strings.Cut(inside, "/")
	return first
}

// packages are the imports of each package of the module, without those of its tests. Those of the module are without its name.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

var listed = sync.OnceValues(func() (map[string][]string, error) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // the files with cgo import what others do not
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(strings.ReplaceAll(line, module, ""))
		all[fields[0]] = fields[1:]
	}
	return all, nil
})

// owners are the only packages that may import a module, or the command line. gonum and the extended standard library are shared.
var owners = map[string]string{
	"internal/cli":                      "cmd internal/cli",
	"github.com/HdrHistogram/":          "internal/backend",
	"github.com/adrg/xdg":               "internal/machine/home",
	"github.com/ardanlabs/jinja":        "internal/tokenizer/chat",
	"github.com/cenkalti/backoff/":      "internal/download",
	"github.com/disintegration/imaging": "internal/preprocess",
	"github.com/nlpodyssey/gopickle/":   "internal/tensor/pickle",
	"github.com/parquet-go/parquet-go":  "internal/dataset internal/builtin/synth",
	"github.com/shirou/gopsutil/":       "internal/machine",
	"github.com/schollz/progressbar/":   "internal/cli/progress",
	"github.com/spf13/cobra":            "cmd internal/cli",
	"github.com/spf13/viper":            "internal/config",
	"github.com/yalue/onnxruntime_go":   "internal/backend/ort",
}

func TestImports(t *testing.T) {
	// within reports whether a package is one of a list, or below it.
	within := func(name, list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
	}
	for name, list := range packages(t) {
		for _, path := range list {
			for _, r := range rules {
				if within(name, r.from) && within(path, r.not) && !within(path, r.except) {
					t.Errorf("%s imports %s: %s", name, path, r.why)
				}
			}
			for prefix, of := range owners {
				if strings.HasPrefix(path, prefix) && !within(name, of) {
					t.Errorf("%s imports %s, which belongs to %s", name, path, of)
				}
			}
		}
	}
}

// TestFilesAreWrittenByFileio: what the program writes or renames goes through fileio, which follows no links to files of others and
// leaves no half-written ones.
func TestFilesAreWrittenByFileio(t *testing.T) {
	forbidden := []string{"Create", "CreateTemp", "WriteFile", "OpenFile", "Rename", "Symlink", "Link", "Truncate"}
	eachUse(t, "os", forbidden, func(file, call string) {
		if !strings.HasPrefix(file, "internal/fileio/") {
			t.Errorf("%s calls %s: want a function of internal/fileio", file, call)
		}
	})
}

// TestMeasuringReadsTheFinestClock: in rooms that measure, the time comes from machine/clock.
func TestMeasuringReadsTheFinestClock(t *testing.T) {
	rooms := []string{"backend", "harness", "loadgen", "models", "run", "serve", "tune"}
	eachUse(t, "time", []string{"Now", "Since"}, func(file, call string) {
		if name, found := strings.CutPrefix(path.Dir(file), "internal/"); found && slices.Contains(rooms, strings.Split(name, "/")[0]) {
			t.Errorf("%s calls %s: want a function of internal/machine/clock", file, call)
		}
	})
}

// eachUse finds the uses of functions of a package of the standard library.
func eachUse(t *testing.T, pkg string, functions []string, found func(file, call string)) {
	t.Helper()
	eachFile(t, func(name string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(functions, s.Sel.Name) {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == pkg {
					found(name, pkg+"."+s.Sel.Name)
				}
			}
			return true
		})
	})
}

// Errors say what must be, what was expected, or what to give; "want" is the word of tests.
func TestErrorsArePlain(t *testing.T) {
	wanted := regexp.MustCompile(`(^|[,:;?] )[Ww]ant `)
	eachFile(t, func(name string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && wanted.MatchString(strings.Trim(s.Value, "`\"")) && name != "internal/report/older.go" && !strings.HasPrefix(name, "internal/accuracy/englishtext/") {
				t.Errorf("%s: %s", name, s.Value)
			}
			return true
		})
	})
}

// eachFile parses the files of the program. Those of packages for tests are left out.
func eachFile(t *testing.T, look func(name string, file *ast.File)) {
	t.Helper()
	seen := 0
	for _, root := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name := filepath.ToSlash(path)
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			forTests := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
				return i.Path.Value == `"testing"` || i.Path.Value == `"`+module+`internal/testenv"`
			})
			if !forTests {
				seen++
				look(name, file)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if seen < 100 {
		t.Errorf("%d files read", seen)
	}
}
