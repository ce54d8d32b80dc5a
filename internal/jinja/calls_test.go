package jinja

import (
	"strings"
	"testing"
)

func TestMacrosGetWhatNoParameterTakes(t *testing.T) {
	checkTexts(t, []rendering{
		{"varargs", "{% macro f(a) %}{{ a }}{{ varargs }}{% endmacro %}{{ f(1) }}{{ f(1, 2, 'b') }}", "1()1(2, 'b')"},
		{"kwargs", "{% macro f(a) %}{{ a }}{{ kwargs }}{% endmacro %}{{ f(z=1, a=2, b=3) }}{{ f(1) }}", "2{'z': 1, 'b': 3}1{}"},
		{"both", "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, k=2) }}", "(1,){'k': 2}"},
		{"a parameter twice, of which one is left", "{% macro f(a) %}{{ a }}{{ kwargs }}{% endmacro %}{{ f(1, a=2) }}", "1{'a': 2}"},
		{"a macro within one asks for both", "{% macro f() %}{% macro g() %}{{ varargs }}{% endmacro %}{{ g(1, 2) }}{% endmacro %}{{ f(3) }}", "(1, 2)"},
		{"a name that the body sets is its own", "{% macro f() %}{% set varargs = 5 %}{{ varargs }}{% endmacro %}{{ f() }}", "5"},
		{"a parameter of that name", "{% macro f(varargs, kwargs=2) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }}", "12"},
		{"a caller that is given", "{% macro f(caller=5) %}{{ caller }}{% endmacro %}{{ f() }}{{ f(caller=6) }}{{ f(7) }}", "567"},
		{"no caller", "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}{% call f() %}{% endcall %}", "FalseTrue"},
		{"a caller with all it is given", "{% macro f() %}{{ caller(1, 2, k=3) }}{% endmacro %}{% call(a) f() %}{{ a }}{{ varargs }}{{ kwargs }}{% endcall %}", "1(2,){'k': 3}"},
		{"what is known of a macro", "{% macro f(a, b=1) %}{{ varargs }}{% endmacro %}{{ f.name }}{{ f.arguments }}{{ f.catch_varargs }}{{ f.catch_kwargs }}{{ f.caller }}{{ f.nope is defined }}", "f('a', 'b')TrueFalseFalseFalse"},
	})
	checkRefusals(t, []refusal{
		{"more than the parameters", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "want at most 1 arguments, not 2"},
		{"more, where the name is set before", "{% macro f() %}{% set varargs = 5 %}{{ varargs }}{% endmacro %}{{ f(1) }}", "want at most 0 arguments, not 1"},
		{"more, where the name is a parameter", "{% macro f(varargs) %}{{ varargs }}{% endmacro %}{{ f(1, 2) }}", "want at most 1 arguments, not 2"},
		{"another name", "{% macro f(a) %}{% endmacro %}{{ f(b=2) }}", `there is no argument "b"`},
		{"a caller that is not asked for", "{% macro f() %}{% endmacro %}{% call f() %}x{% endcall %}", `there is no argument "caller"`},
		{"a caller in a block", "{% macro f() %}{{ caller() }}{% endmacro %}{% call f(caller=1) %}x{% endcall %}", "argument caller is given twice"},
		{"a call of no caller", "{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}", "it has no caller"},
	})
}

func TestArgumentsWithStars(t *testing.T) {
	checkTexts(t, []rendering{
		{"of a list", "{% macro f(a, b, c) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(*[1, 2, 3]) }}{{ f(1, *(2, 3)) }}{{ f(*'xyz') }}{{ f(1, *[2], c=5) }}", "123123xyz125"},
		{"of a dict", "{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(**{'b': 1, 'a': 3}) }}{{ f(1, **{}) }}{{ f(*[1], **{'b': 7}) }}{{ f(b=0, *[1]) }}{{ f(b=4, **{'a': 2}) }}", "3112171024"},
		{"of functions", "{{ range(*[1, 4]) | list }}{{ dict(**{'a': 1}) }}{{ dict({'b': 2}, a=1, **{'c': 3}) }}", "[1, 2, 3]{'a': 1}{'b': 2, 'a': 1, 'c': 3}"},
		{"of filters, tests and methods", "{{ 'a' | replace(*['a', 'b']) }}{{ 4 is divisibleby(*[2]) }}{{ 'x-y'.split(*['-']) }}{{ [2.55] | map('round', **{'precision': 1}) | list }}", "bTrue['x', 'y'][2.5]"},
		{"with commas behind", "{{ range(*[2],) | list }}{{ dict(**{'a': 1},) }}", "[0, 1]{'a': 1}"},
	})
	checkRefusals(t, []refusal{
		{"what is no list", "{{ range(*1) }}", "there is nothing in a value of type int"},
		{"what is no dict", "{{ dict(**[1]) }}", "want a dict behind two stars, not list"},
		{"keys that are no names", "{{ dict(**{1: 2}) }}", "want a dict whose keys are texts behind two stars, not int"},
		{"a name twice", "{{ dict(a=1, **{'a': 2}) }}", "argument a is given twice"},
	})
}

func TestLoopsCanBeRecursive(t *testing.T) {
	const tree = "{% set x = [{'n': 1, 'c': [{'n': 2, 'c': [{'n': 3, 'c': []}]}, {'n': 4, 'c': []}]}, {'n': 5, 'c': []}] %}"
	checkTexts(t, []rendering{
		{"over a tree", tree + "{% for i in x recursive %}{{ i.n }}{% if i.c %}({{ loop(i.c) }}){% endif %}{% endfor %}", "1(2(3)4)5"},
		{"each knows how deep it is", tree + "{% for i in x recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ loop.index }}{{ loop.length }} {{ loop(i.c) }}{% endfor %}", "1012 2112 3211 2122 1022 "},
		{"with a test and an else", tree + "{% for i in x if i.n != 4 recursive %}{{ i.n }}[{{ loop(i.c) }}]{% else %}none{% endfor %}", "1[2[3[none]]]5[none]"},
		{"what is written can be kept", tree + "{% for i in x recursive %}{% set inner = loop(i.c) %}<{{ i.n }}{{ inner | upper | length }}>{% endfor %}", "<18><50>"},
		{"from a loop within it", tree + "{% for i in x recursive %}{% set outer = loop %}{{ i.n }}{% for k in i.c %}{{ outer([k]) }}{% endfor %}{% endfor %}", "12345"},
		{"by a name", tree + "{% for i in x recursive %}{{ i.n }}{{ loop(iterable=i.c) }}{% endfor %}", "12345"},
		{"and it can be left", tree + "{% for i in x recursive %}{{ i.n }}{{ loop(i.c) }}{% break %}{% endfor %}", "123"},
		{"all loops can be called, it seems", "{% for i in [1] %}{{ loop is callable }}{% endfor %}", "True"},
	})
	checkRefusals(t, []refusal{
		{"without the word", "{% for i in [1] %}{{ loop([]) }}{% endfor %}", "the loop is not recursive"},
		{"of nothing", "{% for i in [1] recursive %}{{ loop() }}{% endfor %}", "want an argument"},
		{"of a number", "{% for i in [1] recursive %}{{ loop(1) }}{% endfor %}", "there is nothing in a value of type int"},
		{"without end", "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "does not come to an end"},
		{"a loop's attributes cannot be set", "{% for i in [1] %}{% set loop.index = 1 %}{% endfor %}", "loop is no namespace"},
	})
}

func TestJoinersAndCyclers(t *testing.T) {
	checkTexts(t, []rendering{
		{"joiner", "{% set j = joiner('; ') %}{% for i in 'abc' %}{{ j() }}{{ i }}{% endfor %}{{ j.used }}{{ j.sep }}", "a; b; cTrue; "},
		{"joiner of its own", "{% set j = joiner() %}{{ j() }}{{ j() }}{{ j() }}", ", , "},
		{"cycler", "{% set c = cycler('a', 'b') %}{{ c.current }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{{ c.pos }}{{ c.reset() }}{{ c.next() }}{{ c.items }}", "aabba1Nonea('a', 'b')"},
		{"what they are", "{{ joiner() is callable }}{{ cycler(1) is callable }}{{ cycler(1).nope is defined }}", "TrueFalseFalse"},
	})
	checkRefusals(t, []refusal{
		{"cycler of nothing", "{{ cycler() }}", "want an argument"},
		{"cycler with names", "{{ cycler(a=1) }}", "want an argument"},
		{"joiner of two", "{{ joiner(1, 2) }}", "want at most 1 arguments, not 2"},
		{"next with an argument", "{{ cycler(1).next(2) }}", "want at most 0 arguments, not 1"},
	})
}

func TestCallsWithinCallsEnd(t *testing.T) {
	for _, template := range []string{
		"{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{{ caller }}{% endmacro %}{{ f() }}",
		"{% for a in [1] recursive %}{% for b in [1] recursive %}{{ loop([1]) }}{% endfor %}{% endfor %}",
	} {
		if _, err := render(template, nil); err == nil || !strings.Contains(err.Error(), "does not come to an end") {
			t.Errorf("%s: %v", template, err)
		}
	}
}
