package jinja

import (
	"runtime"
	"strings"
	"testing"
)

// What waits for a value waits on the stack, whose end is the end of the program: a tag may have so many words only.
func TestATagHasAnEnd(t *testing.T) {
	for name, template := range map[string]string{
		"filters behind a condition": "{% if a" + strings.Repeat("|e", 20_000) + " %}{% endif %}",
		"filters of a block":         "{% filter e" + strings.Repeat("|e", 20_000) + " %}{% endfilter %}",
		"filters of what is set":     "{% set a" + strings.Repeat("|e", 20_000) + " %}{% endset %}",
		"attributes of a loop":       "{% for x in a" + strings.Repeat(".a", 20_000) + " %}{% endfor %}",
		"items":                      "{{ a" + strings.Repeat("[0]", 20_000) + " }}",
		"calls":                      "{{ a" + strings.Repeat("()", 20_000) + " }}",
		"sums":                       "{{ 1" + strings.Repeat("+1", 20_000) + " }}",
		"comparisons":                "{{ 1" + strings.Repeat("<1", 20_000) + " }}",
		"tests":                      "{{ 1" + strings.Repeat(" is odd", 20_000) + " }}",
		"texts beside each other":    "{{ " + strings.Repeat("'x'", 20_000) + " }}",
		"elements of a list":         "{{ [" + strings.Repeat("1,", 20_000) + "] }}",
		"parameters":                 "{% macro f(" + strings.Repeat("a,", 20_000) + ") %}{% endmacro %}",
		"names":                      "{% set a" + strings.Repeat(",a", 20_000) + " = 1 %}",
	} {
		if _, err := Parse("\n" + template); err == nil || err.Error() != "line 2: a tag has more than 5000 words" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNestingHasAnEnd(t *testing.T) {
	deep := func(open, inner, end string) string {
		return strings.Repeat(open, 250) + inner + strings.Repeat(end, 250)
	}
	for name, template := range map[string]string{
		"parentheses":        "{{ " + deep("(", "1", ")") + " }}",
		"lists":              "{{ " + deep("[", "", "]") + " }}",
		"dicts":              "{{ " + deep("{1:", "1", "}") + " }}",
		"items in items":     "{{ " + deep("a[", "0", "]") + " }}",
		"calls in calls":     "{{ " + deep("f(", "", ")") + " }}",
		"arguments":          "{{ " + deep("a|d(", "1", ")") + " }}",
		"signs":              "{{ " + deep("-", "1", "") + " }}",
		"nots":               "{{ " + deep("not ", "1", "") + " }}",
		"choices":            "{{ " + deep("1 if 1 else ", "1", "") + " }}",
		"conditions":         deep("{% if 1 %}", "", "{% endif %}"),
		"loops":              deep("{% for x in y %}", "", "{% endfor %}"),
		"else of conditions": deep("{% if 1 %}{% else %}", "", "{% endif %}"),
		"macros":             deep("{% macro f() %}", "", "{% endmacro %}"),
		"captures":           deep("{% set a %}", "", "{% endset %}"),
		"scopes":             deep("{% with %}", "", "{% endwith %}"),
		"targets":            "{% for " + deep("(", "a", ")") + " in b %}{% endfor %}",
	} {
		if _, err := Parse(template); err == nil || err.Error() != "line 1: more than 200 things are within each other" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("{% if 1 %}" + strings.Repeat("{% elif 1 %}", 5000) + "{% endif %}"); err != nil {
		t.Errorf("elif is not within its if: %v", err)
	}
	got, err := render("{% macro f(n) %}{{ f(n - 1) if n else '' }}x{% endmacro %}{{ f(99) }}", nil)
	if err != nil || got != strings.Repeat("x", 100) {
		t.Errorf("a hundred calls within each other: %q, %v", got, err)
	}
	if _, err := render("{% macro f(n) %}{{ f(n - 1) if n else '' }}x{% endmacro %}{{ f(100) }}", nil); err == nil || !strings.Contains(err.Error(), "does not come to an end") {
		t.Errorf("a hundred and one: %v", err)
	}
}

// Each waits for the other on the stack: calls within calls, of expressions as long as they may be.
func TestLongExpressionsWithinCalls(t *testing.T) {
	got, err := render("{% macro f(n) %}{{ ((f(n - 1) if n else 'a')"+strings.Repeat("|e", 2400)+") }}{% endmacro %}{{ f(99) }}", nil)
	if got != "a" || err != nil {
		t.Errorf("%.40q, %v", got, err)
	}
}

// bigValues are texts that are made quickly, and whose elements are many.
func bigValues() map[string]any {
	return map[string]any{"h": strings.Repeat("x", 1<<20+1), "few": strings.Repeat("y", 1<<16)}
}

func TestListsHaveABound(t *testing.T) {
	for _, expression := range []string{"h | list", "h | sort", "h | unique | list", "h | map('upper') | list", "h | join('-')", "h | select('eq', 'x') | list", "h | max", "[1] * 1048577", "(1, 2) * 524289", "[] == (h | list)"} {
		if _, err := render("{{ "+expression+" }}", bigValues()); err == nil || !strings.Contains(err.Error(), "a list of more than 1048576 elements") {
			t.Errorf("%s: %v", expression, err)
		}
	}
	for _, template := range []string{"{% for c in h %}{% endfor %}", "{% set a, b = h %}"} {
		if _, err := render(template, bigValues()); err == nil || !strings.Contains(err.Error(), "a list of more than 1048576 elements") {
			t.Errorf("%s: %v", template, err)
		}
	}
	for expression, want := range map[string]string{"h | length": "1048577", "h[0]": "x", "h[-1]": "x", "(h[5:] | length)": "1048572", "h | reverse | length": "1048577", "([1] * 1048576) | length": "1048576"} {
		if got, err := render("{{ "+expression+" }}", bigValues()); got != want || err != nil {
			t.Errorf("%s is %.20q, %v, want %s", expression, got, err, want)
		}
	}
}

// renderWithin is render with so much work, of which all that there may be takes long.
func renderWithin(t *testing.T, work int, template string) (string, error) {
	t.Helper()
	p, err := Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	return p.render(bigValues(), work)
}

// Loops within each other over the characters of texts would have all of them at once.
func TestCharactersAreWork(t *testing.T) {
	for _, inner := range []string{"{% for c in few %}{% break %}{% endfor %}", "{% set a = few | list %}", "{% set a = few | first %}", "{% set a = few | sort %}", "{% set a = few | map('upper') | list %}"} {
		template := "{% for i in range(10) %}" + inner + "{% endfor %}"
		if _, err := renderWithin(t, 5<<16, template); err == nil || !strings.Contains(err.Error(), "does not come to an end") {
			t.Errorf("%s: %v", template, err)
		}
	}
}

func TestWhatGrowsWithEachStepIsWork(t *testing.T) {
	for name, template := range map[string]string{
		"sums of lists":       "{% set x = [range(1000) | list] * 2000 %}{{ x | sum(start=[]) | length }}",
		"sorting":             "{% set x = range(9000) | list %}{% for i in range(900) %}{% set y = x | sort(reverse=true) %}{% endfor %}",
		"sorting for JSON":    "{% set x = range(1000) | list %}{% for i in range(9000) %}{% set y = x | tojson(indent=100) %}{% endfor %}",
		"lists of lists":      "{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
		"texts of texts":      "{% for i in range(10000) %}{% set a = h ~ i %}{% endfor %}",
		"parts of texts":      "{% for i in range(10000) %}{% set a = h[1:] %}{% endfor %}",
		"places of texts":     "{% for i in range(10000) %}{% set a = h.count('xx') %}{% endfor %}",
		"texts that strip":    "{% for i in range(10000) %}{% set a = h.strip('y' ~ h) %}{% endfor %}",
		"what iterators give": "{% set l = [1] * 1000 %}{% for i in range(1000) %}{% set a = 2 in (l | select) %}{% endfor %}",
		"turns that change":   "{% set x = range(500) | list %}{% for i in range(9000) %}{% for k in [1, 2] %}{% set a = loop.changed(x) %}{% endfor %}{% endfor %}",
	} {
		if _, err := renderWithin(t, 200_000, template); err == nil || !strings.Contains(err.Error(), "does not come to an end") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However a template tries, little memory is used at once.
func TestMemoryHasABound(t *testing.T) {
	for name, template := range map[string]string{
		"an indent of much text":     "{{ [[[[[[1]]]]]] | tojson(indent=h) }}",
		"separators of much text":    "{{ (range(20) | list) | tojson(separators=(h, h)) }}",
		"much text between elements": "{{ range(20) | join(h) }}",
		"much text before lines":     "{{ ('\n' * 20) | indent(h, blank=true) }}",
		"much text for none":         "{{ h | replace('', h) }}",
		"the same text again":        "{{ [h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h] }}",
		"a text as often":            "{{ h * 9000000000 }}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := render(template, bigValues())
		runtime.ReadMemStats(&after)
		if err == nil || after.TotalAlloc-before.TotalAlloc > 300<<20 {
			t.Errorf("%s: %d MiB, %v", name, (after.TotalAlloc-before.TotalAlloc)>>20, err)
		}
	}
}

func TestTextsThatAreNoUTF8(t *testing.T) {
	if _, err := Parse("a\nb{{ 'c\xff' }}"); err == nil || err.Error() != "line 2: the text is no UTF-8" {
		t.Errorf("a template with half a character: %v", err)
	}
	if _, err := Parse("a\n\xc3"); err == nil || err.Error() != "line 2: the text is no UTF-8" {
		t.Errorf("a template that ends in half a character: %v", err)
	}
	values := map[string]any{"x": "a\xffb", "d": map[string]any{"\xc3": "\xed\xa0\x80"}}
	for template, want := range map[string]string{"{{ x }}": "a\ufffdb", "{{ x | length }}": "3", "{{ x[1:] | capitalize }}": "\ufffdb", "{{ x | title }}{{ x.title() }}": "A\ufffdbA\ufffdB", "{{ d }}": "{'\ufffd': '\ufffd'}"} {
		if got, err := render(template, values); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", template, got, err, want)
		}
	}
}
