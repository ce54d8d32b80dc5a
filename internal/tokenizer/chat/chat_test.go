package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden.json is what Jinja2 makes of the templates (testdata/render.py).
func TestChatsAreWrittenAsJinjaWritesThem(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Name, Template string
		Chats          []struct {
			Messages    []map[string]any
			Text, Error string
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden {
		p, err := compile(&config{template: g.Template, special: map[string]string{"bos_token": "<s>", "eos_token": "</s>"}})
		if err != nil {
			t.Errorf("%s: %v", g.Name, err)
			continue
		}
		for i, c := range g.Chats {
			got, err := p.Render(c.Messages)
			if got != c.Text || (err != nil) != (c.Error != "") || err != nil && !strings.Contains(err.Error(), c.Error) {
				t.Errorf("%s, chat %d is\n%q, %v, want\n%q %s", g.Name, i, got, err, c.Text, c.Error)
			}
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheTemplateIsFoundBesideTheTokenizer(t *testing.T) {
	chat := []map[string]any{{"role": "user", "content": "a"}}
	for _, c := range []struct{ name, config, own, want string }{
		{"nothing", "", "", ""},
		{"a tokenizer without one", `{"bos_token": "<s>"}`, "", ""},
		{"a text", `{"bos_token": "<s>", "chat_template": "{{bos_token}}{{messages[0].content}}"}`, "", "<s>a"},
		{"a token with more to it", `{"bos_token": {"content": "<b>", "lstrip": false}, "chat_template": "{{bos_token}}{{messages[0].content}}"}`, "", "<b>a"},
		{"no token", `{"bos_token": null, "chat_template": "{{bos_token}}{{messages[0].content}}"}`, "", "a"},
		{"no token, for which the template asks", `{"bos_token": null, "sep_token": "|", "chat_template": "{{bos_token is defined}}{{sep_token}}{{tools}} {{add_generation_prompt}}"}`, "", "False|None True"},
		{"several", `{"chat_template": [{"name": "tools", "template": "x"}, {"name": "default", "template": "d{{messages|length}}"}]}`, "", "d1"},
		{"a file of its own", `{"eos_token": "</s>", "chat_template": "old"}`, "new{{eos_token}}", "new</s>"},
		{"only a file of its own", "", "new", "new"},
	} {
		dir := t.TempDir()
		if c.config != "" {
			write(t, dir, configFile, c.config)
		}
		if c.own != "" {
			write(t, dir, templateFile, c.own)
		}
		p, err := Open(dir)
		if err != nil || (p == nil) != (c.want == "") {
			t.Errorf("%s: %v, %v", c.name, p, err)
			continue
		}
		if p == nil {
			continue
		}
		if got, err := p.Render(chat); got != c.want || err != nil || filepath.Dir(p.Path) != dir {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestATemplateThatCannotBeReadSaysWhereAndWhy(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "unexpected end", `{"chat_template": 3}`: "want a text", `{"chat_template": [{"name": "rag", "template": "x"}]}`: "none of the templates is the default",
		`{"bos_token": 3}`: "bos_token", `{"chat_template": "{% if %}"}`: "chat template", `{"chat_template": "{% for m in messages %}"}`: "chat template",
	} {
		dir := t.TempDir()
		write(t, dir, configFile, text)
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestATemplateReachesNothingOfThisMachine(t *testing.T) {
	for name, text := range map[string]string{
		"a file":            `{% include "/etc/hostname" %}`,
		"itself":            `{% include "/chat" %}`,
		"another template":  `{% extends "/chat" %}`,
		"an import":         `{% import "/etc/hostname" as x %}`,
		"the time":          `{{ strftime_now("%Y") }}`,
		"counting for ever": `{% for i in range(1000000000) %}x{% endfor %}`,
		"an endless text":   `{% for i in range(9000) %}{% for k in range(9000) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}`,
		"no number":         `{% for i in range("x") %}x{% endfor %}`,
	} {
		p, err := compile(&config{template: text})
		if err != nil {
			continue
		}
		if got, err := p.Render([]map[string]any{{"role": "user", "content": "a"}}); err == nil {
			t.Errorf("%s: %.100q", name, got)
		}
	}
	p, err := compile(&config{template: `{% for i in range(3, 0, -1) %}{{i}}{% endfor %}{% for i in range(2) %}{{i}}{% endfor %}`})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Render(nil); got != "32101" || err != nil {
		t.Errorf("counted is %q, %v", got, err)
	}
}

func FuzzConfig(f *testing.F) {
	for _, text := range []string{`{"bos_token": {"content": "<s>"}, "chat_template": "x"}`, `{"chat_template": [{"name": "default", "template": "x"}]}`, `{"eos_token": 1}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig([]byte(text))
		if err == nil && len(c.special) > len(specialNames) {
			t.Errorf("%d special tokens", len(c.special))
		}
	})
}
