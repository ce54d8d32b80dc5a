package mlperf_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mlperf-go/mlperf/"

// rules protect the decisions behind the architecture: from imports none of not, but for except. A name stands for a package
// and all below it.
var rules = []struct{ from, not, except, why string }{
	{"internal/loadgen", "internal configs", "internal/loadgen internal/userinput internal/fileio internal/machine/priority internal/machine/cgroup", "the load generator knows no model, engine or file format"},
	{"internal/models", "internal/harness internal/run internal/cli", "", "only the harness joins models and load generator"},
	{"internal/backend", "internal/models internal/harness internal/run internal/loadgen internal/cli", "", "engines know no benchmark"},
	{"internal/accuracy", "internal/models internal/backend internal/loadgen internal/harness internal/run", "", "metrics know values and files"},
	{"internal/harness", "internal/models internal/run internal/cli", "internal/models/workload", "the harness runs any benchmark"},
	{"internal/cli", "internal/models internal/dataset internal/accuracy", "", "verbs reach benchmarks through run"},
}

// owners are the only packages that may import a module, or the command line. gonum and the extended standard library are shared.
var owners = map[string]string{
	module + "internal/cli":             "cmd internal/cli",
	"github.com/HdrHistogram/":          "internal/backend",
	"github.com/adrg/xdg":               "internal/machine/home",
	"github.com/ardanlabs/jinja":        "internal/models/tokenizer/chat",
	"github.com/cenkalti/backoff/":      "internal/download",
	"github.com/disintegration/imaging": "internal/preprocess",
	"github.com/nlpodyssey/gopickle/":   "internal/dataset/pickle",
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
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // the files with cgo import what others do not
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name := strings.TrimPrefix(fields[0], module)
		for _, path := range fields[1:] {
			inside := strings.TrimPrefix(path, module)
			for _, r := range rules {
				if within(name, r.from) && within(inside, r.not) && !within(inside, r.except) {
					t.Errorf("%s imports %s: %s", name, inside, r.why)
				}
			}
			for prefix, packages := range owners {
				if strings.HasPrefix(path, prefix) && !within(name, packages) {
					t.Errorf("%s imports %s, which belongs to %s", name, path, packages)
				}
			}
		}
	}
}

// TestFilesAreWrittenByFileio: what the program writes or renames goes through fileio, which follows no links to files of others and
// leaves no half-written ones. Packages for tests are left out.
func TestFilesAreWrittenByFileio(t *testing.T) {
	forbidden := []string{"Create", "CreateTemp", "WriteFile", "OpenFile", "Rename", "Symlink", "Link", "Truncate"}
	seen := 0
	check := func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/fileio/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		forTests := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == `"testing"` || i.Path.Value == `"`+module+`internal/testenv"`
		})
		if forTests {
			return nil
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(forbidden, s.Sel.Name) {
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "os" {
					t.Errorf("%s calls os.%s: want a function of internal/fileio", name, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	}
	for _, root := range []string{"cmd", "internal"} {
		if err := filepath.WalkDir(root, check); err != nil {
			t.Error(err)
		}
	}
	if seen < 100 {
		t.Errorf("%d files read", seen)
	}
}
