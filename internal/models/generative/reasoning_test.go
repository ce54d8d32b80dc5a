package generative

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/accuracy/coderun"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The tests of LiveCodeBench are where an option says, in the data set, or else beside it.
func TestLiveCodeBenchFolder(t *testing.T) {
	root := t.TempDir()
	bare, full := filepath.Join(root, "bare"), filepath.Join(root, "full")
	for _, folder := range []string{bare, filepath.Join(full, "livecodebench")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ data, option, want string }{
		{full, "", filepath.Join(full, "livecodebench")},
		{full + string(filepath.Separator), "", filepath.Join(full, "livecodebench")},
		{full, "/elsewhere", "/elsewhere"},
		{bare, "", filepath.Join(root, "livecodebench")},
		{bare + string(filepath.Separator), "", filepath.Join(root, "livecodebench")}, // not in bare
		{filepath.Join(full, "file.pkl"), "", filepath.Join(full, "livecodebench")},   // the file of the prompts was named
	} {
		if got := testsOf(workload.Scoring{DatasetDir: c.data, Options: workload.Values{liveOption: c.option}}); got != c.want {
			t.Errorf("of %s, --%s %q: %s, want %s", c.data, liveOption, c.option, got, c.want)
		}
	}
}

// Warnings say how programs were run, and which problems have no tests.
func TestReasoningWarnings(t *testing.T) {
	if got := (*reasoningScorer)(nil).warn(&accuracy.Score{}); len(got.Warnings) != 0 {
		t.Errorf("nothing was run: %q", got.Warnings)
	}
	runner, err := coderun.New(true)
	testenv.Must(t, err)
	e := &reasoningScorer{runner: runner}
	if got := e.warn(&accuracy.Score{}).Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "programs that the model wrote were executed ") {
		t.Errorf("all problems are known: %q", got)
	}
	e.unknown = []string{"b", "a", "b"}
	got := e.warn(&accuracy.Score{Warnings: []string{"before"}}).Warnings
	if len(got) != 3 || got[0] != "before" || got[1] != `the tests have no problem "a": 3 answers without tests count as wrong` {
		t.Errorf("three answers to two unknown problems: %q", got)
	}
}

// Questions are asked as chats only where the file has the text of each.
func TestChatsNeedTexts(t *testing.T) {
	row := func(text string) string {
		return `{"tok_input": [1], "ground_truth": "A", "dataset": "gpqa"` + text + `}`
	}
	for _, c := range []struct {
		name, rows string
		chat       bool
	}{
		{"all have one", row(`, "text_input": "Why?"`) + "," + row(`, "text_input": "How?"`), true},
		{"none has one", row("") + "," + row(""), false},
		{"one has none", row(`, "text_input": "Why?"`) + "," + row(`, "text_input": null`), false},
	} {
		file := filepath.Join(folderWith(t, map[string]string{"any.json": "[" + c.rows + "]"}), "any.json")
		q, err := readReasoning()(source{folder: file})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		a := &remotePrompts{data: q, rules: decode.Rules{MaxNew: 5}}
		if got := a.Texts().Chat; got != c.chat || (a.promptOf(0).Messages != nil) != c.chat {
			t.Errorf("%s: asked as a chat: %t, %v", c.name, got, a.promptOf(0).Messages)
		}
		if len(q.reasoned) != 2 || q.reasoned[1] != (accuracy.Reasoning{Dataset: "gpqa", Wanted: "A"}) {
			t.Errorf("%s: %+v", c.name, q.reasoned)
		}
	}
}
