package synth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver/vocab"
)

func TestQuestionsHaveTheirAnswersHiddenInThem(t *testing.T) {
	for form, sets := range questionSets {
		spec := QuestionSpec{Seed: 1, Questions: 40, Form: form}
		seen := map[string]int{}
		for i := range spec.Questions {
			q := spec.draw(i)
			seen[q.Set]++
			if diff := cmp.Diff(q, spec.draw(i), cmp.AllowUnexported(question{})); diff != "" {
				t.Fatalf("%s: the same question differs: %s", form, diff)
			}
			_, answer, found := strings.Cut(vocab.Text(q.Tokens), " ==> ")
			hides := q.Wanted
			if q.sum != 0 {
				hides = fmt.Sprintf("```python\nprint(int(input()) + %d)\n```", q.sum)
			}
			if !found || q.Wanted == "" || !strings.Contains(answer, hides) {
				t.Errorf("%s: question %d wants %q, and hides %q", form, i, hides, answer)
			}
		}
		if len(seen) != len(sets) {
			t.Errorf("%s: the sets are %v, want all of %v", form, seen, sets)
		}
	}
}

func TestQuestionsAreWrittenAsTheyArePublished(t *testing.T) {
	for form, files := range map[string][]string{
		deepSeekQuestions: {"deepseek_r1_eval.parquet", "livecodebench/test.jsonl"},
		ossQuestions:      {"perf/perf_eval_ref.parquet", "acc/acc_eval_ref.parquet", "livecodebench/test.jsonl"},
		longQuestions:     {"llama3.1_405b.json"},
	} {
		dir := filepath.Join(t.TempDir(), "set")
		spec := QuestionSpec{Seed: 1, Questions: 5, Form: form}
		if err := WriteQuestions(t.Context(), dir, spec); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(files, "tokenizer.json") {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 200 {
				t.Errorf("%s: %v", form, err)
			}
		}
		if m, err := ReadManifest(dir); err != nil || m.Questions == nil || *m.Questions != spec {
			t.Errorf("%s: %v, %+v", form, err, m)
		}
		if form == ossQuestions {
			rows, err := parquet.ReadFile[question](filepath.Join(dir, files[1]))
			if err != nil || len(rows) != 5 || cmp.Diff(spec.draw(4), rows[4], cmpopts.IgnoreUnexported(question{})) != "" {
				t.Errorf("%v, %+v", err, rows)
			}
		}
	}
	for _, spec := range []QuestionSpec{{Questions: 3, Form: "trivia"}, {Form: ossQuestions}, {Questions: mostQuestions + 1, Form: ossQuestions}} {
		if err := WriteQuestions(t.Context(), filepath.Join(t.TempDir(), "x"), spec); err == nil {
			t.Errorf("%+v is no error", spec)
		}
	}
}
