package text

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// goldenLog returns an accuracy log below testdata.
func goldenLog(t *testing.T, name string) accuracy.Input {
	t.Helper()
	return accuracy.Named(name, bytes.NewReader(testenv.Read(t, filepath.Join("testdata", filepath.FromSlash(name)+".gz"))))
}

func TestSquadGoldenScores(t *testing.T) {
	var golden struct {
		Runs []struct {
			Variant, Log, Printed string
			Arguments             []string
		}
	}
	data, err := os.ReadFile("testdata/bert/expected.json")
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range golden.Runs {
		t.Run(run.Variant, func(t *testing.T) {
			options := workload.Values{}
			for _, o := range squadScoreOptions() {
				for _, alias := range o.Aliases {
					if i := slices.Index(run.Arguments, "--"+alias); i >= 0 && o.Kind == workload.Bool {
						options[o.Name] = "true"
					} else if i >= 0 {
						options[o.Name] = run.Arguments[i+1]
					}
				}
			}
			if len(run.Arguments) > 0 && len(options) == 0 {
				t.Fatalf("no option for %q", run.Arguments)
			}
			m := bert()
			if err := m.CheckScoreOptions(options); err != nil {
				t.Fatal(err)
			}
			score, err := m.Score(t.Context(), goldenLog(t, "bert/"+run.Log), workload.Scoring{DatasetDir: "testdata/bert", Options: options})
			if err != nil {
				t.Fatal(err)
			}
			if got := score.Text(); got != run.Printed+"\n" {
				t.Errorf("printed %q, want %q", got, run.Printed)
			}
			if c := score.Coverage; c.Scored == 0 || c.Scored > c.Samples || (c.Scored == c.Samples) == (run.Variant == "subset") {
				t.Errorf("the score is over %+v", c)
			}
		})
	}
}

// A run over the first windows is scored over the questions that they belong to.
func TestSquadScoreOfFirstWindows(t *testing.T) {
	m := bert()
	whole, err := m.Score(t.Context(), goldenLog(t, "bert/offline/mlperf_log_accuracy.json"), workload.Scoring{DatasetDir: "testdata/bert"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := openSet("testdata/bert")
	if err != nil {
		t.Fatal(err)
	}
	first := `[{"seq_id":0,"qsl_idx":0,"data":"` + strings.Repeat("00", 8*windowLength) + `"}]`
	part, err := m.Score(t.Context(), accuracy.Named("log", strings.NewReader(first)), workload.Scoring{DatasetDir: "testdata/bert", Samples: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.data.Questions) < 2 || len(whole.Warnings)+len(part.Warnings) > 0 {
		t.Errorf("warnings %q and %q: questions that no window was asked about count as wrong", whole.Warnings, part.Warnings)
	}
	late := `[{"seq_id":0,"qsl_idx":1,"data":""}]`
	if _, err := m.Score(t.Context(), accuracy.Named("log", strings.NewReader(late)), workload.Scoring{DatasetDir: "testdata/bert", Samples: 1}); err == nil {
		t.Error("a record of a window that was not asked for is scored")
	}
}

func TestScoreOptionErrors(t *testing.T) {
	for _, c := range []struct {
		options workload.Values
		want    string
	}{
		{workload.Values{maxOption: "-1"}, "max-examples … -1 … 0"},
		{workload.Values{maxOption: "all"}, `max-examples … "all" … whole number`},
		{workload.Values{transposedOption: "perhaps"}, `output-transposed … "perhaps"`},
	} {
		_, err := bert().Score(t.Context(), goldenLog(t, "bert/offline/mlperf_log_accuracy.json"), workload.Scoring{DatasetDir: "testdata/bert", Options: c.options})
		if !testenv.Names(err, c.want) {
			t.Errorf("%v: %v, want %q", c.options, err, c.want)
		}
	}
	for options, want := range map[string]string{
		"sacrebleu-smooth=exp": "sacrebleu: is missing: sacreBLEU needs a tokenizer", "sacrebleu-lowercase=true": "sacrebleu: is missing", "sacrebleu-lowercase=x": `"x" is neither true nor false`,
	} {
		name, value, _ := strings.Cut(options, "=")
		if _, err := parseTranslationScoring(workload.Values{name: value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
	o, err := parseTranslationScoring(workload.Values{sacreOption: "INTL", smoothOption: "Floor", lowerOption: "true"})
	if err != nil || o == nil || *o != (accuracy.SacreOptions{Tokenize: "intl", Smooth: "floor", Lowercase: true}) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestSquadOpenErrors(t *testing.T) {
	good := `{"data":[{"paragraphs":[{"context":"a b","qas":[{"id":"1","question":"a?","answers":[{"text":"b"}]}]}]}]}`
	const vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##b\n?\n"
	for _, test := range []struct{ name, data, vocabulary, want string }{
		{"right", good, vocabulary, ""},
		{"no vocabulary", good, "", "vocab.txt"},
		{"a short vocabulary", good, "[PAD]\n[UNK]\na\n", "vocab.txt: none of the 3 lines is [CLS]"},
		{"a vocabulary with a piece twice", good, vocabulary + "a\n", `vocab.txt: line 9: piece "a" is in line 5 already`},
		{"not JSON", "{\n\"data\": [\n}", vocabulary, "dev-v1.1.json: line 3: "},
		{"not SQuAD", `{"x":1}`, vocabulary, `dev-v1.1.json: no "data"`},
		{"a wrong type", `{"data":[{"paragraphs":7}]}`, vocabulary, "dev-v1.1.json: line 1: "},
		{"no paragraphs", `{"data":[{}]}`, vocabulary, `data[0]: expected "paragraphs"`},
		{"no context", `{"data":[{"paragraphs":[{"qas":[]}]}]}`, vocabulary, `data[0].paragraphs[0]: expected "context" and "qas"`},
		{"no id", strings.Replace(good, `"id":"1",`, "", 1), vocabulary, `data[0].paragraphs[0].qas[0]: must be "id" and "question"`},
		{"an answer without text", strings.Replace(good, `{"text":"b"}`, `{}`, 1), vocabulary, `qas[0].answers[0]: expected "text"`},
		{"an id twice", strings.Replace(good, `}]}]}]}]}`, `}]},{"id":"1","question":"b?","answers":[]}]}]}]}`, 1), vocabulary, `id "1" occurs twice`},
		{"no question", `{"data":[{"paragraphs":[{"context":"a","qas":[]}]}]}`, vocabulary, "no questions"},
		{"not UTF-8", "{\n\"data\":\"\xff\"}", vocabulary, "line 2: jsontext: invalid UTF-8"},
		{"empty texts", strings.Replace(good, "a b", "  ", 1), vocabulary, "are empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "dev-v1.1.json"), test.data)
			if test.vocabulary != "" {
				write(t, filepath.Join(dir, "vocab.txt"), test.vocabulary)
			}
			_, err := openSet(dir)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
