package jinja

import "testing"

// What is not there may be asked for, and be written; whatever else is done with it is an error, which says what is not there.
func TestWhatIsUndefined(t *testing.T) {
	checkTexts(t, []rendering{
		{"a name that is not set", "[{{ nope }}]{{ nope is defined }}{{ nope is undefined }}", "[]FalseTrue"},
		{"a key of a dict", "[{{ messages[0].nope }}{{ messages[0]['nope'] }}]", "[]"},
		{"a place of a list", "[{{ messages[3] }}{{ messages[-4] }}{{ [][0] }}]", "[]"},
		{"a place of a text", "[{{ 'ab'[2] }}{{ ''[0] }}{{ 'ab'[-3] }}]", "[]"},
		{"an attribute of a text or a number", "[{{ 'a'.nope }}{{ (5).nope }}{{ none.nope }}{{ none['nope'] }}]", "[]"},
		{"a key of a list", "[{{ [1]['a'] }}{{ [1][none] }}{{ [1][1.5] }}]", "[]"},
		{"a list as a key", "[{{ {}[[1]] }}]", "[]"},
		{"it counts as false", "{{ 'a' if nope else 'b' }}{{ not nope }}{{ nope or 'c' }}[{{ nope and 1 / 0 }}]", "bTruec[]"},
		{"it is nothing in a text", "{{ 'a' ~ nope ~ 'b' }}{{ nope ~ nope }}", "ab"},
		{"it has no elements", "{% for x in nope %}x{% endfor %}{{ nope | list }}{{ nope | length }}{{ nope | join(',') }}", "[]0"},
		{"filters of texts take it for an empty one", "[{{ nope | trim }}{{ nope | upper }}{{ nope | replace('a', 'b') }}{{ nope | string }}]", "[]"},
		{"it is equal to itself only", "{{ nope == nopes }}{{ nope == none }}{{ nope in [none, ''] }}{{ nope in [nopes] }}", "TrueFalseFalseTrue"},
		{"it may be set and given", "{% set a = nope %}{{ a is defined }}{% macro f(x) %}{{ x is defined }}{% endmacro %}{{ f(nope) }}", "FalseFalse"},
		{"a default for it", "{{ nope | default('a') }}{{ messages[0].nope | default('b') }}{{ messages[9] | d('c') }}", "abc"},
		{"what is there is not asked for", "{{ nope is defined and nope.a }}{{ nope is undefined or nope.a }}", "FalseTrue"},
	})
	checkRefusals(t, []refusal{
		{"an attribute of it", "{{ nope.a }}", "'nope' is undefined"},
		{"an item of it", "{{ nope['a'] }}", "'nope' is undefined"},
		{"a slice of it", "{{ nope[1:] }}", "'nope' is undefined"},
		{"a call of it", "{{ nope(1) }}", "'nope' is undefined"},
		{"a method of it", "{{ nope.strip() }}", "'nope' is undefined"},
		{"a method that is not there", "{{ 'a'.nope() }}", "a value of type str has no 'nope'"},
		{"an attribute of a key that is not there", "{{ messages[0].nope.a }}", "a value of type dict has no 'nope'"},
		{"an attribute of a place that is not there", "{{ messages[9].role }}", "a value of type list has no element 9"},
		{"an item of one", "{{ messages[9]['role'] }}", "a value of type list has no element 9"},
		{"a sum with it", "{{ 'a' + nope }}", "'nope' is undefined"},
		{"a product with a key that is not there", "{{ 2 * messages[0].n }}", "a value of type dict has no 'n'"},
		{"a sign before it", "{{ -nope }}", "'nope' is undefined"},
		{"its order", "{{ nope < 1 }}", "'nope' is undefined"},
		{"the order of a number and it", "{{ 1 >= nope }}", "'nope' is undefined"},
		{"its whole number", "{{ nope | int }}", "int: 'nope' is undefined"},
		{"its JSON", "{{ nope | tojson }}", "tojson: a value of type undefined is no JSON"},
		{"names in it", "{% set a, b = nope %}", "0 values are for 2 names"},
		{"what no if has given", "{{ ('a' if false).x }}", "an if without else has no value"},
		{"the neighbour of the first turn", "{% for x in [1] %}{{ loop.previtem.a }}{% endfor %}", "a value of type LoopContext has no 'previtem'"},
	})
}
