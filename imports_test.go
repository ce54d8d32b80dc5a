package mlperf_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mlperf-go/mlperf/"

// mayImport says which packages of this module a package imports, and no others. Change it in the
// commit that changes the plan. Tests are not bound by it.
var mayImport = map[string]string{
	"cmd/mlperf": "internal/cli internal/cli/files internal/cli/measure internal/cli/request internal/cli/results internal/cli/selftest internal/cli/serving " +
		"internal/cli/submit internal/cli/survey internal/config internal/field internal/names internal/progress internal/report internal/session " +
		"internal/suite internal/visible",
	"internal/cli":         "internal/config internal/field internal/home internal/loadgen internal/machine internal/progress internal/suite internal/visible",
	"internal/cli/request": "internal/cli internal/config internal/field internal/session",
	"internal/cli/clitest": "internal/cli",
	"internal/cli/files": "configs internal/cache internal/cli internal/cli/request internal/download internal/field internal/home internal/machine internal/names " +
		"internal/progress internal/report internal/session",
	"internal/cli/measure": "internal/audit internal/bench internal/cli internal/cli/request internal/config internal/page internal/profile internal/progress " +
		"internal/report internal/session internal/suite internal/tune internal/whole",
	"internal/cli/results": "internal/charts internal/cli internal/cli/request internal/compare internal/figures internal/foreign internal/page internal/picture internal/report " +
		"internal/session internal/whole",
	"internal/cli/selftest": "internal/bench internal/cli internal/field internal/loadgen internal/report internal/scratch internal/session internal/tokenserver",
	"internal/cli/serving":  "internal/cli internal/cli/request internal/field internal/oip internal/oip/server internal/serve internal/session",
	"internal/cli/submit": "internal/cli internal/machine internal/report internal/session internal/submission/build internal/submission/checker internal/submission/description " +
		"internal/submission/output internal/submission/rounds internal/submission/truncate internal/whole",
	"internal/cli/survey": "internal/cli internal/config internal/loadgen internal/machine internal/names internal/scratch internal/session scripts",

	"configs": "",

	"internal/bench": "internal/accuracy internal/backend internal/charts internal/dataset internal/field internal/loadgen internal/loadgen/mlperflog internal/onnx " +
		"internal/machine internal/parallel internal/regular internal/report internal/tensor internal/whole internal/workload",
	"internal/builtin": "internal/whole internal/scratch internal/accuracy internal/backend internal/bench internal/dataset/captions internal/models/diffusion internal/tensor/npy internal/dataset/synth internal/dataset/volume internal/field internal/loadgen " +
		"internal/models/vision internal/networks internal/onnx internal/preprocess internal/preprocess/audio internal/tensor internal/workload internal/parallel",
	"internal/models": "internal/config internal/loadgen internal/models/diffusion internal/models/generative internal/models/recsys internal/models/speech internal/models/text internal/models/vision internal/workload internal/names",
	"internal/models/generative": "internal/accuracy internal/backend internal/coderun internal/config internal/dataset/prompts internal/field internal/generate internal/livecode internal/onnx internal/regular " +
		"internal/tensor internal/tokenizer/chat internal/tokenizer/hf internal/workload",
	"internal/models/recsys": "internal/accuracy internal/backend internal/config internal/dataset internal/tensor internal/workload",
	"internal/models/speech": "internal/accuracy internal/backend internal/config internal/dataset internal/field internal/generate internal/preprocess/audio internal/tensor internal/tokenizer/hf internal/workload",
	"internal/models/text": "internal/accuracy internal/backend internal/config internal/dataset internal/field internal/generate internal/loadgen internal/preprocess/text " +
		"internal/pytext internal/tensor internal/tokenizer internal/workload internal/regular",
	"internal/models/vision": "internal/accuracy internal/backend internal/config internal/dataset internal/dataset/volume internal/field " +
		"internal/preprocess internal/tensor internal/tensor/npy internal/workload internal/regular",
	"internal/workload": "internal/accuracy internal/backend internal/backend/hostmem internal/config internal/field internal/tensor",
	"internal/convert":  "internal/whole internal/backend internal/bench internal/loadgen internal/networks internal/onnx internal/quantize internal/scratch internal/tensor internal/tfcheckpoint internal/workload",
	"internal/quantize": "internal/backend internal/onnx internal/parallel internal/scratch internal/tensor",

	"internal/submission/checker":  "internal/field internal/parallel internal/submission/fields internal/submission/python internal/submission/rounds internal/submission/tree internal/submission/truncate",
	"internal/submission/output":   "internal/field internal/submission/checker internal/submission/rounds internal/visible",
	"internal/submission/python":   "",
	"internal/submission/rounds":   "",
	"internal/submission/tree":     "internal/regular",
	"internal/submission/truncate": "internal/regular internal/submission/python internal/submission/tree internal/whole",

	"internal/submission/build": "internal/config internal/field internal/loadgen internal/loadgen/mlperflog internal/models internal/regular internal/report " +
		"internal/scratch internal/submission/checker internal/submission/description internal/submission/fields internal/submission/rounds internal/submission/truncate",
	"internal/submission/description": "internal/field internal/machine internal/regular internal/submission/fields",
	"internal/submission/fields":      "",

	"internal/audit": "internal/accuracy internal/config internal/field internal/loadgen internal/loadgen/mlperflog internal/models " +
		"internal/regular internal/report internal/scratch internal/session internal/submission/rounds",
	"internal/report": "internal/loadgen internal/regular internal/visible internal/whole",
	"internal/suite": "internal/whole internal/config internal/field internal/machine internal/models internal/names internal/regular internal/report internal/session " +
		"internal/submission/rounds internal/visible internal/workload",
	"internal/tune":    "internal/backend internal/field internal/loadgen internal/profile internal/session internal/regular",
	"internal/foreign": "internal/config internal/field internal/loadgen internal/loadgen/mlperflog internal/models internal/report",
	"internal/session": "internal/scratch internal/artifacts internal/credentials internal/oip internal/network internal/whole internal/backend/openai internal/endpoint internal/models/prompts internal/backend internal/backend/oip internal/backend/ort internal/backend/simulated internal/bench internal/builtin internal/charts internal/config internal/convert " +
		"internal/page " +
		"internal/dataset internal/field internal/home internal/loadgen internal/loadgen/mlperflog internal/machine internal/models internal/oip/client internal/onnx " +
		"internal/cache internal/power " +
		"internal/profile internal/quantize internal/report internal/tensor internal/tensor/npy internal/tokenserver internal/workload internal/regular",
	"internal/progress":    "internal/loadgen internal/visible",
	"internal/visible":     "",
	"internal/profile":     "internal/loadgen internal/regular internal/whole",
	"internal/config":      "configs internal/field internal/loadgen internal/names internal/regular",
	"internal/field":       "",
	"internal/credentials": "internal/field internal/regular",

	"internal/backend":             "internal/histogram internal/onnx internal/tensor",
	"internal/backend/hostmem":     "internal/tensor",
	"internal/backend/openai":      "internal/backend internal/endpoint internal/field internal/tensor internal/visible internal/wire",
	"internal/backend/ort":         "internal/backend internal/home internal/names internal/onnx internal/regular internal/scratch internal/tensor",
	"internal/backend/ort/orttest": "internal/backend/ort",
	"internal/backend/simulated":   "internal/backend internal/tensor",
	"internal/backend/oip":         "internal/backend internal/oip internal/oip/client internal/tensor",

	"internal/oip":            "internal/tensor",
	"internal/oip/client":     "internal/credentials internal/oip internal/oip/shm internal/tensor internal/visible",
	"internal/oip/oiptest":    "internal/oip internal/oip/server internal/tensor",
	"internal/oip/oiptest/pb": "",
	"internal/oip/shm":        "internal/scratch",
	"internal/oip/server":     "internal/oip internal/oip/shm internal/tensor",

	"internal/artifacts":     "internal/backend internal/loadgen internal/report internal/whole",
	"internal/cache":         "",
	"scripts":                "",
	"internal/power":         "internal/regular",
	"internal/power/ptdtest": "",
	"internal/serve":         "internal/backend internal/bench internal/credentials internal/field internal/oip internal/oip/server internal/regular internal/tensor internal/workload",
	"internal/network":       "internal/field internal/tensor internal/workload",
	"internal/download":      "internal/whole configs internal/accuracy internal/field internal/home internal/jpeg internal/parallel internal/preprocess",

	"internal/dataset":         "internal/accuracy internal/dataset/pickle internal/dataset/volume internal/jpeg internal/parallel internal/pytext internal/regular internal/tensor internal/tensor/npy",
	"internal/dataset/pickle":  "",
	"internal/dataset/prompts": "internal/dataset/pickle internal/regular",
	"internal/dataset/synth":   "internal/livecode internal/tokenserver internal/scratch internal/tokenizer/clip internal/jpeg internal/parallel internal/whole internal/tensor internal/tensor/npy",
	"internal/dataset/volume":  "internal/parallel internal/regular",

	"internal/preprocess":            "internal/exif internal/jpeg internal/tensor",
	"internal/preprocess/audio":      "",
	"internal/preprocess/text":       "internal/pytext internal/tokenizer",
	"internal/tokenizer":             "internal/pytext",
	"internal/generate":              "internal/backend internal/backend/hostmem internal/tensor internal/workload",
	"internal/jinja":                 "internal/pytext",
	"internal/tokenizer/chat":        "internal/jinja internal/regular",
	"internal/tokenizer/hf":          "internal/regular",
	"internal/pytext":                "",
	"internal/sentences":             "internal/pytext",
	"internal/englishtext":           "internal/pytext",
	"internal/coderun":               "internal/scratch",
	"internal/livecode":              "internal/coderun internal/dataset/pickle internal/regular",
	"internal/models/modeltest":      "internal/config internal/loadgen internal/workload",
	"internal/models/prompts":        "internal/accuracy internal/backend internal/config internal/dataset/prompts internal/tensor internal/workload",
	"internal/tokenserver/tokentest": "internal/tokenserver",
	"internal/exif":                  "",
	"internal/jpeg":                  "internal/exif",

	"internal/loadgen":           "internal/names",
	"internal/loadgen/mlperflog": "internal/loadgen internal/regular internal/whole",
	"internal/accuracy":          "internal/englishtext internal/grading internal/parallel internal/pytext internal/sentences",
	"internal/grading":           "internal/pytext",
	"internal/networks":          "internal/onnx",
	"internal/scratch":           "",
	"internal/whole":             "internal/regular internal/scratch",
	"internal/onnx":              "internal/regular internal/tensor internal/whole",
	"internal/endpoint":          "internal/credentials internal/field",
	"internal/wire":              "",
	"internal/tokenserver":       "",
	"internal/tensor":            "",
	"internal/tfcheckpoint":      "internal/regular",
	"internal/tensor/npy":        "internal/tensor internal/whole",
	"internal/home":              "",
	"internal/longtest":          "",
	"internal/testfile":          "",
	"internal/histogram":         "",
	"internal/figures":           "internal/charts internal/histogram internal/report",
	"internal/page":              "internal/charts internal/compare internal/figures internal/loadgen internal/report internal/whole",
	"internal/picture":           "internal/figures",
	"internal/compare":           "internal/charts internal/figures internal/report",
	"internal/charts":            "internal/histogram internal/loadgen internal/regular internal/whole",
	"internal/machine":           "",
	"internal/names":             "",
	"internal/parallel":          "",
	"internal/regular":           "",

	"internal/tfcheckpoint/checkpointtest": "",

	"internal/dataset/captions": "internal/accuracy internal/dataset/pickle internal/regular internal/tensor internal/tensor/npy",
	"internal/models/diffusion": "internal/accuracy internal/backend internal/config internal/dataset/captions internal/field internal/preprocess internal/regular " +
		"internal/tensor internal/tensor/npy internal/tokenizer/clip internal/workload",
	"internal/tokenizer/clip": "internal/pytext internal/regular internal/tokenizer/hf",
}

// owners are the packages that may import a third-party module.
var owners = map[string]string{
	"github.com/adrg/xdg":               "internal/home",
	"github.com/cenkalti/backoff/":      "internal/download",
	"github.com/ebitengine/purego":      "internal/power",
	"github.com/dustin/go-humanize":     "internal/cache internal/download internal/progress",
	"github.com/gofrs/flock":            "internal/cache internal/download internal/session internal/suite internal/tune",
	"github.com/jedib0t/go-pretty/":     "internal/cli internal/report internal/suite internal/compare",
	"github.com/schollz/progressbar/":   "internal/progress",
	"github.com/shirou/gopsutil/":       "internal/machine",
	"github.com/spf13/cobra":            "cmd/mlperf internal/cli internal/cli/clitest internal/cli/files internal/cli/measure internal/cli/results internal/cli/selftest internal/cli/serving internal/cli/submit internal/cli/survey",
	"github.com/spf13/pflag":            "cmd/mlperf internal/cli internal/cli/files internal/cli/measure internal/cli/request internal/cli/selftest internal/cli/serving internal/cli/submit internal/cli/survey",
	"github.com/spf13/viper":            "internal/config",
	"github.com/yalue/onnxruntime_go":   "internal/backend/ort",
	"go.yaml.in/yaml/":                  "internal/submission/checker internal/suite",
	"golang.org/x/sync/":                "internal/parallel",
	"github.com/mewkiz/flac":            "internal/preprocess/audio",
	"golang.org/x/sys/":                 "internal/backend/hostmem internal/backend/ort internal/machine internal/oip/client internal/submission/build",
	"golang.org/x/text/":                "internal/englishtext internal/grading internal/jinja internal/tokenizer internal/tokenizer/clip internal/tokenizer/hf",
	"github.com/dlclark/regexp2":        "internal/tokenizer/hf",
	"github.com/parquet-go/parquet-go":  "internal/dataset/prompts internal/dataset/synth",
	"golang.org/x/term":                 "internal/cli internal/progress",
	"gonum.org/v1/gonum/":               "internal/loadgen internal/accuracy internal/charts internal/compare internal/config internal/preprocess/audio",
	"google.golang.org/grpc":            "internal/oip internal/oip/client internal/oip/server",
	"gonum.org/v1/plot":                 "internal/picture",
	"google.golang.org/protobuf/":       "internal/onnx internal/oip internal/oip/oiptest/pb internal/tfcheckpoint internal/tfcheckpoint/checkpointtest",
	"github.com/disintegration/imaging": "internal/preprocess",
}

type listed struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // without it the plan would name imports that are not there
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

func TestPackagesImportOnlyWhatThePlanAllows(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if name+"/" == module {
			continue // this folder has tests only
		}
		seen[name] = true
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s is not in the plan of imports", name)
		}
		for _, path := range p.Imports {
			if inside, ok := strings.CutPrefix(path, module); ok {
				if !slices.Contains(strings.Fields(allowed), inside) {
					t.Errorf("%s imports %s, which the plan does not allow", name, inside)
				}
			} else if strings.Contains(path, ".") {
				checkOwner(t, name, path)
			}
		}
		for inside := range strings.FieldsSeq(allowed) {
			if !slices.Contains(p.Imports, module+inside) {
				t.Errorf("the plan allows %s to import %s, which it does not", name, inside)
			}
		}
	}
	for name := range mayImport {
		if !seen[name] {
			t.Errorf("the plan has %s, which is not a package", name)
		}
	}
}

// TestVerbsAreOnTopAndDoNotKnowEachOther holds the plan itself to what it may say of the command line.
func TestVerbsAreOnTopAndDoNotKnowEachOther(t *testing.T) {
	shared := []string{"internal/cli", "internal/cli/request", "internal/cli/clitest"}
	for name, allowed := range mayImport {
		verbs := name == "cmd/mlperf" || within(name, "internal/cli")
		for to := range strings.FieldsSeq(allowed) {
			switch {
			case within(to, "internal/cli") && !verbs:
				t.Errorf("%s may import %s, which is for the command line only", name, to)
			case within(to, "internal/cli") && name != "cmd/mlperf" && !slices.Contains(shared, to):
				t.Errorf("%s may import %s: what both need belongs into %s", name, to, shared)
			case verbs && (within(to, "internal/models") || within(to, "internal/dataset") || within(to, "internal/accuracy")):
				t.Errorf("%s may import %s, which verbs reach through session", name, to)
			}
		}
	}
}

// within reports whether a package is another or below it.
func within(name, other string) bool { return name == other || strings.HasPrefix(name, other+"/") }

func checkOwner(t *testing.T, name, path string) {
	t.Helper()
	for prefix, packages := range owners {
		if strings.HasPrefix(path, prefix) {
			if !slices.Contains(strings.Fields(packages), name) {
				t.Errorf("%s imports %s, which is for %s", name, path, packages)
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no owner in the plan", name, path)
}
