package jinja

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testfile"
)

// A golden is what testdata/render.py wrote.
type golden struct {
	Chats [][]map[string]any
	Cases []goldenCase
}

// A goldenCase is a template, and its text for each of the chats; nil: it is an error.
type goldenCase struct {
	template string
	texts    [2]*string
}

func (c *goldenCase) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.template, &c.texts[0], &c.texts[1]})
}

func readGolden(t testing.TB) golden {
	t.Helper()
	return testfile.JSON[golden](t, cmp.Or(os.Getenv("JINJA_GOLDEN"), "testdata/golden.json.gz")) // or another seed of render.py, by hand
}

// given are the values that a chat is written with.
func chatValues(messages []map[string]any) map[string]any {
	return map[string]any{"messages": messages, "tools": nil, "documents": nil, "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"}
}

func TestTextsAreThoseOfJinja2(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Cases {
		for i, want := range c.texts {
			got, err := render(c.template, chatValues(g.Chats[i]))
			if want != nil && err != nil {
				t.Errorf("%q, chat %d: %v, want %q", c.template, i, err, *want)
			} else if want != nil && got != *want {
				t.Errorf("%q, chat %d is\n%q, want\n%q", c.template, i, got, *want)
			} else if want == nil && err == nil {
				t.Errorf("%q, chat %d is %q, want an error", c.template, i, got)
			}
		}
	}
}

func render(template string, values map[string]any) (string, error) {
	t, err := Parse(template)
	if err != nil {
		return "", err
	}
	return t.Render(values)
}

func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	for template, want := range map[string]string{
		"a\n{{ $ }}":                          `line 2: '$' has no meaning here`,
		"a\n\n{# x":                           "line 3: a remark has no end",
		"{{ 1":                                "line 1: a tag has no end",
		"{% raw %}x":                          "line 1: raw has no endraw",
		"{{ 1 ) }}":                           `line 1: ")" closes nothing`,
		"{{ (1 ] }}":                          `line 1: "]" closes nothing`,
		"{{ 'a' | nothing }}":                 `line 1: there is no filter "nothing" here`,
		"{{ 'a' is nothing }}":                `line 1: there is no test "nothing" here`,
		"\n{% include 'a' %}":                 `line 2: there is no statement "include" here`,
		"{% if 1 %}\n":                        `want "endif", not the end of the template`,
		"{% for a of b %}":                    `want "in", not "of"`,
		"{% for 1 in b %}":                    `want a name, not "1"`,
		"{% endfor %}":                        `there is no statement "endfor" here`,
		"{% set a = 1 2 %}":                   `want the end of the statement, not "2"`,
		"{{ a b }}":                           `want the end of the expression, not "b"`,
		"{{ }}":                               "want a value, not the end of the tag",
		"{{ a. }}":                            "want a name behind the point, not the end of the tag",
		"{{ a[] }}":                           "there is nothing between the brackets",
		"{{ a[1:2:3:4] }}":                    "more than three parts",
		"{{ a[1 2] }}":                        `want "]", not "2"`,
		"{{ f(*a, 1) }}":                      "an argument without a name is behind one that has one, or stars",
		"{{ f(*a, *b) }}":                     "an argument without a name is behind one that has one, or stars",
		"{{ f(**a, *b) }}":                    "an argument without a name is behind one that has one, or stars",
		"{{ f(**a, **b) }}":                   "an argument without a name is behind one that has one, or stars",
		"{{ f(**a, b=1) }}":                   "an argument without a name is behind one that has one, or stars",
		"{% macro f(a=1, b) %}{% endmacro %}": "parameter b has no default, but one before it has",
		"{% macro f(caller) %}{{ caller() }}{% endmacro %}": "want a default of the parameter caller",
		"{{ f(a=1, 2) }}":           "an argument without a name is behind one that has one",
		"{{ f(1 2) }}":              `want ",", not "2"`,
		"{{ {1 2} }}":               `want ":", not "2"`,
		"{{ 9223372036854775808 }}": "9223372036854775808 is no whole number of 64 bits",
		"{% break %}":               "break is outside of a loop",
		"{% for a in b %}{% macro f() %}{% continue %}{% endmacro %}{% endfor %}": "continue is outside of a loop",
		"{% call 1 %}{% endcall %}": "want a call of a macro",
		"{{ '\\ud800' }}":           "value out of range",
		"{{ '\\x4' }}":              "invalid syntax",
		"{{ " + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300) + "}}": "more than 200 things are within each other",
		"{{ " + strings.Repeat("not ", 300) + "1 }}":                             "more than 200 things",
		"{{ " + strings.Repeat("- ", 300) + "1 }}":                               "more than 200 things",
		strings.Repeat("{% if 1 %}", 300):                                        "more than 200 things",
		"{{ 1" + strings.Repeat(" + 1", 2_500) + " }}":                           "a tag has more than 5000 words",
	} {
		_, err := Parse(template)
		var told *Error
		if !errors.As(err, &told) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.60q) = %v, want an *Error that says %q", template, err, want)
		}
	}
}

func TestATemplateThatFailsSaysWhereAndWhy(t *testing.T) {
	for template, want := range map[string]string{
		"a\n{{ nope.a }}":                                  "line 2: 'nope' is undefined",
		"{% if 1 %}\n\n{{ {}.a.b }}{% endif %}":            "line 3: a value of type dict has no 'a'",
		"{{ [1][5].a }}":                                   "line 1: a value of type list has no element 5",
		"{{ raise_exception('roles!') }}":                  "line 1: roles!",
		"{{ 1 / 0 }}":                                      "division by zero",
		"{{ 1 + 'a' }}":                                    "+ is not for int and str",
		"{{ 1 < 'a' }}":                                    "int and str have no order",
		"{{ 1 in 2 }}":                                     "in is not for int and int",
		"{{ -'a' }}":                                       "a sign is not for str",
		"{{ 3() }}":                                        "a value of type int cannot be called",
		"{{ nope() }}":                                     "'nope' is undefined",
		"{{ 'a'.strip(1) }}":                               "strip: want a text, not int",
		"{{ 'a'.strip('b', 'c') }}":                        "strip: want at most 1 arguments, not 2",
		"{{ 'a'.strip(x=1) }}":                             `strip: there is no argument "x"`,
		"{{ 'a' | trim('b', chars='c') }}":                 "trim: argument chars is given twice",
		"{{ dict(a=1, a=2) }}":                             "argument a is given twice",
		"{{ 'a'.split('') }}":                              "split: the separator is empty",
		"{{ 'a'.split('b', 'c') }}":                        "split: want a whole number, not str",
		"{{ 'a'.startswith(1) }}":                          "startswith: want a text, not int",
		"{{ 'a'.replace('a') }}":                           "replace: want two texts",
		"{{ 'a'.join([1]) }}":                              "join: want texts, not int",
		"{{ 'a'.index('b') }}":                             "index: the text is not there",
		"{{ [1].index(2) }}":                               "index: the value is not there",
		"{{ {[]: 1} }}":                                    "want a key that is a text, a number or a tuple of those",
		"{{ [1][::0] }}":                                   "a slice has steps of 0",
		"{% for x in 5 %}{% endfor %}":                     "there is nothing in a value of type int",
		"{% for a, b in [[1]] %}{% endfor %}":              "1 values are for 2 names",
		"{% set a.b = 1 %}":                                "a is no namespace, so that nothing of it can be set",
		"{% macro f(a) %}{{ a.b }}{% endmacro %}{{ f() }}": "parameter 'a' was not provided",
		"{{ range() }}":                                    "range wants one to three whole numbers",
		"{{ range(1.5) }}":                                 "range wants one to three whole numbers",
		"{{ range(1, 2, 3, 4) }}":                          "range wants one to three whole numbers",
		"{{ range(1, 2, 0) }}":                             "range wants steps that are not 0",
		"{{ loop.cycle() }}":                               "'loop' is undefined",
		"{% for x in [1] %}{{ loop.cycle() }}{% endfor %}": "want an argument",
		"{{ 9223372036854775807 + 1 }}":                    "more than 64 bits",
		"{{ -9223372036854775807 - 2 }}":                   "more than 64 bits",
		"{{ 9223372036854775807 * 2 }}":                    "more than 64 bits",
		"{{ 10 ** 19 }}":                                   "more than 64 bits",
		"{{ 3 ** 100 }}":                                   "more than 64 bits",
		"{{ 1e30 | int }}":                                 "more than 64 bits",
		"{{ [1] is sameas [1] }}":                          "sameas: want a value that is no list",
		"{{ 'a' | round }}":                                "round: want a number, and up to 300 digits of it, not str and 0",
		"{{ 1 | round(0, 'up') }}":                         `round: want common, ceil or floor, not "up"`,
		"{{ 'a' | abs }}":                                  "abs: want a number, not str",
		"{{ 5 | indent }}":                                 "indent: want a text, not int",
		"{{ 'a' | indent(1001) }}":                         "indent: want a width up to 1000",
		"{{ 5 | dictsort }}":                               "dictsort: want a dict by key or value, not int",
		"{{ {} | dictsort(by='x') }}":                      `not dict by "x"`,
		"{{ 5 | items | list }}":                           "items: want a dict",
		"{{ range | tojson }}":                             "tojson: a value of type function is no JSON",
		"{{ [] | tojson(indent=101) }}":                    "tojson: want an indent up to 100",
		"{{ [] | tojson(separators=[1]) }}":                "tojson: want two separators",
		"{{ [1] | map | list }}":                           "map: want an argument",
		"{{ [1] | map('x') | list }}":                      `map: there is no filter "x" here`,
		"{{ [1] | select('x') | list }}":                   `select: there is no test "x" here`,
		"{{ [1] | selectattr | list }}":                    "selectattr: want an argument",
		"{{ 1 is eq }}":                                    "eq: want an argument",
		"{{ 1 is odd(3) }}":                                "odd: want no argument",
		"{{ dict(1) }}":                                    "there is nothing in a value of type int",
	} {
		if got, err := render(template, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q is %.60q, %v, want an error that says %q", template, got, err, want)
		}
	}
}

// A program of a stranger ends, and soon.
func TestATemplateHasBounds(t *testing.T) {
	for template, want := range map[string]string{
		"{% for i in range(100001) %}{% endfor %}":        "a range has 100000 numbers at most",
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "does not come to an end",
		"{% for i in range(20) %}{{ h }}{% endfor %}":     "a text of more than 16777216 bytes",
		"{{ 'ab' * 100000000000 }}":                       "a text of more than 16777216 bytes",
		"{{ [1] * 100000000000 }}":                        "a list of more than 1048576 elements",
		"{% set ns = namespace(x=h) %}{% for i in range(9) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}": "a text of more than 16777216 bytes",
		"{{ h.replace('x', 'y' * 17) }}":                                                       "a text of more than 16777216 bytes",
		"{{ [h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h] | join }}":                     "a text of more than 16777216 bytes",
		"{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}": "does not come to an end",
	} {
		p, err := Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		work := maxWork
		if strings.Contains(want, "an end") {
			work = 1000 // that the whole of it is spent takes long
		}
		if got, err := p.render(map[string]any{"x": strings.Repeat("x", 600), "h": strings.Repeat("x", 1<<20)}, work); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q is %.60q, %v, want an error that says %q", template, got, err, want)
		}
	}
}

func TestValuesOfGoAreThoseOfATemplate(t *testing.T) {
	values := map[string]any{"n": 3, "f": 1.5, "b": true, "none": nil, "l": []any{1, "a"}, "s": []string{"x"}, "d": map[string]any{"z": 1, "content": "c", "a": []any{}, "role": "r"}}
	if got, err := render("{{ n }} {{ f }} {{ b }} {{ l }} {{ s }} {{ d }}", values); got != "3 1.5 True [1, 'a'] ['x'] {'role': 'r', 'content': 'c', 'a': [], 'z': 1}" || err != nil {
		t.Errorf("the values are %s, %v", got, err)
	}
	for name, bad := range map[string]any{"x": struct{}{}, "y": []any{1, make(chan int)}, "z": map[string]any{"a": []byte("b")}} {
		if _, err := render("", map[string]any{name: bad}); err == nil || !strings.Contains(err.Error(), name+": a template cannot have a ") {
			t.Errorf("a value of type %T: %v", bad, err)
		}
	}
}

// A template has no state: what one text sets or counts is not there for the next.
func TestATemplateIsForSeveralGoroutines(t *testing.T) {
	p, err := Parse("{% set ns = namespace(n=0) %}{% for i in range(3000) %}{% set ns.n = ns.n + 1 %}{% endfor %}{% macro f(a) %}{{ a }}{% endmacro %}{{ f(x) }}{{ ns.n }}")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for _, x := range []string{"a", "b", "c", "d"} {
		wait.Go(func() {
			if got, err := p.Render(map[string]any{"x": x}); got != x+"3000" || err != nil {
				t.Errorf("the text of %q is %q, %v", x, got, err)
			}
		})
	}
	wait.Wait()
}

// What HuggingFace marks as the model's part is text like any other.
func TestTheModelsPartIsText(t *testing.T) {
	if got, err := render("a{% generation %}b{% endgeneration %}c", nil); got != "abc" || err != nil {
		t.Errorf("the text is %q, %v", got, err)
	}
}

// FuzzRender: whatever the template, it ends, with a text or an error, and says the same again.
func FuzzRender(f *testing.F) {
	g := readGolden(f)
	for _, c := range g.Cases[:200] {
		f.Add(c.template)
	}
	f.Fuzz(func(t *testing.T, template string) {
		p, err := Parse(template)
		if err != nil {
			return
		}
		first, err1 := p.Render(chatValues(g.Chats[1]))
		second, err2 := p.Render(chatValues(g.Chats[1]))
		if first != second || (err1 == nil) != (err2 == nil) {
			t.Errorf("%q is %q, %v, and then %q, %v", template, first, err1, second, err2)
		}
	})
}
