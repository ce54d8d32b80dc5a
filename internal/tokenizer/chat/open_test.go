package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestFilesThatAreOdd(t *testing.T) {
	const plain = `{"bos_token": "<s>", "chat_template": "{{ bos_token }}{{ messages[0].content }}"}`
	for _, c := range []struct{ name, config, own, want string }{
		{"ends of lines of Windows", strings.ReplaceAll(plain, ",", ",\r\n"), "", "<s>a"},
		{"fields that are not known", strings.Replace(plain, "{", `{"model_max_length": 1e30, "added_tokens_decoder": {"1": {"content": "x"}}, `, 1), "", "<s>a"},
		{"a template of its own with ends of lines of Windows", plain, "{% if true %}\r\nx\r\n{% endif %}\r\n", "x\n"},
		{"the last of two fields", strings.Replace(plain, "{", `{"bos_token": "<b>", `, 1), "", "<s>a"},
		{"a token of nothing", `{"bos_token": "", "chat_template": "[{{ bos_token }}]{{ bos_token is defined }}"}`, "", "[]True"},
		{"a template that is null beside one of its own", `{"chat_template": null}`, "x", "x"},
		{"several templates beside one of its own", `{"chat_template": [{"name": "default", "template": "old"}]}`, "new", "new"},
		{"half a character in JSON", `{"chat_template": "a\ud83d"}`, "", "a\ufffd"},
	} {
		dir := t.TempDir()
		write(t, dir, configFile, c.config)
		if c.own != "" {
			write(t, dir, templateFile, c.own)
		}
		p, err := Open(dir)
		if err != nil || p == nil {
			t.Errorf("%s: %v, %v", c.name, p, err)
			continue
		}
		if got, err := p.Render([]map[string]any{{"role": "user", "content": "a"}}); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestTemplatesOfTheirOwnThatCannotBeRead(t *testing.T) {
	for own, want := range map[string]string{
		"a\n{% if %}":                "line 2: want a value",
		"a\xff":                      "line 1: the text is no UTF-8",
		strings.Repeat("x", 4<<20+1): "", // of which the words are those of the reader
		"{{ a" + strings.Repeat("|e", 1_000_000) + " }}": "line 1: a tag has more than 5000 words",
	} {
		dir := t.TempDir()
		write(t, dir, templateFile, own)
		_, err := Open(dir)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), templateFile) {
			t.Errorf("%.20q: %v, want %q", own, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, templateFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), templateFile) {
		t.Errorf("a folder in the place of the template: %v", err)
	}
}

func TestAnErrorOfATemplateSaysSo(t *testing.T) {
	p, err := compile(&config{template: "\n{{ raise_exception('no ' ~ messages[0].role) }}"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Render([]map[string]any{{"role": "tool"}}); err == nil || err.Error() != "the chat template: line 2: no tool" {
		t.Errorf("a chat that is refused: %v", err)
	}
	if _, err := p.Render([]map[string]any{{"role": func() {}}}); err == nil || !strings.Contains(err.Error(), "messages: a template cannot have a func()") {
		t.Errorf("a message that is none: %v", err)
	}
}

func TestATemplateIsForSeveralGoroutines(t *testing.T) {
	p, err := compile(&config{template: "{% for m in messages %}{{ bos_token }}{{ m.content }}{% endfor %}", special: map[string]string{"bos_token": "-"}})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			want := fmt.Sprintf("-%d-b", i)
			if got, err := p.Render([]map[string]any{{"content": fmt.Sprint(i)}, {"content": "b"}}); got != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
	wait.Wait()
}
