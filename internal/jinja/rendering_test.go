package jinja

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// A rendering is a template with its text, and what it shows. The texts are those of Jinja2 3.1 with the options of
// render.py: testdata/tables.py compares them.
type rendering struct{ claim, template, text string }

// A refusal is a template that Jinja2 refuses too, and what the error here says of it.
type refusal struct{ claim, template, says string }

// tableValues are what the templates of the tables are rendered with.
func tableValues() map[string]any {
	return map[string]any{
		"messages": []any{
			map[string]any{"role": "system", "content": "Be brief."},
			map[string]any{"role": "user", "content": "Who built the castle?"},
			map[string]any{"role": "assistant", "content": "A king.\n", "n": 3},
		},
		"bos_token": "<s>", "eos_token": "</s>", "tools": nil, "add_generation_prompt": true,
		"people": []any{
			map[string]any{"name": "Bea", "age": 31, "home": map[string]any{"town": "Ulm"}},
			map[string]any{"name": "al", "age": 7, "home": map[string]any{"town": "Aue"}},
			map[string]any{"name": "Cy", "age": 31, "home": map[string]any{"town": "aue"}},
		},
		"greek": "ὈΔΥΣΣΕΎΣ ΣΟΦΌΣ", "umlaut": "straße ÄÖÜ", "clef": "a𝄞b", "blank": " \t\n ",
	}
}

func checkTexts(t *testing.T, cases []rendering) {
	t.Helper()
	for _, c := range cases {
		if got, err := render(c.template, tableValues()); err != nil || got != c.text {
			t.Errorf("%s: %q is\n%q, %v, want\n%q", c.claim, c.template, got, err, c.text)
		}
		note(t, c.template, &c.text, tableValues())
	}
}

func checkRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		got, err := render(c.template, tableValues())
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: %q is %.80q, %v, want an error with its line that says %q", c.claim, c.template, got, err, c.says)
		}
		note(t, c.template, nil, tableValues())
	}
}

// note appends a case to the file JINJA_TABLES, for tables.py, if there is to be one.
func note(t *testing.T, template string, text *string, values map[string]any) {
	t.Helper()
	testfile.Note(t, "JINJA_TABLES", map[string]any{"test": t.Name(), "template": template, "text": text, "values": values})
}
