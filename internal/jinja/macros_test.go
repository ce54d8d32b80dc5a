package jinja

import (
	"strings"
	"testing"
)

func TestMacrosAreFunctionsOfText(t *testing.T) {
	checkTexts(t, []rendering{
		{"a macro writes nothing by itself", "{% macro f() %}x{% endmacro %}", ""},
		{"it is called", "{% macro f() %}x{% endmacro %}{{ f() }}{{ f() }}", "xx"},
		{"with values in their order", "{% macro f(a, b) %}{{ a }}-{{ b }}{% endmacro %}{{ f(1, 2) }}", "1-2"},
		{"by their names", "{% macro f(a, b) %}{{ a }}-{{ b }}{% endmacro %}{{ f(b=1, a=2) }} {{ f(1, b=2) }}", "2-1 1-2"},
		{"with values that they have otherwise", "{% macro f(a, b=2, c='x' ~ 1) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c=4) }}", "12x1 13x1 124"},
		{"of the parameters before them", "{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }}", "11"},
		{"a parameter without a value is undefined", "{% macro f(a) %}[{{ a }}]{{ a is defined }}{% endmacro %}{{ f() }}", "[]False"},
		{"None is a value", "{% macro f(a=1) %}{{ a }}{% endmacro %}{{ f(none) }}", "None"},
		{"what it writes is a text", "{% macro f() %}a{% endmacro %}{{ f() | upper }}{{ f() ~ 'b' }}{{ f() == 'a' }}{{ f() | length }}", "AabTrue1"},
		{"macros call macros", "{% macro f(x) %}<{{ x }}>{% endmacro %}{% macro g(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ g(1) }}", "<1><1>"},
		{"and themselves", "{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"},
		{"lists within lists", "{% macro tree(x) %}{% if x is string %}{{ x }}{% else %}({% for y in x %}{{ tree(y) }}{% endfor %}){% endif %}{% endmacro %}{{ tree(['a', ['b', []], 'c']) }}", "(a(b())c)"},
		{"a macro is a value", "{% macro f(x) %}{{ x }}{% endmacro %}{% set g = f %}{{ g(1) }}{{ f is callable }}", "1True"},
		{"a macro in a loop", "{% for i in [1, 2] %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}", "12"},
		{"a macro in a macro", "{% macro f(a) %}{% macro g(b) %}{{ a }}{{ b }}{% endmacro %}{{ g(2) }}{% endmacro %}{{ f(1) }}", "12"},
		{"the last of the same name counts", "{% macro f() %}1{% endmacro %}{% macro f() %}2{% endmacro %}{{ f() }}", "2"},
		{"white space of its body", "{% macro f(a) -%}\n  {{ a }}\n{%- endmacro %}[{{ f(1) }}]", "[1]"},
	})
	checkRefusals(t, []refusal{
		{"too many values", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "want at most 1 arguments, not 2"},
		{"a name that it has not", "{% macro f(a) %}{% endmacro %}{{ f(b=1) }}", `there is no argument "b"`},
		{"one value twice", "{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}", "argument a is given twice"},
		{"a use of what is not given", "{% macro f(a) %}\n{{ a.b }}{% endmacro %}{{ f() }}", "line 2: parameter 'a' was not provided"},
		{"before it is there", "{{ f() }}{% macro f() %}{% endmacro %}", "'f' is undefined"},
		{"a macro without parentheses", "{% macro f %}{% endmacro %}", `want "(", not the end of the tag`},
		{"a macro without a name", "{% macro () %}{% endmacro %}", `want a name, not "("`},
		{"a parameter that is no name", "{% macro f(1) %}{% endmacro %}", `want a name, not "1"`},
		{"parameters without a comma", "{% macro f(a b) %}{% endmacro %}", `want ",", not "b"`},
		{"no end", "{% macro f() %}", `want "endmacro", not the end of the template`},
		{"an end with another word", "{% macro f() %}{% endmacro 1 %}", `want the end of the statement, not "1"`},
	})
}

func TestCallsGiveMacrosABody(t *testing.T) {
	const box = "{% macro box(title) %}[{{ title }}: {{ caller() }}]{% endmacro %}"
	const each = "{% macro each(all) %}{% for x in all %}{{ caller(x, loop.index) }}{% endfor %}{% endmacro %}"
	checkTexts(t, []rendering{
		{"what is between is the caller", box + "{% call box('a') %}b{{ 1 }}{% endcall %}", "[a: b1]"},
		{"which gets values", each + "{% call(x, n) each('ab') %}{{ n }}{{ x }} {% endcall %}", "1a 2b "},
		{"or its own", "{% macro f() %}{{ caller() }}{{ caller(2) }}{% endmacro %}{% call(a=1) f() %}{{ a }}{% endcall %}", "12"},
		{"it is not there where no call is", "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}{% call f() %}{% endcall %}", "FalseTrue"},
		{"a call within a call", box + "{% call box(1) %}{% call box(2) %}x{% endcall %}{% endcall %}", "[1: [2: x]]"},
		{"it is written in the scope of the call", box + "{% set x = 'outer' %}{% for x in ['inner'] %}{% call box(1) %}{{ x }}{% endcall %}{% endfor %}", "[1: inner]"},
		{"written twice", "{% macro f() %}{{ caller() }}{{ caller() }}{% endmacro %}{% call f() %}a{% endcall %}", "aa"},
	})
	checkRefusals(t, []refusal{
		{"of no macro", "{% call 1 %}{% endcall %}", "want a call of a macro"},
		{"of a name alone", "{% macro f() %}{% endmacro %}{% call f %}{% endcall %}", "want a call of a macro"},
		{"of what is not there", "{% call f() %}{% endcall %}", "'f' is undefined"},
		{"with too many values for its body", "{% macro f() %}{{ caller(1) }}{% endmacro %}{% call f() %}{% endcall %}", "want at most 0 arguments, not 1"},
		{"without an end", "{% call f() %}", `want "endcall", not the end of the template`},
	})
}

func TestScopes(t *testing.T) {
	checkTexts(t, []rendering{
		{"a macro sees what is around it", "{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{{ f() }}", "1"},
		{"as it is when it is called", "{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ f() }}", "2"},
		{"not what is around its call", "{% macro f() %}{{ y is defined }}{% endmacro %}{% for y in [1] %}{{ f() }}{% endfor %}", "False"},
		{"what it sets is its own", "{% set x = 1 %}{% macro f() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ f() }}{{ x }}", "21"},
		{"the values of the template are seen everywhere", "{% macro f() %}{{ bos_token }}{% endmacro %}{{ f() }}{% for i in [1] %}{{ eos_token }}{% endfor %}", "<s></s>"},
		{"the template's own names hide them", "{% set bos_token = 'x' %}{{ bos_token }}", "x"},
		{"and the functions", "{% set range = 5 %}{{ range }}", "5"},
		{"with has names of its own", "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", "12False"},
		{"what is set within it too", "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}", "1False"},
		{"the outer names are those of its values", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", "211"},
	})
	checkRefusals(t, []refusal{
		{"with without a value", "{% with a %}{% endwith %}", `want "=", not the end of the tag`},
		{"with a comma behind the last one", "{% with a = 1, %}{% endwith %}", "want a name, not the end of the tag"},
		{"without its end", "{% with a = 1 %}", `want "endwith", not the end of the template`},
	})
}

func TestSetting(t *testing.T) {
	checkTexts(t, []rendering{
		{"a value", "{% set a = 1 + 1 %}{{ a }}", "2"},
		{"a tuple", "{% set a = 1, 2 %}{{ a }}", "(1, 2)"},
		{"several names", "{% set a, b = 1, 2 %}{{ b }}{{ a }}", "21"},
		{"exchanged", "{% set a, b = 1, 2 %}{% set a, b = b, a %}{{ a }}{{ b }}", "21"},
		{"names within names", "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}", "123"},
		{"the characters of a text", "{% set a, b = 'xy' %}{{ a }}-{{ b }}", "x-y"},
		{"with a choice", "{% set a = 1 if false else 2 %}{{ a }}", "2"},
		{"what a body writes", "{% set a %}x{{ 1 }}{% if true %}y{% endif %}{% endset %}[{{ a }}]{{ a is string }}", "[x1y]True"},
		{"filtered", "{% set a | upper | replace('X', '-') %}xyx{% endset %}{{ a }}", "-Y-"},
		{"with a filter that gives no text", "{% set a | length %}abc{% endset %}{{ a + 1 }}", "4"},
		{"what a body sets stays in it", "{% set a %}{% set b = 1 %}{% endset %}{{ b is defined }}", "False"},
		{"a namespace's attributes", "{% set ns = namespace(a=1, b=2) %}{% set ns.a = 3 %}{% set ns.c = ns.a + ns.b %}{{ ns.a }}{{ ns.c }}", "35"},
		{"one of a namespace out of a dict", "{% set ns = namespace({'x': 1}, y=2) %}{{ ns.x }}{{ ns.y }}", "12"},
		{"a namespace's attribute to what a body writes", "{% set ns = namespace() %}{% set ns.a %}x{% endset %}{{ ns.a }}", "x"},
		{"namespaces are shared", "{% set a = namespace(n=1) %}{% set b = a %}{% set b.n = 2 %}{{ a.n }}", "2"},
		{"and set in macros", "{% set ns = namespace(n=0) %}{% macro f() %}{% set ns.n = ns.n + 1 %}{% endmacro %}{{ f() }}{{ f() }}{{ ns.n }}", "2"},
		{"what a namespace has not", "{{ namespace(a=1).b is defined }}", "False"},
		{"a filter block", "{% filter upper %}a{{ 'b' }}{% endfilter %}", "AB"},
		{"two filters", "{% filter upper | replace('A', 'x') %}ab{% endfilter %}", "xB"},
		{"a filter with arguments", "{% filter indent(2) %}a\nb{% endfilter %}", "a\n  b"},
	})
	checkRefusals(t, []refusal{
		{"a comma behind the last name", "{% set a, = [1] %}", `want a name, not "="`},
		{"too few values", "{% set a, b = 1, %}", "1 values are for 2 names"},
		{"an attribute of a dict", "{% set d = {} %}{% set d.a = 1 %}", "d is no namespace, so that nothing of it can be set"},
		{"an attribute of what is undefined", "{% set nope.a = 1 %}", "nope is no namespace"},
		{"an item", "{% set d = {} %}{% set d['a'] = 1 %}", "want the end of the statement, not \"[\""},
		{"a number", "{% set 1 = 2 %}", `want a name, not "1"`},
		{"a text in quotes", "{% set 'a' = 2 %}", `want a name, not "a"`},
		{"no value", "{% set a = %}", "want a value, not the end of the tag"},
		{"no end of a body", "{% set a %}x", `want "endset", not the end of the template`},
		{"a filter that there is not", "{% filter shout %}{% endfilter %}", `there is no filter "shout" here`},
		{"a filter block without a filter", "{% filter %}{% endfilter %}", "want a name, not the end of the tag"},
		{"a namespace of a list of no pairs", "{{ namespace([1]) }}", "there is nothing in a value of type int"},
	})
}

func TestConditions(t *testing.T) {
	checkTexts(t, []rendering{
		{"if", "{% if 1 %}a{% endif %}{% if 0 %}b{% endif %}", "a"},
		{"else", "{% if 0 %}a{% else %}b{% endif %}", "b"},
		{"elif, of which the first counts", "{% for x in [1, 2, 3, 4] %}{% if x == 1 %}a{% elif x == 2 %}b{% elif x > 1 %}c{% else %}d{% endif %}{% endfor %}", "abcc"},
		{"only as many are looked at as it takes", "{% if true %}a{% elif 1 / 0 %}b{% endif %}", "a"},
		{"within each other", "{% if 1 %}{% if 0 %}a{% else %}b{% endif %}{% else %}c{% endif %}", "b"},
		{"what is undefined does not hold", "{% if nope %}a{% else %}b{% endif %}{% if messages[0].nope %}c{% endif %}", "b"},
		{"a tuple holds", "{% if 0, 0 %}a{% endif %}", "a"},
		{"an empty body", "{% if 1 %}{% else %}{% endif %}", ""},
	})
	checkRefusals(t, []refusal{
		{"without a test", "{% if %}a{% endif %}", "want a value, not the end of the tag"},
		{"without an end", "{% if 1 %}a\n", `want "endif", not the end of the template`},
		{"else twice", "{% if 1 %}{% else %}{% else %}{% endif %}", `there is no statement "else" here`},
		{"elif behind else", "{% if 1 %}{% else %}{% elif 1 %}{% endif %}", `there is no statement "elif" here`},
		{"else alone", "{% else %}", `there is no statement "else" here`},
		{"an end with more words", "{% if 1 %}{% endif x %}", `want the end of the statement, not "x"`},
		{"a test with more words", "{% if 1 2 %}{% endif %}", `want the end of the statement, not "2"`},
		{"an attribute of what is undefined", "{% if nope.a %}{% endif %}", "'nope' is undefined"},
	})
}

func TestTemplatesRefuseChats(t *testing.T) {
	const alternating = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\n{{ raise_exception('Roles must alternate, not ' ~ m.role) }}{% endif %}{% endfor %}"
	checkRefusals(t, []refusal{
		{"with their own words", "{{ raise_exception('no!') }}", "line 1: no!"},
		{"at the line where they say so", alternating, "line 2: Roles must alternate, not system"},
	})
	user := map[string]any{"messages": []map[string]any{{"role": "user"}, {"role": "assistant"}, {"role": "user"}}}
	if got, err := render(alternating, user); got != "" || err != nil {
		t.Errorf("a chat that alternates is %q, %v", got, err)
	}
	if _, err := render("{{ raise_exception() }}", nil); err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
		t.Errorf("an exception without words: %v", err)
	}
}

func TestStatementsThatAreNotHere(t *testing.T) {
	for _, statement := range []string{"include 'a'", "import 'a' as b", "from 'a' import b", "extends 'a'", "block a", "autoescape true", "do f()", "trans", "debug", "print 1", "endfor"} {
		name, _, _ := strings.Cut(statement, " ")
		want := `line 3: there is no statement "` + name + `" here`
		if _, err := Parse("\n\n{% " + statement + " %}"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", statement, err, want)
		}
	}
}
