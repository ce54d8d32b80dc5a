package generative

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tokenizer/chat"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/workload"
)

func TestAnswersThatEndWhereTheDataSetSaysAreTiedToIt(t *testing.T) {
	var w workload.Tied = &texts{}
	if got := w.Tied(); got != "" {
		t.Errorf("without ends it is tied to %q", got)
	}
	w = &texts{cuts: map[int][]int32{3: mbxpEnd}}
	if got := w.Tied(); !strings.Contains(got, "ends") {
		t.Errorf("with ends it is tied to %q", got)
	}
}

func TestAChatHasItsSpecialTokensInIt(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		tokenizerFile: `{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 250}, "unk_token": "a"}, "added_tokens": [{"id": 251, "content": "<s>", "special": true}],
			"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
			"pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [251], "tokens": ["<s>"]}}}}`,
		"tokenizer_config.json": `{"bos_token": "<s>", "chat_template": "{{bos_token}}{{messages[0].content}}"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tokenizer, err := hf.Open(filepath.Join(dir, tokenizerFile))
	if err != nil {
		t.Fatal(err)
	}
	template, err := chat.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &texts{words: tokenizer, chat: template}
	text, err := w.Chat().Render([]map[string]any{{"role": "user", "content": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := w.Words().EncodeWhole(text); err != nil || len(ids) != 2 || ids[0] != 251 || ids[1] != 250 {
		t.Errorf("the chat is %v, %v, want <s> once and b", ids, err)
	}
	if ids, err := w.Words().Encode("b"); err != nil || len(ids) != 2 || ids[0] != 251 {
		t.Errorf("a prompt is %v, %v, want <s> before it", ids, err)
	}
	if (&texts{}).Chat() != nil {
		t.Error("without a template there is one")
	}
}
