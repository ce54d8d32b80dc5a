package jinja

import (
	"strings"
	"testing"
)

// kinds are values of each kind, as a template writes them.
var kinds = []string{"nope", "none", "true", "false", "0", "7", "2.5", "''", "'a'", "'AB'", "[]", "[1]", "()", "{}", "{'a': 1}", "range", "namespace()"}

// For each test those of the kinds for which it holds.
func TestWhichTestsHoldForWhat(t *testing.T) {
	for _, c := range []struct{ test, holds string }{
		{"defined", "none true false 0 7 2.5 '' 'a' 'AB' [] [1] () {} {'a': 1} range namespace()"},
		{"undefined", "nope"},
		{"none", "none"},
		{"boolean", "true false"},
		{"true", "true"},
		{"false", "false"},
		{"integer", "0 7"},
		{"float", "2.5"},
		{"number", "true false 0 7 2.5"},
		{"string", "'' 'a' 'AB'"},
		{"mapping", "{} {'a': 1}"},
		{"iterable", "nope '' 'a' 'AB' [] [1] () {} {'a': 1}"},
		{"sequence", "nope '' 'a' 'AB' [] [1] () {} {'a': 1}"},
		{"callable", "nope range"},
		{"upper", "'AB'"},
		{"sameas none", "none"},
		{"sameas true", "true"},
		{"eq none", "none"},
		{"eq 7", "7"},
		{"eq false", "false 0"},
		{"ne 7", "nope none true false 0 2.5 '' 'a' 'AB' [] [1] () {} {'a': 1} range namespace()"},
		{"in [7, 'a', []]", "7 'a' []"},
	} {
		for _, value := range kinds {
			want := "False"
			if strings.Contains(" "+c.holds+" ", " "+value+" ") {
				want = "True"
			}
			not := map[string]string{"True": "False", "False": "True"}[want]
			checkTexts(t, []rendering{{c.test, "{% set x = " + value + " %}{{ x is " + c.test + " }} {{ x is not " + c.test + " }}", want + " " + not}})
		}
	}
}

func TestTestsWithArguments(t *testing.T) {
	checkTexts(t, []rendering{
		{"odd and even", "{{ 3 is odd }}{{ -3 is odd }}{{ 4 is odd }}{{ 4 is even }}{{ 0 is even }}{{ 3.0 is odd }}{{ true is odd }}", "TrueTrueFalseTrueTrueTrueTrue"},
		{"divisibleby", "{{ 9 is divisibleby 3 }}{{ 9 is divisibleby(2) }}{{ 9 is divisibleby(num=3) }}{{ 7.5 is divisibleby 2.5 }}", "TrueFalseTrueTrue"},
		{"sameas knows kinds", "{{ 1 is sameas 1 }}{{ 1 is sameas true }}{{ 1 is sameas 1.0 }}{{ none is sameas(none) }}", "TrueFalseFalseTrue"},
		{"comparisons by their names", "{{ 1 is eq 1 }}{{ 1 is equalto 2 }}{{ 1 is ne 2 }}{{ 1 is lt 2 }}{{ 1 is lessthan 1 }}{{ 1 is le 1 }}{{ 2 is gt 1 }}{{ 2 is greaterthan 2 }}{{ 2 is ge 2 }}", "TrueFalseTrueTrueFalseTrueTrueFalseTrue"},
		{"and by their signs, in select", "{{ [1, 2, 3] | select('<', 2) | list }}{{ [1, 2] | select('<=', 1) | list }}{{ [1, 2] | select('>', 1) | list }}{{ [1, 2] | select('>=', 2) | list }}{{ [1, 2] | select('==', 2) | list }}{{ [1, 2] | select('!=', 2) | list }}", "[1][1][2][2][2][1]"},
		{"in", "{{ 1 is in [1] }}{{ 'a' is in 'abc' }}{{ 'b' is in {'a': 1} }}{{ 1 is not in [1] }}", "TrueTrueFalseFalse"},
		{"lower and upper of what is no text", "{{ 1 is lower }}{{ none is upper }}{{ true is lower }}{{ none is lower }}", "FalseFalseFalseFalse"},
		{"lower", "{{ 'ab1' is lower }}{{ 'aB' is lower }}{{ '' is lower }}", "TrueFalseFalse"},
		{"an argument without parentheses ends at an operator", "{{ 4 is divisibleby 2 and true }}{{ 4 is divisibleby 2 or false }}{{ 1 if 4 is divisibleby 2 else 3 }}", "TrueTrue1"},
		{"it may have attributes and items", "{{ 1 is eq {'a': 1}.a }}{{ 2 is in [[1], [2]][1] }}{{ 'A' is eq 'a'.upper() }}", "TrueTrueTrue"},
		{"a test behind a filter", "{{ ' a ' | trim is eq 'a' }}{{ 'a' | upper is upper }}", "TrueTrue"},
		{"and in a condition", "{% if messages is defined and messages is not none and messages[0].content is string %}x{% endif %}", "x"},
		{"of an attribute that is not there", "{{ messages[0].nope is defined }}{{ messages[9] is defined }}{{ {}['a'] is defined }}", "FalseFalseFalse"},
		{"not of the test, and of the value", "{{ not 1 is none }}{{ 1 is not none }}{{ not 1 is not none }}", "TrueTrueFalse"},
	})
	checkRefusals(t, []refusal{
		{"a test that there is not", "{{ 1 is fine }}", `there is no test "fine" here`},
		{"no test", "{{ 1 is }}", "want a name, not the end of the tag"},
		{"an attribute of what is undefined", "{{ nope.a is defined }}", "'nope' is undefined"},
		{"an element of what is undefined", "{{ nope[0] is defined }}", "'nope' is undefined"},
		{"odd of a text", "{{ 'a' is divisibleby 2 }}", "divisibleby: % is not for str and int"},
		{"odd of None", "{{ none is odd }}", "odd: % is not for NoneType and int"},
		{"divisibleby zero", "{{ 1 is divisibleby 0 }}", "divisibleby: division by zero"},
		{"divisibleby nothing", "{{ 1 is divisibleby }}", "divisibleby: it is not given"},
		{"odd with an argument", "{{ 1 is odd(2) }}", "odd: want no argument"},
		{"defined with an argument", "{{ 1 is defined(2) }}", "defined: want at most 0 arguments, not 1"},
		{"a comparison with nothing", "{{ 1 is eq }}", "eq: want an argument"},
		{"an order that there is not", "{{ 1 is lt 'a' }}", "lt: int and str have no order"},
		{"in a number", "{{ 1 is in 1 }}", "in: in is not for int and int"},
	})
}
