package report

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// lineWith returns the first line of a text that has a word.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return strings.TrimRight(line, "\n")
		}
	}
	return ""
}

func summary(t *testing.T, r *Results) string {
	t.Helper()
	var b strings.Builder
	if err := Summary(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHeadline(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *Results)
		want   string
	}{
		{"a usual run", func(*Results) {}, "resnet50 Server, PerformanceOnly: VALID on onnxruntime 1.24.3, cpu+cuda"},
		{"with a precision", func(r *Results) { r.Input.Precision = "fp16" }, "resnet50 Server, PerformanceOnly: VALID on onnxruntime 1.24.3, cpu+cuda, fp16"},
		{"a simulated engine", func(r *Results) { r.Backend.Simulated = true }, "resnet50 Server, PerformanceOnly: VALID on a SIMULATED engine"},
		{"imported logs", func(r *Results) { r.Model, r.Backend.Engine = NotKnown, NotKnown }, "unknown model, Server, PerformanceOnly: VALID on an unknown system"},
		{"no engine", func(r *Results) { r.Backend = Backend{} }, "resnet50 Server, PerformanceOnly: VALID on -, -"},
		{"below its target", func(r *Results) { r.Accuracy = &Accuracy{Metric: "acc"} }, "resnet50 Server, PerformanceOnly: BELOW TARGET on onnxruntime 1.24.3, cpu+cuda"},
		{"without a target", func(r *Results) { r.Accuracy = &Accuracy{Metric: "acc", NoTarget: "a part"} }, "resnet50 Server, PerformanceOnly: VALID on onnxruntime 1.24.3, cpu+cuda"},
		{"INVALID and below", func(r *Results) { r.Result, r.Accuracy = Invalid, &Accuracy{} }, "resnet50 Server, PerformanceOnly: INVALID on onnxruntime 1.24.3, cpu+cuda"},
	} {
		r := filled(tested(passed(loadgen.Server)))
		c.change(r)
		if got, _, _ := strings.Cut(summary(t, r), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestExplainOfImportedLogs(t *testing.T) {
	r := filled(tested(passed(loadgen.Server)))
	r.Backend.Engine, r.Settings = NotKnown, []Setting{{Key: "mode", Value: "2", Origin: "line 7"}, {Key: "count", Value: "2", Origin: "line 8"}}
	var b strings.Builder
	if err := Explain(&b, r); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "model    ") || !strings.Contains(lineWith(text, "line 7"), "PerformanceOnly") || strings.Fields(lineWith(text, "line 8"))[1] != "2" {
		t.Errorf("want the name of the mode, and nothing about an unknown system:\n%s", text)
	}
}

// Inputs of an own model that were made lie in no folder.
func TestExplainOfMadeInputs(t *testing.T) {
	r := filled(tested(passed(loadgen.Server)))
	r.Input.DatasetPath, r.Input.Samples = "", 13
	var b strings.Builder
	if err := Explain(&b, r); err != nil || !strings.Contains(b.String(), "data     made, 13 samples\n") {
		t.Errorf("%v:\n%s", err, lineWith(b.String(), "13 samples"))
	}
}

func TestAdviceIsGivenOnce(t *testing.T) {
	p := passed(loadgen.Server)
	p.MinDurationMet = false
	var b strings.Builder
	if err := Explain(&b, filled(tested(p))); err != nil || strings.Count(b.String(), "the test ended early") != 1 {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

func TestScoreWithoutATarget(t *testing.T) {
	var b strings.Builder
	a := Accuracy{Metric: "F\x1b[31m1", Value: 0.5, NoTarget: "a part of the data", Lines: []string{"a", "b"}}
	if err := Score(&b, &a); err != nil || b.String() != "a\nb\nF\\x1b[31m1: 0.5, without a target: a part of the data\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestScoreNamesTheValueThatMisses(t *testing.T) {
	for want, a := range map[string]Accuracy{
		"r: 100, target 38.6: reached (the FP32 reference has 39)\nlength is 5: must be length ≥ 90: MISSED\n": {Value: 100, Target: 38.6, Reference: 39, AlsoMissed: []string{"length is 5: must be length ≥ 90"}},
		"r: 30, target 38.6: MISSED (the FP32 reference has 39)\nlength is 5: must be length ≥ 90: MISSED\n":   {Value: 30, Target: 38.6, Reference: 39, AlsoMissed: []string{"length is 5: must be length ≥ 90"}},
		"r: 3, target 3.5: reached (the FP32 reference has 3.1)\nx: MISSED\n":                                  {Value: 3, Target: 3.5, Reference: 3.1, AlsoMissed: []string{"x"}},
		"r: 100, target 38.6: MISSED (the FP32 reference has 39); the log has only 2 samples\n":                {Value: 100, Target: 38.6, Reference: 39, Partial: true, Samples: 2},
	} {
		var b strings.Builder
		a.Metric = "r"
		if err := Score(&b, &a); err != nil || b.String() != want {
			t.Errorf("%q, %v, want %q", b.String(), err, want)
		}
	}
}

func TestSingular(t *testing.T) {
	r := filled(tested(passed(loadgen.Server)))
	r.Metric = nil
	r.Performance.Queries, r.Performance.Samples, r.Input.Samples, r.Queue = 1, 1, 1, &QueueStats{Peak: 1}
	var b strings.Builder
	if err := errors.Join(Explain(&b, r), Summary(&b, r)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{", 1 sample\n", "at most 1 sample waited", "  1 query, 1 sample in "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestRemarksByWeight(t *testing.T) {
	r := filled(tested(passed(loadgen.Server)))
	r.Problems, r.Warnings, r.Limitations, r.Notes = []string{"p"}, []string{"w"}, Limitations{{ID: limitation.Older, Value: "c"}}, []string{"n"}
	r.Accuracy = &Accuracy{Met: true, Warnings: []string{"of the score"}}
	text := summary(t, r)
	const want = "Why it is not valid:\n  - p\nWarnings:\n  - w\n  - of the score\nNotes:\n  - n\nLimitations:\n  - c\n"
	if !strings.HasSuffix(text, want) {
		t.Errorf("%s\nwant the end\n%s", text, want)
	}
	r.Problems, r.Warnings, r.Limitations, r.Notes, r.Accuracy = nil, nil, nil, nil, nil
	if text := summary(t, r); strings.Contains(text, "Warnings") || strings.Contains(text, "Limitations") {
		t.Errorf("of nothing:\n%s", text)
	}
}

func TestEnergyString(t *testing.T) {
	e := &Energy{Joules: 1234, MeanWatts: 61.7, PeakWatts: 80, JoulesPerSample: 0.5, Parts: []EnergyPart{{Name: "package-0"}, {Name: "dram"}}}
	if got, want := e.String(), "1,234 J, 0.5 J per sample, 61.7 W on average, 80 W at most (package-0, dram)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&Energy{NotMeasured: "no meter"}).String(); got != "not measured: no meter" {
		t.Errorf("nothing measured: %q", got)
	}
}

// LoadGen runs Interactive as Server.
func TestInteractiveIsNamed(t *testing.T) {
	r := Results{Model: "llama3.1-8b", Scenario: "Server", Mode: "PerformanceOnly", Result: Valid, Interactive: true}
	var text strings.Builder
	if headline(&text, &r); !strings.HasPrefix(text.String(), "llama3.1-8b Interactive, PerformanceOnly: VALID") {
		t.Errorf("it is headed %q", text.String())
	}
	if line := newLine(Run{Results: &r}); line.Scenario != "Interactive" {
		t.Errorf("a table calls it %q", line.Scenario)
	}
}

// TestGeneration has two servers. One of them failed a request.
func TestGeneration(t *testing.T) {
	g := &Generation{
		Answers: 9, Tokens: 900, PromptTokens: 450, Counted: "usage", RequestsPerSecond: 2, TokensPerSecond: 200, TokensPerSecondIssued: 210,
		Finished: map[string]int64{"length": 8, "": 1}, Most: 3, Limit: 4, CPUCores: 1.9, Cores: 2, Retries: 1, Tokenized: 2,
		FirstTokenFromSendNS: &Latencies{P50: 2e6}, HandoverNS: &Latencies{P99: 5e6},
		Servers:  []GenerationServer{{URL: "http://a", Requests: 5, Most: 2}, {URL: "http://b", Requests: 5, Most: 1}},
		Failures: []GenerationFailures{{Kind: "status 500", Count: 1, First: "overloaded"}},
		Goodput:  &Goodput{RequestsPerSecond: 1.5, Requests: 7, Of: 9, FirstTokenNS: 2e9, PerTokenNS: 2e8},
	}
	var b strings.Builder
	generationLines(&b, g)
	for _, want := range []string{
		"from send: time to first token: min 0 s, p50 2 ms", "2 requests/s, 200 tokens/s until the last answer, 210 tokens/s until the answer to the last request",
		"900 tokens in 9 answers, counted by usage; 450 tokens of prompts; ended by - 1, length 8", "goodput: 1.5 requests/s, 7 of 9 kept TTFT ≤ 2 s and TPOT ≤ 200 ms",
		"at most 3 requests under way at once, with a limit of 4; the client kept 1.9 of 2 cores busy, requests left it 0 s after their issue at p50, 5 ms at p99",
		"http://b: 5 requests, at most 1 at once", "1 × status 500: overloaded",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	warnings := strings.Join(g.Warnings(), "\n")
	for _, want := range []string{"near its own limit: it kept 1.9 of 2 cores", "requests left the client late: 5 ms", "1 request failed and", "the tokens of 2 answers"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no %q in\n%s", want, warnings)
		}
	}
	if len((*Generation)(nil).Warnings()) != 0 || len((&Generation{Cores: 2, HandoverNS: &Latencies{}}).Warnings()) != 0 {
		t.Error("nothing is warned of")
	}
}

func TestArgumentsForWindows(t *testing.T) {
	for argument, want := range map[string]string{
		"resnet50":    "resnet50",
		"":            `""`,
		"my results":  `"my results"`,
		`C:\runs\1`:   `C:\runs\1`,
		`C:\my runs\`: `"C:\my runs\\"`,
		`it's`:        `"it's"`,
		`a"b`:         `"a\"b"`,
		`a\"b`:        `"a\\\"b"`,
		"ttft<200ms":  `"ttft<200ms"`,
		"100%":        `"100%"`,
		"a\x1bb":      `"a?b"`,
	} {
		if got := forWindows(argument); got != want {
			t.Errorf("%q: %s, want %s", argument, got, want)
		}
	}
}

// The oracle is the shell.
func TestCommandLine(t *testing.T) {
	const notPrintable = "\t\n\r\v" // which only newer shells take as numbers
	letters := "abc=-_/.,:@%^+~#!$`'\"\\;&|<>()*?[]{} é€" + notPrintable
	shell, err := exec.LookPath("bash")
	if err != nil {
		letters = strings.TrimSuffix(letters, notPrintable)
		if shell, err = exec.LookPath("sh"); err != nil {
			t.Skip("this machine has no shell")
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	runes := []rune(letters)
	var args []string
	for range 300 {
		var b strings.Builder
		for range rnd.IntN(8) {
			b.WriteRune(runes[rnd.IntN(len(runes))])
		}
		args = append(args, b.String())
	}
	args = append(args, "", "--flag=a b", "-", "--", "~", "a=b", "*")
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = forPOSIX(a)
	}
	line := strings.Join(words, " ")
	if strings.ContainsAny(line, notPrintable) {
		t.Errorf("%q steers a terminal", line)
	}
	out, err := exec.Command(shell, "-c", "printf '%s\\0' "+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !slices.Equal(got, args) {
		for i := range args {
			if i >= len(got) || got[i] != args[i] {
				t.Fatalf("argument %d is read as %q, want %q", i, got[min(i, len(got)-1)], args[i])
			}
		}
	}
}

func TestUnconfirmedSearch(t *testing.T) {
	short, none := []PeakStep{{Load: 40, Met: true}, {Load: 60}, {Load: 50, Met: true}, {Load: 50, Full: true}}, []PeakStep{{Load: 40}, {Load: 20}}
	some := append(slices.Clone(short[:3]), PeakStep{Load: 50, Full: true, Met: true}, PeakStep{Load: 50, Full: true, Met: true})
	for want, steps := range map[string][]PeakStep{
		"no load was confirmed: 2 of 3 that were tried kept the bound in a short test, the highest 50 queries/s; 2 of 2 tests at full length kept it": some,
		"no load was confirmed: 2 of 3 that were tried kept the bound in a short test, the highest 50 queries/s, and none did at full length":         short,
		"no load that was tried (2) kept the bound": none,
	} {
		r := searched()
		r.Peak = &Peak{Unit: "queries/s", Steps: steps}
		if text := summary(t, r); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
		document, err := json.Marshal(r.Peak)
		if err != nil || strings.Contains(string(document), `"best"`) {
			t.Errorf("a load that was not found: %s, %v", document, err)
		}
	}
}
