package survey

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/run"
)

// alone goes to an empty folder with an empty cache.
func alone(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range []string{"MLPERF_CACHE_DIR", "MLPERF_DATA_DIR"} {
		t.Setenv(name, t.TempDir())
	}
}

func TestTheCatalogueIsListed(t *testing.T) {
	alone(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "models, if nobody says what", Args: []string{"list"}, Want: []string{"MODEL", "resnet50", "BUILT-IN MODEL"}},
		{Name: "models", Args: []string{"list", "models"}, Want: []string{"resnet50", "llama2-70b"}},
		{Name: "data sets", Args: []string{"list", "datasets"}, Want: []string{"DATA SET", "imagenet", "FOLDER"}},
		{Name: "backends", Args: []string{"list", "backends"}, Want: []string{"onnxruntime", "simulated", "openai"}},
		{Name: "suites", Args: []string{"list", "suites"}, Want: []string{"SUITE", "mlmark", "the five benchmarks of MLPerf Inference v0.5"}},
		{Name: "suites as JSON", Args: []string{"list", "suites", "--json"}, Want: []string{`"schema": "mlperf-go/suite-list/1"`, `"name": "edge"`}},
		{Name: "what is none", Args: []string{"list", "chickens"}, Status: cli.ExitUsage, Want: []string{`cannot list "chickens", want models, datasets, backends or suites`}},
		{Name: "two at once", Args: []string{"list", "models", "datasets"}, Status: cli.ExitUsage, Want: []string{`unexpected argument "datasets"`}},
		{Name: "nothing, of a variable that is not set", Args: []string{"list", ""}, Status: cli.ExitUsage, Want: []string{"an argument is empty"}},
		{Name: "a model", Args: []string{"show", "ResNet-50"}, Want: []string{"resnet50: ", "target    accuracy ≥ 75.6954: 99 % of the official 76.46\n", "\nServer, rules v6.1\n", "(mlperf synth model resnet50)"}},
		{Name: "a model of another round", Args: []string{"show", "--rules", "v0.5", "gnmt"}, Want: []string{", rules v0.5\n"}},
		{Name: "a model that is none", Args: []string{"show", "alexnet"}, Status: cli.ExitUsage, Want: []string{`unknown model "alexnet"`}},
		{Name: "rules that are none", Args: []string{"show", "resnet50", "--rules", "v9"}, Status: cli.ExitUsage, Want: []string{`unknown rules "v9"`}},
		{Name: "no model", Args: []string{"show"}, Status: cli.ExitUsage, Want: []string{"show: want MODEL"}},
	})
}

func TestListsAsJSONHaveARowForEach(t *testing.T) {
	alone(t)
	models, err := run.Models()
	if err != nil {
		t.Fatal(err)
	}
	sets, err := run.Datasets()
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{"models": len(models), "datasets": len(sets), "backends": len(run.Backends())} {
		o := clitest.Run(t, Commands(), "list", what, "--json")
		var d struct {
			Schema string
			Rows   []map[string]any
		}
		if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil || d.Schema != "mlperf-go/list/1" || len(d.Rows) != want || want == 0 {
			t.Errorf("%s: %s with %d rows, %v, want %d", what, d.Schema, len(d.Rows), err, want)
		}
	}
	o := clitest.Run(t, Commands(), "show", "resnet50", "--json")
	var card struct {
		Schema string
		run.Card
	}
	if err := json.Unmarshal([]byte(o.Stdout), &card); err != nil || card.Schema != "mlperf-go/model/1" || card.Name != "resnet50" || card.Reference != 76.46 || len(card.Scenarios) < 4 {
		t.Errorf("%s: %s %g, %v", card.Schema, card.Name, card.Reference, err)
	}
}

func TestACardSaysHowToMakeWhatIsBuiltIn(t *testing.T) {
	for builtIn, want := range map[string]string{"none here": "built-in  none here\n", "official architecture": "built-in  official architecture (mlperf synth model m)\n"} {
		var b strings.Builder
		c := run.Card{Model: run.Model{Name: "m", BuiltIn: builtIn}, Metric: "mAP", Reference: 50, Fraction: 0.99}
		if err := showCard(&b, &c); err != nil || !strings.HasSuffix(b.String(), want) || !strings.Contains(b.String(), "target    mAP ≥ 49.5: 99 % of the official 50\n") {
			t.Errorf("%s, %v, want %s", b.String(), err, want)
		}
	}
}
