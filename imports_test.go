package mlperf_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/mlperf-go/mlperf/"

// rules protect the decisions behind the architecture: a package that matches from imports no package that matches one of not.
// A name stands for a package and all below it.
var rules = []struct {
	from   string
	not    []string
	except []string
	why    string
}{
	{from: "internal/loadgen", not: []string{"internal", "configs"}, except: []string{"internal/loadgen", "internal/userinput", "internal/fileio"},
		why: "the load generator knows no model, engine or file format"},
	{from: "internal/models", not: []string{"internal/harness", "internal/run", "internal/cli"}, why: "only the harness joins models and load generator"},
	{from: "internal/backend", not: []string{"internal/models", "internal/harness", "internal/run", "internal/loadgen", "internal/cli"}, why: "engines know no benchmark"},
	{from: "internal/accuracy", not: []string{"internal/models", "internal/backend", "internal/loadgen", "internal/harness", "internal/run"}, why: "metrics know values and files"},
	{from: "internal/harness", not: []string{"internal/models", "internal/run", "internal/cli"}, except: []string{"internal/models/workload"}, why: "the harness runs any benchmark"},
	{from: "internal", not: []string{"internal/cli", "cmd"}, except: []string{"internal/cli"}, why: "libraries never know the command line"},
	{from: "internal/cli", not: []string{"internal/models", "internal/dataset", "internal/accuracy"}, why: "verbs reach benchmarks through run"},
}

// owners are the packages that may import a third-party module. gonum and the extended standard library are shared.
var owners = map[string]string{
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
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, path := range p.Imports {
			if inside, ok := strings.CutPrefix(path, module); ok {
				for _, r := range rules {
					if within(name, r.from) && !(r.from == "internal" && within(name, "internal/cli")) && anyOf(inside, r.not) && !anyOf(inside, r.except) {
						t.Errorf("%s imports %s: %s", name, inside, r.why)
					}
				}
				continue
			}
			for prefix, packages := range owners {
				if strings.HasPrefix(path, prefix) && !anyOf(name, strings.Fields(packages)) {
					t.Errorf("%s imports %s, which belongs to %s", name, path, packages)
				}
			}
		}
	}
}

// within reports whether a package is another or below it.
func within(name, other string) bool { return name == other || strings.HasPrefix(name, other+"/") }

func anyOf(name string, others []string) bool {
	for _, other := range others {
		if within(name, other) {
			return true
		}
	}
	return false
}

type listed struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // the files with cgo import what others do not
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
