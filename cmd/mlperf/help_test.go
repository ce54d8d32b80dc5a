package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestHelpFitsIntoAHundredColumns(t *testing.T) {
	for _, cmd := range commands(newRoot(io.Discard, io.Discard)) {
		cmd.InitDefaultHelpFlag()
		for line := range strings.Lines(cmd.Long + "\n" + cmd.UsageString()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}

func TestEveryVerbHasAPurpose(t *testing.T) {
	root := newRoot(io.Discard, io.Discard)
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && !cmd.Hidden && !slices.Contains([]string{"version", "help", "completion", "schema"}, cmd.Name()) {
			t.Errorf("%s is in no group of the help", cmd.Name())
		}
	}
	if text := usageText(root); strings.Index(text, "Measure:") > strings.Index(text, "Submit:") || !strings.Contains(text, "\n  run         Run one") {
		t.Errorf("the groups are not in their order:\n%s", text)
	}
}

func TestValuesOfFlagsAreCompleted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--model", ""}, "resnet50"},
		{[]string{"run", "--device", ""}, "cuda"},
		{[]string{"tune", "--rules", ""}, "v0.5"},
		{[]string{"suite", "run", "--only", ""}, "mobilenet"},
		{[]string{"suite", "run", ""}, "mlmark"},
		{[]string{"synth", "dataset", ""}, "imagenet"},
	} {
		var out strings.Builder
		root := newRoot(&out, io.Discard)
		root.SetArgs(append([]string{cobra.ShellCompNoDescRequestCmd}, c.args...))
		if err := root.Execute(); err != nil || !slices.Contains(strings.Split(out.String(), "\n"), c.want) {
			t.Errorf("completing %q: %v, %q, want %s", c.args, err, out.String(), c.want)
		}
	}
}

func TestLongExamplesAreBrokenAsAShellAllows(t *testing.T) {
	long := "  mlperf run " + strings.Repeat("--model resnet50 ", 10)
	for line := range strings.Lines(wrapExamples(long)) {
		if len(line) > helpWidth+1 {
			t.Errorf("too long: %q", line)
		}
	}
	joined := strings.Join(strings.Fields(strings.ReplaceAll(wrapExamples(long), "\\\n", "")), " ")
	if joined != strings.TrimSpace(long) {
		t.Errorf("%q is not %q", joined, long)
	}
}

func TestARunThatIsInvalidNamesTheNextCommand(t *testing.T) {
	constraint := func(id loadgen.ConstraintID, required float64) report.Constraint {
		return report.Constraint{Constraint: loadgen.Constraint{ID: id, Required: loadgen.Quantity{Value: required}}}
	}
	for _, c := range []struct {
		name, args string
		r          report.Results
		want       string
	}{
		{"too slow", "run --model a --scenario server --mode performance", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("latency", 1)}},
			"Next: mlperf run --model a --scenario server --mode find-peak\n"},
		{"too short", "run --scenario offline --target_qps=10 --output x", report.Results{Scenario: "Offline", Performance: &report.Performance{SamplesPerSecond: 50}, Constraints: []report.Constraint{constraint("duration", 1)}},
			"Next: mlperf run --scenario offline --output x --target-qps 60 --force\n"},
		{"too few", "run --min-query-count 3", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("early_stopping", 100)}},
			"Next: mlperf run --min-query-count 110\n"},
		{"late generator", "run", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("generator", 1)}}, "Next: mlperf run --reserve-core\n"},
		{"the first that is not met", "run", report.Results{Scenario: "Server", Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: "latency", Met: true}}, constraint("queries", 10)}},
			"Next: mlperf run --min-query-count 11\n"},
		{"nothing that is known", "run", report.Results{Scenario: "Server"}, "Next: mlperf explain 'my dir'\n"},
		{"valid", "run", report.Results{Result: report.Valid}, ""},
	} {
		if c.r.Result == "" {
			c.r.Result = report.Invalid
		}
		if got := next(strings.Fields(c.args), &c.r, "my dir"); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
