package generative

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// endedPlainly takes one token after the other, and stops where an answer ends.
func endedPlainly(ids, stop []int32, drop bool, cut []int32) []int32 {
	var kept []int32
	for _, id := range ids {
		if slices.Contains(stop, id) {
			if !drop {
				kept = append(kept, id)
			}
			break
		}
		kept = append(kept, id)
		if len(cut) > 0 && len(kept) >= len(cut) && slices.Equal(kept[len(kept)-len(cut):], cut) {
			break
		}
	}
	return kept
}

// Few different tokens make all ends likely, in all places and in parts of each other.
func TestAnAnswerEndsAsIfItHadComeTokenByToken(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	ends := map[int]int{}
	for range 3000 {
		some := func(n int) []int32 {
			ids := make([]int32, r.IntN(n+1))
			for i := range ids {
				ids[i] = r.Int32N(4)
			}
			return ids
		}
		ids, stop, cut, drop := some(12), some(1), some(3), r.IntN(2) == 0
		if slices.ContainsFunc(cut, func(id int32) bool { return slices.Contains(stop, id) }) {
			continue // the end of a program has no end of an answer in it
		}
		for _, width := range []int{4, 8} {
			a := &remotePrompts{data: &promptSet{cuts: map[int][]int32{7: cut}}, rules: decode.Rules{Stop: stop, Drop: drop, Width: width}}
			want := endedPlainly(ids, stop, drop, cut)
			response, tokens := a.Response(7, backend.Answer{IDs: ids, Tokens: len(ids)})
			if !slices.Equal((&decoderWorkload{rules: a.rules}).tokens(nil, response), want) || len(response) != width*len(want) {
				t.Fatalf("%v, which ends with %v or %v (dropped: %t), is kept as % x, want %v", ids, stop, cut, drop, response, want)
			}
			if len(ids) > 0 && tokens != len(want) {
				t.Fatalf("%v is counted as %d tokens, want %d", ids, tokens, len(want))
			}
			ends[len(ids)-len(want)]++
		}
		if response, _ := (&remotePrompts{data: &promptSet{}, rules: decode.Rules{Stop: stop, Drop: drop, Width: 4}}).Response(7, backend.Answer{IDs: ids}); !slices.Equal((&decoderWorkload{rules: decode.Rules{Width: 4}}).tokens(nil, response), endedPlainly(ids, stop, drop, nil)) {
			t.Fatalf("without an end of its own %v is kept as % x", ids, response)
		}
	}
	if len(ends) < 8 {
		t.Errorf("answers are cut by %v tokens: the test proves little", ends)
	}
}

func TestTokensOfALogAreLittleEndian(t *testing.T) {
	for width, want := range map[int]string{4: "\x01\x00\x00\x00\x49\xf4\x01\x00", 8: "\x01\x00\x00\x00\x00\x00\x00\x00\x49\xf4\x01\x00\x00\x00\x00\x00"} {
		if got := string(bytesOf([]int32{1, 128073}, width)); got != want {
			t.Errorf("%d bytes each: % x, want % x", width, got, want)
		}
	}
	if got := bytesOf(nil, 4); len(got) != 0 {
		t.Errorf("no tokens are % x", got)
	}
}

// The part of a row that counts ends with the first number below 0.
func TestARowEndsWhereNothingWasSent(t *testing.T) {
	for _, c := range []struct{ row, want []int32 }{
		{nil, nil}, {[]int32{-1}, nil}, {[]int32{0}, []int32{0}}, {[]int32{3, 4}, []int32{3, 4}}, {[]int32{3, -1, 4}, []int32{3}}, {[]int32{3, 4, -2147483648}, []int32{3, 4}},
	} {
		if got := tokensIn(c.row); !slices.Equal(got, c.want) {
			t.Errorf("of %v %v counts, want %v", c.row, got, c.want)
		}
	}
}

// Each benchmark of the family reads the file of its reference, with the columns that it has there. A row of
// another kind is an error that names row and column.
func TestFilesOfTheReferencesAreReadColumnByColumn(t *testing.T) {
	for _, c := range []struct {
		model, file, row string
		tokens           []int32
		columns          map[string]string // what replaces a column, and what is then said
	}{
		{"llama3.1-8b", "cnn_eval.json", `{"tok_input": [128000, 5], "output": "A text."}`, []int32{128000, 5}, map[string]string{
			`"tok_input": [128000, 5]`: `row 1, column tok_input`, `"output": "A text."`: `row 1, column output`,
		}},
		{"llama3.1-8b-edge", "sample_cnn_eval_5000.json", `{"tok_input": [7], "output": "A text."}`, []int32{7}, map[string]string{`"tok_input": [7]`: `row 1, column tok_input`}},
		{"llama2-70b", "cnn_eval.json", `{"tok_input": [1, 2, 3], "output": "A text."}`, []int32{1, 2, 3}, map[string]string{`"output": "A text."`: `row 1, column output`}},
		{"mixtral-8x7b", "mixtral.json", `{"tok_input": [1], "gt_output": "18", "dataset": "GSM8K", "id": "train.548"}`, []int32{1}, map[string]string{
			`"dataset": "GSM8K"`: `row 1, column dataset`, `"id": "train.548"`: `row 1, column id`, `"gt_output": "18"`: `row 1, column gt_output`,
		}},
		{"llama3.1-405b", "llama3.1_405b.json", `{"tok_input": [1], "gt_output": "blue", "metric": "qa_em"}`, []int32{1}, map[string]string{`"metric": "qa_em"`: `row 1, column metric`}},
		{"deepseek-r1", "deepseek_r1_eval.parquet", `{"tok_input": [0, 9], "ground_truth": "B", "dataset": "gpqa", "text_input": "Which?"}`, []int32{0, 9}, map[string]string{
			`"dataset": "gpqa"`: `row 1, column dataset`, `"ground_truth": "B"`: `row 1, column ground_truth`,
		}},
		{"gpt-oss-120b", "perf_eval_ref.parquet", `{"input_tokens": [200006, 9]}`, []int32{200006, 9}, map[string]string{`"input_tokens": [200006, 9]`: `row 1, column input_tokens`}},
	} {
		t.Run(c.model, func(t *testing.T) {
			open := func(second string) (*workload.Workload, error) {
				dir := folderWith(t, map[string]string{c.file: "[" + c.row + ",\n" + second + "]"})
				return modelNamed(t, c.model).OpenRemote(workload.Setup{DatasetDir: dir})
			}
			w, err := open(c.row)
			if err != nil {
				t.Fatal(err)
			}
			if p := w.Prompts.Prompt(1); !slices.Equal(p.IDs, c.tokens) || w.Samples != 2 {
				t.Errorf("the second of %d prompts is %v, want %v", w.Samples, p.IDs, c.tokens)
			}
			for column, want := range c.columns {
				name, _, _ := strings.Cut(column, ":")
				for _, wrong := range []string{name + ": null", name + `: {"a": 1}`} {
					if _, err := open(strings.Replace(c.row, column, wrong, 1)); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("with %s: %v, want %q", wrong, err, want)
					}
				}
			}
		})
	}
}

// Who cuts a benchmark short has the first prompts of it, and is told if there are fewer.
func TestTheFirstPromptsAreTaken(t *testing.T) {
	var rows []string
	for i := range 5 {
		rows = append(rows, fmt.Sprintf(`{"tok_input": [%d], "output": "x"}`, 10+i))
	}
	dir := folderWith(t, map[string]string{"cnn_eval.json": "[" + strings.Join(rows, ",") + "]"})
	for _, n := range []int{1, 3, 5, 6} {
		w, err := modelNamed(t, "llama3.1-8b").OpenRemote(workload.Setup{DatasetDir: dir, Count: n})
		if n > 5 {
			if want := fmt.Sprintf("opening the prompts: want 6, %s has 5", dir); err == nil || err.Error() != want {
				t.Errorf("of 6: %v, want %q", err, want)
			}
			continue
		}
		if err != nil || w.Samples != n {
			t.Fatalf("of %d: %v", n, err)
		}
		for i := range n {
			if ids := w.Prompts.Prompt(i).IDs; !slices.Equal(ids, []int32{int32(10 + i)}) {
				t.Errorf("prompt %d of %d is %v", i, n, ids)
			}
		}
	}
}

// What a prompt is to a server: its tokens or what the user says, the lengths of answers, and where a program ends.
func TestAPromptIsWhatItsBenchmarkAsksFor(t *testing.T) {
	data := &promptSet{tokens: [][]int32{{1, 2}, {3}}, cuts: map[int][]int32{1: mbxpEnd}, questions: []string{"Why?", "How?"}}
	a := &remotePrompts{data: data, rules: decode.Rules{MinNew: 2, MaxNew: 9}}
	user := func(text string) []backend.Message { return []backend.Message{{Role: "user", Content: text}} }
	for i, want := range []backend.Prompt{
		{IDs: []int32{1, 2}, MinTokens: 2, MaxTokens: 9, Messages: user("Why?")},
		{IDs: []int32{3}, MinTokens: 2, MaxTokens: 9, Messages: user("How?"), Stop: "\n```\n"},
	} {
		if diff := cmp.Diff(want, a.promptOf(i)); diff != "" {
			t.Errorf("prompt %d (-want +got):\n%s", i, diff)
		}
	}
	data.questions, data.cuts = nil, nil
	if diff := cmp.Diff(backend.Prompt{IDs: []int32{3}, MinTokens: 2, MaxTokens: 9}, a.promptOf(1)); diff != "" {
		t.Errorf("of tokens alone (-want +got):\n%s", diff)
	}
	if texts := a.Texts(); texts.Chat || texts.Tokenize != nil || !texts.Least {
		t.Errorf("servers are asked as %+v", texts)
	}
}

// A response that ends in the middle of a token has that token not.
func TestATokenThatIsCutOffIsNone(t *testing.T) {
	for _, width := range []int{4, 8} {
		whole := bytesOf([]int32{5, 6, 7}, width)
		for n := range len(whole) + 1 {
			got := (&decoderWorkload{rules: decode.Rules{Width: width}}).tokens([]int32{1}, whole[:n])
			if want := []int32{1, 5, 6, 7}[:1+n/width]; !slices.Equal(got, want) {
				t.Errorf("of %d bytes, %d each: %v, want %v", n, width, got, want)
			}
		}
		if got := binary.LittleEndian.Uint32(whole[width:]); got != 6 {
			t.Errorf("the second token is %d", got)
		}
	}
}
