package jinja

import (
	"runtime"
	"strings"
	"testing"
)

func TestIteratorsGiveTheirElementsOnce(t *testing.T) {
	checkTexts(t, []rendering{
		{"a list is made of it", "{% set g = [1, 2] | map('string') %}{{ g | list }}{{ g | list }}", "['1', '2'][]"},
		{"the first one is taken", "{% set g = 'abc' | select %}{{ g | first }}{{ g | join }}", "abc"},
		{"it counts as true, though it be empty", "{% if messages | selectattr('role', 'eq', 'nobody') %}yes{% endif %}", "yes"},
		{"nothing is done before it is asked for", "{% set g = [1] | map('nofilter') %}{{ g is defined }}{{ [] | select('notest') | list }}", "True[]"},
		{"through others", "{% set g = [3, 1, 3] | unique | map('string') | reject('eq', '1') %}{{ g | first }}{{ g | first is defined }}", "3False"},
		{"it has no elements in places, and is itself alone", "{% set g = [1] | select %}{{ g[0] is defined }}{{ g == g }}{{ g == [1] | select }}{{ g is sequence }}{{ g is iterable }}", "FalseTrueFalseFalseTrue"},
		{"loops, names and in take them all", "{% set a, b = 'xy' | map('upper') %}{{ a ~ b }}{% for x in 'ab' | select %}{{ loop.last }}{% endfor %}{{ 'b' in 'ab' | select }}", "XYFalseTrueTrue"},
	})
	checkRefusals(t, []refusal{
		{"its length", "{{ [1] | map('string') | length }}", "length: a value of type generator has no length"},
		{"its last element", "{{ [1] | map('string') | last }}", "last: a value of type generator has no length"},
		{"as JSON", "{{ [1] | map('string') | tojson }}", "a value of type generator is no JSON"},
		{"an error where it is asked", "\n{% for x in [1] | map('nofilter') %}{% endfor %}", `line 2: map: there is no filter "nofilter" here`},
		{"views have no places to cut", "{{ {}.keys()[1:] | list }}", "a value of type dict_keys has no slices"},
		{"nor are they JSON", "{{ {}.items() | tojson }}", "a value of type dict_items is no JSON"},
		{"nor ranges", "{{ range(2) | tojson }}", "a value of type range is no JSON"},
		{"a view of keys is asked for a list", "{{ [] in {}.keys() }}", "want a key"},
		{"dict of what is undefined", "{{ dict(nope) }}", "'nope' is undefined"},
		{"dict of no pairs", "{{ dict(['abc']) }}", "want a key and its value, not 3 values"},
		{"dict of two", "{{ dict([], []) }}", "not 2 values"},
	})
}

func TestRangesAreTheirNumbers(t *testing.T) {
	checkTexts(t, []rendering{
		{"equal are those of the same numbers", "{{ range(3, 4) == range(3, 9, 7) }}{{ range(0, 4, 2) == range(0, 3, 2) }}{{ range(0, 4) == range(0, 8, 2) }}{{ range(0) == range(5, 2) }}{{ range(2) == range(3) }}{{ range(2) == [0, 1] }}", "TrueTrueFalseTrueFalseFalse"},
		{"as many as there may be", "{{ range(100000) | length }}{{ range(0, -100000, -1) | length }}", "100000100000"},
		{"what is in them", "{{ 4 in range(0, 9, 2) }}{{ 3 in range(0, 9, 2) }}{{ 9 in range(9) }}{{ 0 in range(9) }}{{ 4.0 in range(9) }}{{ 4.5 in range(9) }}{{ 'a' in range(9) }}{{ 9 in range(9, 0, -3) }}{{ 0 in range(9, 0, -3) }}{{ true in range(2) }}", "TrueFalseFalseTrueTrueFalseFalseTrueFalseTrue"},
	})
}

func TestFormatsThatAreRefused(t *testing.T) {
	checkRefusals(t, []refusal{
		{"too few values", "{{ '%s %s' % 1 }}", "there are more signs % than values for them"},
		{"too many values", "{{ '%s' % (1, 2) }}", "there are more values than signs % for them"},
		{"a text for a number", "{{ '%d' % 'a' }}", "want a number for %d, not str"},
		{"a float for digits", "{{ '%x' % 1.5 }}", "want a whole number for %x, not float"},
		{"a sign that there is not", "{{ '%y' % 1 }}", "%y is not one of Python's formats"},
		{"no sign", "{{ '%' % 1 }}", "the format is not one of Python's"},
		{"a key of a list", "{{ '%(a)s' % [1] }}", "want a dict for keys, not list"},
		{"a key that is not there", "{{ '%(a)s' % {} }}", `there is no key "a"`},
		{"a key without end", "{{ '%(a(b)s' % {} }}", "the format is not one of Python's"},
		{"a star for a text", "{{ '%*d' % ('a', 1) }}", "want a whole number for a star, not str"},
		{"what has no end", "{{ '%d' % ('inf' | float) }}", "want a number that has an end, not inf"},
		{"a character of two", "{{ '%c' % 'ab' }}", "want a character or its number"},
		{"values with and without names", "{{ '%s' | format(1, a=2) }}", "want values or values with names, not both"},
		{"a brace", "{{ '{'.format() }}", "a brace of the format stands alone"},
		{"no value", "{{ '{} {}'.format(1) }}", "there is no argument 1"},
		{"no value of a name", "{{ '{a}'.format(1) }}", `there is no argument "a"`},
		{"places in some", "{{ '{}{0}'.format(1) }}", "want places in all fields or in none"},
		{"a list with a width", "{{ '{:5}'.format([]) }}", "a value of type list has no formats"},
		{"what is undefined", "{{ '{0.a.b}'.format({}) }}", "a value of type dict has no 'a'"},
		{"format_map of a list", "{{ '{a}'.format_map([]) }}", "want a dict, not list"},
	})
	checkTexts(t, []rendering{
		{"format_map", "{{ '{a}{b:>3}'.format_map({'a': 1, 'b': 2, 3: 4}) }}", "1  2"},
		{"a key with parentheses", "{{ '%(a(b))s' % {'a(b)': 1} }}", "1"},
		{"whole numbers of floats beyond 64 bits", "{{ '%d %i' % (1e22, -1e19) }}", "10000000000000000000000 -10000000000000000000"},
		{"names for the filter", "{{ '%(a)s-%(b)05.1f' | format(a='x', b=2) }}", "x-002.0"},
	})
}

// Each would be long, or take long, if it were not bounded.
func TestWhatIsMadeHasBounds(t *testing.T) {
	for template, want := range map[string]string{
		"{{ '%999999999d' % 1 }}":                   "widths and precisions up to 100000",
		"{{ '%*d' % (999999999, 1) }}":              "widths and precisions up to 100000",
		"{{ '%.*f' % (999999999, 1) }}":             "widths and precisions up to 100000",
		"{{ '{:99999999999999999999}'.format(1) }}": "widths and precisions up to 100000",
		"{{ '{:.999999999}'.format(1.5) }}":         "widths and precisions up to 100000",
		"{{ '{:{}}'.format(1, 999999999) }}":        "widths and precisions up to 100000",
		"{{ ('%100000d' * 200) % ((1,) * 200) }}":   "a text of more than 16777216 bytes",
		"{{ ('{0:100000}' * 200).format(1) }}":      "a text of more than 16777216 bytes",
		"{{ 'a'.center(99999999) }}":                "a text of more than 16777216 bytes",
		"{{ 'a'.zfill(99999999) }}":                 "a text of more than 16777216 bytes",
		"{{ ('\\t' * 99).expandtabs(999999) }}":     "a text of more than 16777216 bytes",
		"{{ [1] | batch(99999999, 'x') | list }}":   "a list of more than 1048576 elements",
		"{{ [1] | slice(999999999) | list }}":       "does not come to an end",
		"{{ ('<a>' * 100000) | striptags }}":        "does not come to an end",
		"{% set ns = namespace(g=[1]) %}{% for i in range(300) %}{% set ns.g = ns.g | map('string') %}{% endfor %}": "more than 200 deep",
		"{{ range(-9223372036854775807, 9223372036854775807, 1) }}":                                                 "a range has 100000 numbers at most",
		"{% for i in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}":                            "does not come to an end",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := renderWithin(t, 300_000, template)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) || after.TotalAlloc-before.TotalAlloc > 200<<20 {
			t.Errorf("%s: %d MiB, %v, want %q", template, (after.TotalAlloc-before.TotalAlloc)>>20, err, want)
		}
	}
}
