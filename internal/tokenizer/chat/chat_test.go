package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestMain(m *testing.M) {
	Main() // the tests start renderers
	m.Run()
}

// folder has a tokenizer_config.json and a chat_template.jinja; empty: it has none.
func folder(t *testing.T, config, template string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{configFile: config, templateFile: template} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// golden.json has the texts that Jinja2 writes (testdata/render.py).
func TestRenderEqualsJinja2(t *testing.T) {
	for _, g := range testenv.JSON[[]struct {
		Name, Template string
		Chats          []struct {
			Messages    []map[string]any
			Text, Error string
		}
	}](t, "testdata/golden.json") {
		p := Open(folder(t, `{"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}}`, g.Template))
		for i, c := range g.Chats {
			got, err := p.Render(c.Messages)
			if got != c.Text || (err != nil) != (c.Error != "") || err != nil && !strings.Contains(err.Error(), c.Error) {
				t.Errorf("%s, chat %d = %q, %v, want %q %s", g.Name, i, got, err, c.Text, c.Error)
			}
		}
	}
}

func TestOpenFindsTemplate(t *testing.T) {
	for _, c := range []struct{ name, config, template, want string }{
		{"nothing", "", "", ""},
		{"a tokenizer without one", `{"bos_token": "<s>"}`, "", ""},
		{"a string", `{"bos_token": "<s>", "chat_template": "{{bos_token}}{{messages[0].content}}"}`, "", "<s>a"},
		{"a token that is null", `{"bos_token": null, "sep_token": "|", "chat_template": "{{bos_token is defined}}{{sep_token}}{{tools is none}} {{add_generation_prompt}}"}`, "", "False|True True"},
		{"several", `{"chat_template": [{"name": "tools", "template": "x"}, {"name": "default", "template": "d{{messages|length}}"}]}`, "", "d1"},
		{"a file of its own", `{"eos_token": "</s>", "chat_template": "old"}`, "new{{eos_token}}", "new</s>"},
		{"only a file of its own", "", "new", "new"},
	} {
		p := Open(folder(t, c.config, c.template))
		if p == nil {
			if c.want != "" {
				t.Errorf("%s: no template", c.name)
			}
			continue
		}
		if got, err := p.Render([]map[string]any{{"role": "user", "content": "a"}}); got != c.want || err != nil {
			t.Errorf("%s = %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestRenderErrors(t *testing.T) {
	for _, c := range []struct{ config, template, want string }{
		{`{`, "", "unexpected end"},
		{`{"chat_template": 3}`, "", "must be a string"},
		{`{"chat_template": [{"name": "rag", "template": "x"}]}`, "", "has no default template"},
		{`{"bos_token": 3}`, "", "bos_token"},
		{`{"chat_template": "{% if %}"}`, "", "chat template"},
		{"", "a\n{% for m in messages %}", templateFile},
	} {
		dir := folder(t, c.config, c.template)
		if _, err := Open(dir).Render(nil); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s%s: %v, want %q", c.config, c.template, err, c.want)
		}
	}
}

// The formats of published templates.
func TestStrftimeNow(t *testing.T) {
	for format, layout := range map[string]string{"%Y-%m-%d": time.DateOnly, "%d %b %Y": "02 Jan 2006", "%B %d, %Y": "January 02, 2006", "%d-%m-%Y": "02-01-2006"} {
		before := time.Now()
		got, err := Open(folder(t, "", `{{ strftime_now("`+format+`") }}`)).Render(nil)
		if after := time.Now(); err != nil || got != before.Format(layout) && got != after.Format(layout) {
			t.Errorf("strftime_now(%q) = %q, %v", format, got, err)
		}
	}
}

func TestRenderLimits(t *testing.T) {
	p := Open(folder(t, "", "{% for m in messages %}{% for i in range(100000) %}{% for k in range(100000) %}{% endfor %}{% endfor %}{% endfor %}x"))
	p.timeout = 50 * time.Millisecond
	if got, err := p.Render([]map[string]any{{}}); err == nil || !strings.Contains(err.Error(), "not done after 50ms") {
		t.Errorf("a long chat = %q, %v", got, err)
	}
	p.busy <- struct{}{}
	if _, err := p.Render(nil); err == nil || !strings.Contains(err.Error(), "another chat") {
		t.Errorf("a chat beside it: %v", err)
	}
	<-p.busy
	p.timeout = time.Minute
	if got, err := p.Render(nil); got != "x" || err != nil {
		t.Errorf("a chat after it = %q, %v", got, err)
	}
	p = Open(folder(t, "", "{% for m in messages %}{{ m.content }}{% endfor %}"))
	p.timeout = time.Minute
	if _, err := p.Render([]map[string]any{{"content": strings.Repeat("x", maxText)}, {"content": "x"}}); err == nil || !strings.Contains(err.Error(), "16777217 bytes") {
		t.Errorf("a chat that is too long: %v", err)
	}
}

func TestRenderFromSeveralGoroutines(t *testing.T) {
	p := Open(folder(t, "", "{% for m in messages %}{{ m.content }}{% endfor %}"))
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			want := fmt.Sprintf("%d-b", i)
			if got, err := p.Render([]map[string]any{{"content": fmt.Sprint(i)}, {"content": "-b"}}); got != want || err != nil {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
	wait.Wait()
}

func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{`{"bos_token": {"content": "<s>"}, "chat_template": "x"}`, `{"chat_template": [{"name": "default", "template": "x"}]}`, `{"eos_token": 1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if template, special, err := parseConfig(text); err != nil && (template != "" || special != nil) {
			t.Errorf("an error with %q, %v", template, special)
		}
	})
}
