package survey

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
)

// TestFlagsThatWouldBePassedOverAreNamed: who gives one expects it to do something.
func TestFlagsThatWouldBePassedOverAreNamed(t *testing.T) {
	alone(t)
	var cases []clitest.Case
	for _, c := range []struct{ name, args, want string }{
		{"plan a percentile of a model", "plan --percentile 99 --model resnet50", "--model is of the runs of a model, and --percentile asks for numbers of queries"},
		{"plan a percentile under rules", "plan --percentile 99 --rules v5.1", "--rules is of the runs of a model"},
		{"plan a percentile at a speed", "plan --samples-per-second 5 --percentile 99", "--samples-per-second is of the runs of a model"},
		{"plan a percentile of bytes", "plan --percentile 99 --value-bytes 4", "--value-bytes is of the runs of a model"},
		{"plan a percentile of links", "plan --percentile 99 --network", "--network is of the runs of a model"},
		{"plan runs with a confidence", "plan --model resnet50 --confidence 95", "--confidence is of --percentile, which is not given"},
		{"plan runs with a margin", "plan --model resnet50 --margin 1", "--margin is of --percentile, which is not given"},
		{"trace pairs that nobody asked for", "trace --pairs 5", "--pairs is of --aggregation, which is not given"},
		{"trace pairs as JSON", "trace --aggregation --pairs 5 --json", "--json is of the traffic of a test, and --aggregation prints something else"},
		{"trace pairs of a scenario", "trace --aggregation --scenario server", "--scenario is of the traffic of a test"},
		{"diagnose without asking what is not asked", "doctor --yes", "--yes is of --fix, and nothing is asked without it"},
	} {
		cases = append(cases, clitest.Case{Name: c.name, Args: strings.Fields(c.args), Status: cli.ExitUsage, Want: []string{c.want}})
	}
	clitest.Check(t, Commands, cases)
}

// TestWhatSuitsAPlanIsTakenFromTheEnvironment, and the flag on the command line says which plan it is.
func TestWhatSuitsAPlanIsTakenFromTheEnvironment(t *testing.T) {
	alone(t)
	t.Setenv("MLPERF_PERCENTILE", "90")
	t.Setenv("MLPERF_CONFIDENCE", "99")
	t.Setenv("MLPERF_PAIRS", "7")
	t.Setenv("MLPERF_YES", "true")
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a percentile alone", Args: []string{"plan"}, Want: []string{"to know the 90 % tail latency"}},
		{Name: "a model on the command line", Args: []string{"plan", "--model", "resnet50"}, Want: []string{"resnet50 under rules v6.1"}, Not: []string{"to know the 90 %"}},
		{Name: "a percentile on the command line", Args: []string{"plan", "--percentile", "99"}, Want: []string{"to know the 99 % tail latency"}},
		{Name: "pairs for whom they are", Args: []string{"trace", "--min-query-count", "3", "--min-duration", "0"}, Want: []string{"queries with "}},
	})
	t.Setenv("MLPERF_MODEL", "mobilenet")
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a percentile and a model, both from there", Args: []string{"plan"}, Want: []string{"to know the 90 % tail latency"}},
		{Name: "a percentile on the command line, a model from there", Args: []string{"plan", "--percentile", "95"}, Want: []string{"to know the 95 % tail latency"}},
	})
}

// TestACardHasAllThatTheTargetAsksFor: images have a CLIP score that is bounded on both sides, and an FID.
func TestACardHasAllThatTheTargetAsksFor(t *testing.T) {
	alone(t)
	clitest.Check(t, Commands, []clitest.Case{
		// tools/submission, constants.py: CLIP 31.68631873 to 31.81331801, FID 23.01085758 to 23.95007626
		{Name: "images", Args: []string{"show", "stable-diffusion-xl"}, Want: []string{"≥ 31.6863", "≤ 31.8133\n", "and       23.0109 ≤ ", "≤ 23.9501\n"}},
		{Name: "texts", Args: []string{"show", "llama2-70b"}, Want: []string{"target    rouge1 ≥ 43.98", "and       rouge2 ≥ 21.81", "and       rougeL ≥ 28.33"}},
		{Name: "one number", Args: []string{"show", "resnet50"}, Want: []string{"target    accuracy ≥ 75.6954"}, Not: []string{"and  "}},
		{Name: "as JSON", Args: []string{"show", "llama2-70b", "--json"}, Want: []string{`"also": [`, `"rouge2 ≥ 21.81`}},
	})
}

func TestWhatCannotBeListedHasANearName(t *testing.T) {
	alone(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a letter too few", Args: []string{"list", "model"}, Status: cli.ExitUsage, Want: []string{`cannot list "model", want models, datasets, backends or suites; did you mean models?`}},
		{Name: "nothing like it", Args: []string{"list", "chickens"}, Status: cli.ExitUsage, Want: []string{"want models, datasets, backends or suites"}, Not: []string{"did you mean"}},
	})
}
