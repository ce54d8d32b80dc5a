package jinja

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLoopsGoThroughElements(t *testing.T) {
	checkTexts(t, []rendering{
		{"of lists", "{% for x in [1, 'a', none] %}{{ x }};{% endfor %}", "1;a;None;"},
		{"of tuples without parentheses", "{% for x in 1, 2 %}{{ x }}{% endfor %}", "12"},
		{"of texts, by character", "{% for c in clef %}[{{ c }}]{% endfor %}", "[a][𝄞][b]"},
		{"of dicts, by key", "{% for k in {'b': 1, 'a': 2} %}{{ k }}{% endfor %}", "ba"},
		{"of items", "{% for k, v in {'b': 1, 'a': 2}.items() %}{{ k }}={{ v }} {% endfor %}", "b=1 a=2 "},
		{"of ranges", "{% for i in range(2, 8, 3) %}{{ i }}{% endfor %}", "25"},
		{"of what is undefined there are none", "{% for x in nope %}{{ x }}{% else %}none{% endfor %}", "none"},
		{"of a chat", "{% for m in messages %}{{ m.role }}: {{ m['content'] | trim }}\n{% endfor %}", "system: Be brief.\nuser: Who built the castle?\nassistant: A king.\n"},
		{"of parts of one", "{% for m in messages[1:] %}{{ m.role }} {% endfor %}{% for m in messages[::-1] %}{{ m.role[0] }}{% endfor %}", "user assistant aus"},
		{"elements in several names", "{% for a, b, c in [[1, 2, 3], (4, 5, 6), 'xyz'] %}{{ a }}{{ c }} {% endfor %}", "13 46 xz "},
		{"in names within names", "{% for i, (k, v) in [(1, ('a', 2)), (2, ('b', 3))] %}{{ i }}{{ k }}{{ v }} {% endfor %}", "1a2 2b3 "},
		{"in names in parentheses", "{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}", "12"},
	})
	checkRefusals(t, []refusal{
		{"numbers have no elements", "{% for x in 5 %}{% endfor %}", "there is nothing in a value of type int"},
		{"None has none", "{% for x in none %}{% endfor %}", "there is nothing in a value of type NoneType"},
		{"too few for the names", "{% for a, b in [[1]] %}{% endfor %}", "1 values are for 2 names"},
		{"too many for the names", "{% for a, b in ['abc'] %}{% endfor %}", "3 values are for 2 names"},
		{"none at all", "{% for a, b in [1] %}{% endfor %}", "there is nothing in a value of type int"},
		{"too few within", "{% for a, (b, c) in [(1, (2,))] %}{% endfor %}", "1 values are for 2 names"},
		{"a number for a name", "{% for 1 in [1] %}{% endfor %}", `want a name, not "1"`},
		{"no name at all", "{% for in [1] %}{% endfor %}", `want "in", not "["`},
		{"no in", "{% for x of [1] %}{% endfor %}", `want "in", not "of"`},
		{"no end", "{% for x in [1] %}{{ x }}", `want "endfor", not the end of the template`},
		{"another's end", "{% for x in [1] %}{% endif %}", `there is no statement "endif" here`},
		{"a name in quotes is no end", "{% for x in [1] %}{% 'endfor' %}", "want a name, not"},
		{"parentheses without end", "{% for (a, b in [1] %}{% endfor %}", "closes nothing"},
	})
}

func TestALoopKnowsItsTurn(t *testing.T) {
	checkTexts(t, []rendering{
		{"numbers from one and from zero", "{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }} {% endfor %}", "10 21 32 "},
		{"counted from the end", "{% for x in 'abc' %}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}", "32 21 10 "},
		{"the first and the last", "{% for x in 'abc' %}{{ loop.first }}{{ loop.last }} {% endfor %}", "TrueFalse FalseFalse FalseTrue "},
		{"of one they are the same", "{% for x in 'a' %}{{ loop.first and loop.last }}{% endfor %}", "True"},
		{"how many there are", "{% for x in 'abc' if x != 'b' %}{{ loop.length }}{{ loop.index }} {% endfor %}", "21 22 "},
		{"the neighbours", "{% for x in 'abc' %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "<a>b a<b>c b<c> "},
		{"which the first and the last lack", "{% for x in 'ab' %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}", "FalseTrue TrueFalse "},
		{"values that take turns", "{% for x in 'abcd' %}{{ loop.cycle('odd', 'even', 7) }} {% endfor %}", "odd even 7 odd "},
		{"the depth is one", "{% for x in 'a' %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}", "10"},
		{"what changed", "{% for x in 'aabba' %}{{ loop.changed(x) }} {% endfor %}", "True False True False True "},
		{"what changed of several", "{% for x in 'aab' %}{{ loop.changed(1, [x]) }} {% endfor %}{% for x in 'ab' %}{{ loop.changed() }}{% endfor %}", "True False True TrueFalse"},
		{"each loop has its own", "{% for x in 'ab' %}{{ loop.index }}{% for y in 'cd' %}{{ loop.index0 }}{% endfor %}{{ loop.index }} {% endfor %}", "1011 2012 "},
		{"and the outer one is kept in a name", "{% for x in 'ab' %}{% set outer = loop %}{% for y in 'cd' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}", "11 12 21 22 "},
		{"there is none behind it", "{% for x in 'a' %}{% endfor %}{{ loop is defined }}", "False"},
		{"nor has it other attributes", "{% for x in 'a' %}{{ loop.nope is defined }}{% endfor %}", "False"},
	})
	checkRefusals(t, []refusal{
		{"turns of nothing", "{% for x in 'a' %}{{ loop.cycle() }}{% endfor %}", "want an argument"},
		{"an attribute of the neighbour that is not there", "{% for x in 'a' %}{{ loop.nextitem.role }}{% endfor %}", "a value of type LoopContext has no 'nextitem'"},
		{"outside", "{{ loop.index }}", "'loop' is undefined"},
	})
}

func TestLoopsChooseTheirElements(t *testing.T) {
	checkTexts(t, []rendering{
		{"by a test", "{% for m in messages if m.role != 'system' %}{{ loop.index }}{{ m.role }} {% endfor %}", "1user 2assistant "},
		{"with the names of the loop", "{% for a, b in [(1, 2), (3, 3)] if a == b %}{{ a }}{% endfor %}", "3"},
		{"none is left", "{% for x in [1, 2] if x > 5 %}{{ x }}{% else %}none{% endfor %}", "none"},
		{"with a choice in the test", "{% for x in [1, 2, 3] if (x > 1 if true else false) %}{{ x }}{% endfor %}", "23"},
		{"from a choice in parentheses", "{% for x in ([1] if false else [2, 3]) if x > 2 %}{{ x }}{% endfor %}", "3"},
	})
	checkRefusals(t, []refusal{
		{"a test that fails", "\n{% for x in [1] if x.a.b %}{% endfor %}", "line 2: a value of type int has no 'a'"},
		{"a name too few in the test", "{% for a, b in [1] if a %}{% endfor %}", "there is nothing in a value of type int"},
		{"no test", "{% for a in [1] if %}{% endfor %}", "want a value, not the end of the tag"},
	})
}

func TestElseIsForLoopsWithoutATurn(t *testing.T) {
	checkTexts(t, []rendering{
		{"nothing to go through", "{% for x in [] %}x{% else %}none{% endfor %}", "none"},
		{"something", "{% for x in [1] %}x{% else %}none{% endfor %}", "x"},
		{"the outer variables are there", "{% set a = 1 %}{% for x in [] %}{% else %}{{ a }}{{ loop is defined }}{% endfor %}", "1False"},
		{"what it sets is not there behind it", "{% for x in [] %}{% else %}{% set a = 1 %}{% endfor %}{{ a is defined }}", "False"},
		{"in an outer loop it has that loop's break", "{% for y in 'abc' %}{{ y }}{% for x in [] %}{% else %}{% break %}{% endfor %}{% endfor %}", "a"},
	})
}

func TestLoopsCanBeLeft(t *testing.T) {
	checkTexts(t, []rendering{
		{"break", "{% for x in [1, 2, 3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}.", "1."},
		{"continue", "{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}.", "13."},
		{"only the inner one is left", "{% for x in 'ab' %}{% for y in 'cd' %}{% break %}{% endfor %}{{ x }}{% endfor %}", "ab"},
		{"through other blocks", "{% for x in [1, 2] %}{% with y = x %}{% if y %}{{ y }}{% break %}{% endif %}{% endwith %}{% endfor %}.", "1."},
		{"what was written before it stays", "{% for x in [1, 2] %}a{% continue %}b{% endfor %}", "aa"},
	})
	checkRefusals(t, []refusal{
		{"break without a loop", "{% break %}", "break is outside of a loop"},
		{"continue without a loop", "\n{% if true %}{% continue %}{% endif %}", "line 2: continue is outside of a loop"},
		{"in a macro within a loop", "{% for x in [1] %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}", "break is outside of a loop"},
		{"break with more words", "{% for x in [1] %}{% break x %}{% endfor %}", `want the end of the statement, not "x"`},
	})
}

// What a loop sets is gone at its next turn: the reason that chat templates have namespaces.
func TestVariablesOfLoops(t *testing.T) {
	checkTexts(t, []rendering{
		{"the outer variable stays", "{% set n = 0 %}{% for x in [1, 2] %}{% set n = n + x %}{{ n }}{% endfor %}{{ n }}", "120"},
		{"a namespace's attribute changes", "{% set ns = namespace(n=0) %}{% for x in [1, 2] %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "3"},
		{"the loop's names hide others", "{% set x = 'a' %}{% for x in [1] %}{{ x }}{% endfor %}{{ x }}", "1a"},
		{"what a turn sets the next one has not", "{% for x in [1, 2] %}{{ y is defined }}{% set y = x %}{% endfor %}", "FalseFalse"},
		{"an if is no scope", "{% if true %}{% set y = 1 %}{% endif %}{{ y }}", "1"},
		{"the names are not there behind the loop", "{% for x in [1] %}{% endfor %}{{ x is defined }}", "False"},
		{"what is gone through is found first", "{% set x = [1, 2] %}{% for x in x %}{{ x }}{% endfor %}", "12"},
		{"a loop whose list has its name", "{% for messages in messages %}{{ messages.role[0] }}{% endfor %}{{ messages | length }}", "sua3"},
	})
}

// A plain second reckoning of range, of which all that matters are the numbers.
func TestRangesAreCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 1))
	for range 300 {
		from, to, step := random.Int64N(40)-20, random.Int64N(40)-20, random.Int64N(9)-4
		if step == 0 {
			step = 5
		}
		want := []string{}
		for n := int64(-20); n < 20 && step > 0; n++ {
			if n >= from && n < to && (n-from)%step == 0 {
				want = append(want, fmt.Sprint(n))
			}
		}
		for n := int64(20); n >= -20 && step < 0; n-- {
			if n <= from && n > to && (from-n)%-step == 0 {
				want = append(want, fmt.Sprint(n))
			}
		}
		template := fmt.Sprintf("{{ range(%d, %d, %d) | join(' ') }}", from, to, step)
		if got, err := render(template, nil); err != nil || got != strings.Join(want, " ") {
			t.Errorf("%s is %q, %v, want %q", template, got, err, want)
		}
	}
	checkTexts(t, []rendering{
		{"from zero", "{{ range(3) | list }}{{ range(0) | list }}{{ range(-3) | list }}", "[0, 1, 2][][]"},
		{"truth counts", "{{ range(true) | list }}", "[0]"},
		{"up to the end of 64 bits", "{{ range(9223372036854775806, 9223372036854775807, 5) | list }}{{ range(-9223372036854775806, -9223372036854775807, -5) | list }}", "[9223372036854775806][-9223372036854775806]"},
		{"places and parts of them", "{{ range(5)[2] }}{{ range(5)[-1] }}{{ range(5)[1:3] | list }}{{ range(3) | last }}", "24[1, 2]2"},
	})
	checkRefusals(t, []refusal{
		{"of nothing", "{{ range() }}", "range wants one to three whole numbers"},
		{"of texts", "{{ range('3') }}", "range wants one to three whole numbers"},
		{"of floats", "{{ range(3.0) }}", "range wants one to three whole numbers"},
		{"of four", "{{ range(1, 2, 3, 4) }}", "range wants one to three whole numbers"},
		{"by name", "{{ range(stop=3) }}", "range wants one to three whole numbers"},
		{"with steps of zero", "{{ range(1, 2, 0) | list }}", "range wants steps that are not 0"},
	})
}
