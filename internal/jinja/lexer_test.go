package jinja

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// Chat templates are written over many lines; which of their line breaks are text is the most common mistake.
func TestWhiteSpaceAroundStatements(t *testing.T) {
	checkTexts(t, []rendering{
		{"the line break behind a statement is dropped", "{% if true %}\nx\n{% endif %}\ny", "x\ny"},
		{"only one line break is dropped", "{% if true %}\n\nx{% endif %}", "\nx"},
		{"blanks behind a statement stay, and so does the break behind them", "{% if true %} \nx{% endif %}", " \nx"},
		{"blanks before a statement that begins its line are dropped", "a\n   {% if true %}b{% endif %}", "a\nb"},
		{"tabs count as blanks", "a\n\t \t{% if true %}b{% endif %}", "a\nb"},
		{"blanks before a statement within a line stay", "a  {% if true %}b{% endif %}", "a  b"},
		{"the first line of a template is a line", "   {% if true %}b{% endif %}", "b"},
		{"blanks between two statements of a line stay", "{% if true %}  {% if true %}x{% endif %}{% endif %}", "  x"},
		{"behind a statement that ended its line a new one begins", "{% if true %}\n  {% if true %}x{% endif %}{% endif %}", "x"},
		{"an expression drops nothing", "a\n  {{ 1 }}\nb", "a\n  1\nb"},
		{"blanks behind an expression are within its line", "{{ 1 }}  {% if true %}x{% endif %}", "1  x"},
		{"a plus before keeps the blanks", "a\n  {%+ if true %}b{% endif %}", "a\n  b"},
		{"a plus behind keeps the break", "{% if true +%}\nb{% endif %}", "\nb"},
		{"a minus before drops all white space, breaks too", "a \n\t {%- if true %}b{% endif %}", "ab"},
		{"a minus behind drops all white space, breaks too", "{% if true -%} \n\n b{% endif %}", "b"},
		{"a minus of an expression does so on both sides", "a \n {{- 1 -}} \n b", "a1b"},
		{"a minus reaches no further than the next tag", "{{ 1 -}}  {{ 2 }}", "12"},
		{"a minus reaches no further than the tag before", "{{ 1 }}  {{- 2 }}", "12"},
		{"a minus drops what Python calls white space", "a\u00a0\u2028\x1c{{- 1 -}}\u3000b", "a1b"},
		{"a sign in an expression is none of the tag", "{{ -1 }} {{- -1 }} {{ 1 -1 }}", "-1-1 0"},
		{"a plus behind an expression's begin is an operator", "a\n {{+ 3 }}", "a\n 3"},
		{"a template's last line break is dropped", "a\n", "a"},
		{"only the last one is", "a\n\n", "a\n"},
		{"the last line break behind a statement", "{% if true %}a{% endif %}\n", "a"},
		{"an empty template", "", ""},
		{"a template of one line break", "\n", ""},
		{"a template of white space", " \n ", " \n "},
	})
}

func TestLineEndsAreThoseOfUnix(t *testing.T) {
	checkTexts(t, []rendering{
		{"of Windows", "a\r\nb\r\n", "a\nb"},
		{"of old Macs", "a\rb\r", "a\nb"},
		{"mixed", "a\r\n\rb\n\r\nc", "a\n\nb\n\nc"},
		{"behind a statement", "{% if true %}\r\nx{% endif %}", "x"},
		{"in a text of an expression", "{{ 'a\r\nb' }}", "a\nb"},
		{"written as an escape they stay", `{{ 'a\r\nb' }}`, "a\r\nb"},
		{"in raw", "{% raw %}a\r\nb{% endraw %}", "a\nb"},
	})
}

func TestRemarksAreNoText(t *testing.T) {
	checkTexts(t, []rendering{
		{"a remark within a line", "a{# b #}c", "ac"},
		{"an empty one", "a{##}c", "ac"},
		{"a remark of several lines", "a{# b\n\nb #}c", "ac"},
		{"the break behind it is dropped, as behind a statement", "a\n{# b #}\nc", "a\nc"},
		{"the blanks before it, as before a statement", "a\n   {# b #}c", "a\nc"},
		{"a minus before", "a  {#- b #} c", "a c"},
		{"a minus behind", "a {# b -#}  c", "a c"},
		{"a plus before", "a\n  {#+ b #}c", "a\n  c"},
		{"tags in it are no tags", "a{# {{ x }} {% endif %} #}c", "ac"},
		{"a remark has no remarks in it", "a{# {# b #} c #}d", "a c #}d"},
		{"quotes in it hide no end", "a{# ' #}b", "ab"},
		{"a brace alone is text", "{ # } {a} }} %} #}", "{ # } {a} }} %} #}"},
		{"braces before a tag", "{{{ 'a': 1 }.a }}", "1"},
	})
	checkRefusals(t, []refusal{
		{"without an end", "a\n\n{# b", "line 3: a remark has no end"},
		{"whose end lacks its number sign", "{# b }", "a remark has no end"},
		{"that ends in a sign only", "{# b -", "a remark has no end"},
	})
}

func TestRawTextIsAsItIs(t *testing.T) {
	checkTexts(t, []rendering{
		{"tags are text", "{% raw %}{{ x }}{% if %}{# y #}{% endraw %}", "{{ x }}{% if %}{# y #}"},
		{"empty", "{% raw %}{% endraw %}", ""},
		{"statements that are not its end", "{% raw %}{% endif %}{% end raw %}{% endraw %}", "{% endif %}{% end raw %}"},
		{"blanks in its tags", "{%   raw   %}a{%   endraw   %}", "a"},
		{"a break behind its begin stays", "{% raw %}\na{% endraw %}", "\na"},
		{"a break behind its end is dropped", "{% raw %}a{% endraw %}\nb", "ab"},
		{"blanks before its end that begins a line are dropped", "{% raw %}a\n  {% endraw %}b", "a\nb"},
		{"blanks before its end within a line stay", "{% raw %}a  {% endraw %}b", "a  b"},
		{"a minus behind its begin", "{% raw -%}  a{% endraw %}", "a"},
		{"a minus before its end", "{% raw %}a  {%- endraw %}", "a"},
		{"a minus behind its end", "{% raw %}a{% endraw -%}  b", "ab"},
		{"a minus before its begin", "a  {%- raw %}b{% endraw %}", "ab"},
		{"a plus before its end", "{% raw %}a\n  {%+ endraw %}b", "a\n  b"},
		{"a plus behind its end", "{% raw %}a{% endraw +%}\nb", "a\nb"},
		{"twice", "{% raw %}{{{% endraw %}-{% raw %}}}{% endraw %}", "{{-}}"},
		{"within a loop", "{% for i in [1, 2] %}{% raw %}{{ i }}{% endraw %}{% endfor %}", "{{ i }}{{ i }}"},
	})
	checkRefusals(t, []refusal{
		{"without an end", "{% raw %}\n{% raw %}", "raw has no endraw"},
		{"whose end is not closed", "{% raw %}a{% endraw", "raw has no endraw"},
		{"whose end has more words", "{% raw %}a{% endraw x %}", "raw has no endraw"},
		{"whose begin has more words", "{% raw x %}a{% endraw %}", "there is no statement \"raw\" here"},
		{"an end alone", "a{% endraw %}", "there is no statement \"endraw\" here"},
	})
}

func TestTextsInQuotes(t *testing.T) {
	checkTexts(t, []rendering{
		{"single and double quotes", `{{ 'a"b' }}{{ "a'b" }}`, `a"ba'b`},
		{"quotes behind backslashes", `{{ 'a\'b' }}{{ "a\"b" }}`, `a'ba"b`},
		{"a backslash behind a backslash", `{{ 'a\\' }}`, `a\`},
		{"letters with a meaning", `{{ '\a\b\f\n\r\t\v' }}`, "\a\b\f\n\r\t\v"},
		{"letters without one stay with their backslash", `{{ '\d\w\s\.\/' }}`, `\d\w\s\.\/`},
		{"numbers of characters", `{{ '\x41\u00e9\U0001F642' }}`, "Aé🙂"},
		{"numbers in octal", `{{ '\101\7\1234' }}`, "A\aS4"},
		{"eight is no digit of octal", `{{ '\18' }}`, "\x018"},
		{"a backslash at a line's end joins lines", "{{ 'a\\\nb' }}", "ab"},
		{"a text over two lines", "{{ 'a\nb' }}", "a\nb"},
		{"texts beside each other are one", `{{ 'a' "b" 'c' }}`, "abc"},
		{"that is so before attributes and filters", `{{ 'a' 'b' | upper }}{{ 'a' 'b'.upper() }}`, "ABAB"},
		{"characters beyond ASCII", "{{ 'ü🙂' }}", "ü🙂"},
		{"the ends of tags within", "{{ '}}' }}{{ '%}' }}{% if '%}' %}x{% endif %}{{ '#}{{' }}", "}}%}x#}{{"},
		{"a character of zero", `{{ '\0' | length }}`, "1"},
	})
	checkRefusals(t, []refusal{
		{"without an end", "{{ 'a }}", "has no meaning here"},
		{"whose end is behind a backslash", `{{ 'a\' }}`, "has no meaning here"},
		{"numbers of characters that lack a digit", `{{ '\x4' }}`, "invalid syntax"},
		{"numbers that are none", `{{ '\xzz' }}`, "value out of range"},
		{"numbers beyond the characters", `{{ '\U00110000' }}`, "value out of range"},
	})
}

func TestNumbersInTemplates(t *testing.T) {
	checkTexts(t, []rendering{
		{"whole", "{{ 0 }} {{ 7 }} {{ 00 }} {{ 9223372036854775807 }}", "0 7 0 9223372036854775807"},
		{"with underscores", "{{ 1_000_000 }} {{ 1_0.2_5 }} {{ 1_0e1_0 }}", "1000000 10.25 100000000000.0"},
		{"of other bases", "{{ 0x1F }} {{ 0XfF }} {{ 0b101 }} {{ 0B1 }} {{ 0o17 }} {{ 0O7 }} {{ 0x_f }}", "31 255 5 1 15 7 15"},
		{"floats", "{{ 1.5 }} {{ 0.1 }} {{ 1e3 }} {{ 1E-7 }} {{ 2.50e+2 }} {{ 1e22 }} {{ 1e400 }}", "1.5 0.1 1000.0 1e-07 250.0 1e+22 inf"},
		{"a point and a name behind a number", "{{ 5.x is defined }}", "False"},
		{"numbers behind points are places", "{{ [[1, 2], [3, 4]].1.0 }}{{ messages.0.role }}{{ 'abc'.2 }}", "3systemc"},
	})
	checkRefusals(t, []refusal{
		{"digits behind a zero", "{{ 07 }}", `want the end of the expression, not "7"`},
		{"a number with a letter", "{{ 1a }}", `want the end of the expression, not "a"`},
		{"a digit that its base lacks", "{{ 0b2 }}", `want the end of the expression, not "b2"`},
		{"two underscores", "{{ 1__0 }}", `want the end of the expression, not "__0"`},
	})
	if _, err := Parse("\n{{ 0x8000000000000000 }}"); err == nil || err.Error() != "line 2: 0x8000000000000000 is no whole number of 64 bits" {
		t.Errorf("a number of 65 bits: %v", err)
	}
}

func TestNamesAreThoseOfPython(t *testing.T) {
	checkTexts(t, []rendering{
		{"letters, digits and underscores", "{% set _a1 = 1 %}{{ _a1 }}", "1"},
		{"letters of all scripts", "{% set größe = 1 %}{% set 名 = 2 %}{{ größe }}{{ 名 }}", "12"},
		{"capitals are others", "{% set a = 1 %}{% set A = 2 %}{{ a }}{{ A }}", "12"},
		{"keywords begin names", "{% set iffy = 1 %}{% set notes = 2 %}{% set inn = 3 %}{{ iffy }}{{ notes }}{{ inn }}", "123"},
		{"the constants in both ways of writing", "{{ true }}{{ True }}{{ false }}{{ False }}{{ none }}{{ None }}", "TrueTrueFalseFalseNoneNone"},
		{"other ways are names", "{{ TRUE is defined }}{{ null is defined }}{{ nil is defined }}", "FalseFalseFalse"},
	})
	checkRefusals(t, []refusal{
		{"a sign that is none", "{{ a ? b }}", "'?' has no meaning here"},
		{"a dollar", "\n\n{{ $a }}", "line 3: '$' has no meaning here"},
		{"an ampersand", "{{ a & b }}", "'&' has no meaning here"},
		{"a bang alone", "{{ !a }}", "'!' has no meaning here"},
		{"a character beyond ASCII", "{{ a → b }}", "'→' has no meaning here"},
	})
}

func TestBracketsBelongTogether(t *testing.T) {
	checkTexts(t, []rendering{
		{"the end of a tag within brackets is none", "{{ {'a': {'b': 1}}['a'] }}", "{'b': 1}"},
		{"two braces that close dicts", "{{ {'a':{'b':{}}} }}", "{'a': {'b': {}}}"},
		{"a percent sign before a brace", "{% set a = {'x': 7 % 4} %}{{ a }}", "{'x': 3}"},
	})
	checkRefusals(t, []refusal{
		{"one that closes nothing", "{{ 1 ) }}", `")" closes nothing`},
		{"one that closes another", "{{ (1] }}", `"]" closes nothing`},
		{"one that is open at the end of its tag", "{{ (1 }}", `"}" closes nothing`},
		{"one that is open at the end of the template", "{% set x = [1", "a tag has no end"},
		{"a tag without an end", "a\n{{ 1", "line 2: a tag has no end"},
		{"a statement that ends as an expression", "{% if 1 }}", `"}" closes nothing`},
		{"an expression that ends as a statement", "{{ 1 %}", `"}" closes nothing`},
	})
}

// Whatever the text between them, an error has the line of its tag.
func TestLinesAreCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	parts := []string{"a", "\n", "\r\n", "\r", "{# x\n #}", "{{ 'b\n' }}", "{% raw %}\n{{{% endraw %}", "{{ 1\n}}", "{% if\n1 %}\n{% endif %}", "{%- if 1 -%}\n\n{% endif -%}\n", "é"}
	for range 300 {
		var b strings.Builder
		for range random.IntN(12) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		before := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(b.String() + "x")
		want := 1 + strings.Count(before, "\n")
		for _, fault := range []string{"{{ ? }}", "{% nope %}", "{{ 1 2 }}", "{{ nope.a }}", "{% set a, b = 1 %}"} {
			_, err := render(before+fault+"\n\n", nil)
			var told *Error
			if !errors.As(err, &told) || told.Line != want || told.Unwrap() == nil {
				t.Fatalf("%q: %v, want an error of line %d", before+fault, err, want)
			}
		}
	}
}

// Text that is no tag comes out as it went in.
func TestPlainTextIsWrittenAsItIs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	parts := []string{"{", "}", "%", "#", "a", " ", "\n", "é", "𝄞", "{ {", "}}", "%}", "#}", "'", `"`, `\n`, "<|im_start|>"}
	for range 500 {
		var b strings.Builder
		for range random.IntN(20) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String() + "."
		if strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#") {
			continue
		}
		if got, err := render(text, nil); got != text || err != nil {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}
