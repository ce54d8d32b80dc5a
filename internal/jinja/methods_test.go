package jinja

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMethodsOfTextsThatCut(t *testing.T) {
	checkTexts(t, []rendering{
		{"strip", "[{{ ' \\n a b \\t'.strip() }}][{{ ' a '.lstrip() }}][{{ ' a '.rstrip() }}]", "[a b][a ][ a]"},
		{"strip of characters", "{{ 'xyaxbyx'.strip('xy') }} {{ '<<a>>'.lstrip('<') }} {{ 'a\\n\\n'.rstrip('\\n') }}|", "axb a>> a|"},
		{"strip of none", "[{{ ' a '.strip(none) }}][{{ ' a '.strip('') }}]", "[a][ a ]"},
		{"split between words", "{{ ' a  b\\nc '.split() }}{{ ''.split() }}{{ ' '.split() }}", "['a', 'b', 'c'][][]"},
		{"split at a text", "{{ 'a,b,,c'.split(',') }}{{ ''.split(',') }}{{ 'aXYb'.split('XY') }}", "['a', 'b', '', 'c']['']['a', 'b']"},
		{"split at most so often", "{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.split(',', 0) }}{{ 'a,b,c'.split(',', -1) }}{{ 'a,b,c'.split(',', 9) }}", "['a', 'b,c']['a,b,c']['a', 'b', 'c']['a', 'b', 'c']"},
		{"by name", "{{ 'a b c'.split(sep=' ', maxsplit=1) }}", "['a', 'b c']"},
		{"words at most so often", "{{ ' a  b  c '.split(none, 1) }}{{ ' a b '.split(none, 0) }}{{ ' a  b '.split(maxsplit=1) }}{{ 'a b'.split(none, 5) }}", "['a', 'b  c ']['a b ']['a', 'b ']['a', 'b']"},
		{"from the right", "{{ 'a,b,c'.rsplit(',', 1) }}{{ 'a,b,c'.rsplit(',') }}{{ ' a  b  c '.rsplit(none, 1) }}{{ ' a b '.rsplit(none, 0) }}", "['a,b', 'c']['a', 'b', 'c'][' a  b', 'c'][' a b']"},
		{"the answer behind the thoughts", "{{ '<think>no</think>\\nyes'.split('</think>')[-1].lstrip('\\n') }}", "yes"},
		{"splitlines", "{{ 'a\\nb\\r\\nc\\rd\\x0be\\x0cf\\x1cg\\x85h\\u2028i\\n\\n'.splitlines() }}{{ ''.splitlines() }}", "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', '']" + "[]"},
		{"splitlines that keep the ends", "{{ 'a\\nb\\r\\nc'.splitlines(true) }}{{ 'a\\n'.splitlines(keepends=true) }}{{ 'a\\n'.splitlines(false) }}", `['a\n', 'b\r\n', 'c']['a\n']['a']`},
		{"partition", "{{ 'a-b-c'.partition('-') }}{{ 'abc'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'abc'.rpartition('-') }}", "('a', '-', 'b-c')('abc', '', '')('a-b', '-', 'c')('', '', 'abc')"},
		{"removeprefix and removesuffix", "{{ 'abab'.removeprefix('ab') }}{{ 'abab'.removesuffix('ab') }}{{ 'ab'.removeprefix('x') }}{{ 'ab'.removesuffix('') }}", "abababab"},
	})
	checkRefusals(t, []refusal{
		{"split at nothing", "{{ 'a'.split('') }}", "split: the separator is empty"},
		{"split at a number", "{{ 'a'.split(1) }}", "split: want a text, not int"},
		{"split so often as a text says", "{{ 'a'.split(',', 'x') }}", "split: want a whole number, not str"},
		{"split with too much", "{{ 'a'.split(',', 1, 2) }}", "split: want at most 2 arguments, not 3"},
		{"partition at nothing", "{{ 'a'.partition('') }}", "partition: the separator is empty"},
		{"partition without a separator", "{{ 'a'.partition() }}", "partition: want a text, not undefined"},
		{"strip of a list", "{{ 'a'.strip(['a']) }}", "strip: want a text, not list"},
		{"removeprefix of a number", "{{ 'a'.removeprefix(1) }}", "removeprefix: want a text, not int"},
	})
}

func TestMethodsOfTextsThatSearch(t *testing.T) {
	checkTexts(t, []rendering{
		{"find, in characters", "{{ 'äbcb'.find('b') }}{{ 'äbcb'.rfind('b') }}{{ 'abc'.find('x') }}{{ clef.find('b') }}", "13-12"},
		{"of nothing", "{{ 'abc'.find('') }}{{ 'abc'.rfind('') }}{{ ''.find('') }}", "030"},
		{"from a place on", "{{ 'abcabc'.find('b', 2) }} {{ 'abcabc'.find('b', 5) }} {{ 'abcabc'.find('c', -1) }} {{ 'abcabc'.rfind('b', 0, 4) }} {{ 'äöü'.find('ü', 1) }}", "4 -1 5 1 2"},
		{"index", "{{ 'abcabc'.index('c') }}{{ 'abcabc'.rindex('a') }}{{ 'abcabc'.index('a', 1) }}", "233"},
		{"count", "{{ 'aaa'.count('aa') }}{{ 'äbä'.count('ä') }}{{ 'abc'.count('') }}{{ 'abcabc'.count('b', 2) }}{{ 'abcabc'.count('b', 2, 4) }}", "12410"},
		{"startswith and endswith", "{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith('ab') }}{{ 'abc'.startswith('') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'abc'.startswith(()) }}", "TrueFalseTrueTrueFalse"},
		{"from a place on", "{{ 'abc'.startswith('b', 1) }}{{ 'abc'.startswith('a', 1) }}{{ 'abc'.endswith('b', 0, 2) }}{{ 'abc'.startswith('', 4) }}{{ 'abc'.startswith('', 3) }}", "TrueFalseTrueFalseTrue"},
		{"replace", "{{ 'aXbX'.replace('X', '') }}{{ 'aXbX'.replace('X', 'YY', 1) }}{{ 'ab'.replace('', '-') }}", "abaYYbX-a-b-"},
		{"join", "{{ ', '.join(['a', 'b']) }}{{ '-'.join('abc') }}{{ 'x'.join([]) }}{{ '+'.join({'a': 1, 'b': 2}) }}", "a, ba-b-ca+b"},
	})
	checkRefusals(t, []refusal{
		{"index of what is not there", "{{ 'abc'.index('x') }}", "index: the text is not there"},
		{"rindex of what is not there", "{{ 'abc'.rindex('a', 1) }}", "rindex: the text is not there"},
		{"find of a number", "{{ 'a1'.find(1) }}", "find: want a text, not int"},
		{"find from a text on", "{{ 'a1'.find('1', 'x') }}", "find: want a whole number, not str"},
		{"startswith of a list", "{{ 'a'.startswith(['a']) }}", "startswith: want a text, not list"},
		{"startswith of a tuple with a number", "{{ 'a'.startswith((1, 'a')) }}", "startswith: want a text, not int"},
		{"join of numbers", "{{ ','.join([1]) }}", "join: want texts, not int"},
		{"join of a number", "{{ ','.join(1) }}", "join: there is nothing in a value of type int"},
		{"count of nothing said", "{{ 'a'.count() }}", "count: want a text, not undefined"},
	})
}

func TestMethodsOfLetters(t *testing.T) {
	checkTexts(t, []rendering{
		{"upper and lower", "{{ umlaut.upper() }} {{ umlaut.lower() }} {{ greek.lower() }}", "STRASSE ÄÖÜ straße äöü ὀδυσσεύς σοφός"},
		{"casefold", "{{ 'Straße ΟΣ'.casefold() }}", "strasse οσ"},
		{"capitalize", "{{ 'aBC dE'.capitalize() }} {{ 'ΟΔΟΣ'.capitalize() }}", "Abc de Οδος"},
		{"title begins words behind all that is no letter", "{{ \"they're a-b c_d 1e\".title() }}", "They'Re A-B C_D 1E"},
		{"title knows the sigma at the end of a word", "{{ greek.title() }} {{ 'İİ'.title() }}", "Ὀδυσσεύς Σοφός İi̇"},
		{"title goes on behind small letters without capitals", "{{ 'ªab ʰab'.title() }}", "ªab ʰab"},
		{"swapcase", "{{ 'aBcß'.swapcase() }}", "AbCSS"},
		{"isupper", "{{ 'A1'.isupper() }}{{ 'Aa'.isupper() }}{{ '1'.isupper() }}{{ 'Aª'.isupper() }}{{ 'ǅ'.isupper() }}{{ ''.isupper() }}", "TrueFalseFalseFalseFalseFalse"},
		{"islower", "{{ 'a1ß'.islower() }}{{ 'aA'.islower() }}{{ '1'.islower() }}{{ 'ĸ'.islower() }}{{ 'ª'.islower() }}", "TrueFalseFalseTrueTrue"},
		{"isdigit", "{{ '12'.isdigit() }}{{ '٣'.isdigit() }}{{ '²'.isdigit() }}{{ '½'.isdigit() }}{{ '1.5'.isdigit() }}{{ ''.isdigit() }}", "TrueTrueTrueFalseFalseFalse"},
		{"isdecimal", "{{ '12'.isdecimal() }}{{ '٣'.isdecimal() }}{{ '²'.isdecimal() }}", "TrueTrueFalse"},
		{"isnumeric", "{{ '12½²Ⅷ'.isnumeric() }}{{ 'a'.isnumeric() }}{{ '-1'.isnumeric() }}", "TrueFalseFalse"},
		{"isalpha", "{{ 'aé日'.isalpha() }}{{ 'a1'.isalpha() }}{{ 'a b'.isalpha() }}{{ ''.isalpha() }}", "TrueFalseFalseFalse"},
		{"isalnum", "{{ 'a1½'.isalnum() }}{{ 'a-'.isalnum() }}{{ 'a_'.isalnum() }}", "TrueFalseFalse"},
		{"isspace", "{{ ' \\n\\x1c\\u3000'.isspace() }}{{ ''.isspace() }}{{ ' a'.isspace() }}{{ '\\u200b'.isspace() }}", "TrueFalseFalseFalse"},
		{"isascii", "{{ 'aZ~'.isascii() }}{{ 'é'.isascii() }}{{ ''.isascii() }}", "TrueFalseTrue"},
	})
	checkRefusals(t, []refusal{
		{"an argument", "{{ 'a'.upper(1) }}", "upper: want at most 0 arguments, not 1"},
		{"a method that there is not", "{{ 'a'.shout() }}", "a value of type str has no 'shout'"},
		{"a method of a number", "{{ 5.upper() }}", "a value of type int has no 'upper'"},
		{"a method of None", "{{ none.strip() }}", "a value of type NoneType has no 'strip'"},
		{"a method of what is undefined", "{{ nope.strip() }}", "'nope' is undefined"},
	})
}

func TestMethodsOfDictsAndLists(t *testing.T) {
	checkTexts(t, []rendering{
		{"items, keys and values in their order", "{{ {'b': 1, 'a': 2}.items() | list }}{{ {'b': 1, 'a': 2}.keys() | list }}{{ {'b': 1, 'a': 2}.values() | list }}", "[('b', 1), ('a', 2)]['b', 'a'][1, 2]"},
		{"get", "{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b') }}{{ {'a': 1}.get('b', 2) }}{{ {'a': none}.get('a', 3) }}{{ {1: 'x'}.get(true) }}", "1None2Nonex"},
		{"copy", "{{ {'a': 1}.copy() }}{{ [1].copy() }}", "{'a': 1}[1]"},
		{"a key of a method's name is hidden by a point, not by brackets", "{{ {'items': 1}['items'] }}{{ {'items': 1}.items is callable }}{{ {'get': 5}['get'] }}", "1True5"},
		{"index and count of lists", "{{ [1, 'a', 1].index('a') }}{{ [1, 1.0, true, 2].count(1) }}{{ (1, 2).index(2) }}{{ [[1], [1]].count([1]) }}", "1312"},
		{"methods by brackets", "{{ 'a'['upper']() }}{{ {'a': 1}['keys']() | list }}", "A['a']"},
		{"the methods themselves are values", "{% set up = 'a'.upper %}{{ up() }}", "A"},
	})
	checkRefusals(t, []refusal{
		{"what would change a list", "{{ [1].append(2) }}", "a value of type list has no 'append'"},
		{"what would change a dict", "{{ {}.update({'a': 1}) }}", "a value of type dict has no 'update'"},
		{"pop", "{{ [1].pop() }}", "a value of type list has no 'pop'"},
		{"index of what is not there", "{{ [1].index(2) }}", "index: the value is not there"},
		{"get without a key", "{{ {}.get() }}", "get: want an argument"},
		{"get of a list", "{{ {}.get([]) }}", "get: want a key that is a text, a number or a tuple of those"},
	})
	for _, name := range []string{"__class__", "__init__", "__globals__", "_private", "mro", "func_globals"} {
		for _, value := range []string{"''", "[]", "{}", "1", "none", "messages", "range", "namespace()", "''.upper"} {
			for _, how := range []string{".%s", "['%s']"} {
				template := "{{ " + fmt.Sprintf("(%s)"+how, value, name) + " is defined }}"
				if got, err := render(template, tableValues()); got != "False" || err != nil {
					t.Errorf("%s is %q, %v: want nothing of Python to be there", template, got, err)
				}
			}
		}
	}
}

// A slice is what Python's is: a plain second reckoning, over all places near the ends.
func TestSlicesAreThoseOfPython(t *testing.T) {
	pick := func(n int, from, to, step *int) (places []int) {
		by := 1
		if step != nil {
			by = *step
		}
		inside := func(at *int, otherwise int) int { // as CPython's PySlice_AdjustIndices has it
			low, high := 0, n
			if by < 0 {
				low, high = -1, n-1
			}
			if at == nil {
				return otherwise
			}
			v := *at
			if v < 0 {
				v += n
			}
			return max(low, min(v, high))
		}
		first, last := inside(from, 0), inside(to, n)
		if by < 0 {
			first, last = inside(from, n-1), inside(to, -1)
		}
		for at := first; by > 0 && at < last || by < 0 && at > last; at += by {
			places = append(places, at)
		}
		return places
	}
	some := []*int{nil}
	for n := -6; n <= 6; n++ {
		some = append(some, &n)
	}
	written := func(n *int) string {
		if n == nil {
			return ""
		}
		return fmt.Sprint(*n)
	}
	random := rand.New(rand.NewPCG(15, 1))
	for range 1500 {
		letters := []rune("aé𝄞d日")[:random.IntN(6)]
		from, to, step := some[random.IntN(len(some))], some[random.IntN(len(some))], some[random.IntN(len(some))]
		if step != nil && *step == 0 {
			continue
		}
		var want strings.Builder
		for _, at := range pick(len(letters), from, to, step) {
			want.WriteRune(letters[at])
		}
		slice := fmt.Sprintf("[%s:%s:%s]", written(from), written(to), written(step))
		values := map[string]any{"text": string(letters)}
		for _, template := range []string{"{{ text" + slice + " }}", "{{ (text | list)" + slice + " | join }}"} {
			if got, err := render(template, values); err != nil || got != want.String() {
				t.Fatalf("%s of %q is %q, %v, want %q", template, string(letters), got, err, want.String())
			}
		}
	}
	checkTexts(t, []rendering{
		{"without bounds", "{{ [1, 2][:] }}{{ [1, 2][::] }}{{ 'ab'[:] }}", "[1, 2][1, 2]ab"},
		{"None is no bound", "{{ [1, 2, 3][none:2:none] }}", "[1, 2]"},
		{"of tuples", "{{ (1, 2, 3)[1:] }}{{ (1, 2)[:1] }}{{ (1,)[5:] }}", "(2, 3)(1,)()"},
		{"huge ones", "{{ [1, 2][-9223372036854775807:9223372036854775807] }}{{ 'abc'[::9223372036854775807] }}{{ 'abc'[::-9223372036854775807] }}", "[1, 2]ac"},
		{"truth counts", "{{ 'abc'[true:] }}", "bc"},
	})
	checkRefusals(t, []refusal{
		{"of numbers", "{% set x = 5 %}{{ x[1:] }}", "a value of type int has no slices"},
		{"of dicts", "{{ messages[0][1:] }}", "a value of type dict has no slices"},
		{"of None, as the calls of tools that a message has not", "{{ messages[0].get('tool_calls')[1:] }}", "a value of type NoneType has no slices"},
		{"of what is undefined", "{{ nope[1:] }}", "'nope' is undefined"},
		{"with steps of zero", "{{ 'a'[::0] }}", "a slice has steps of 0"},
		{"from a text on", "{{ bos_token['x':] }}", "want whole numbers in a slice, not str"},
		{"from a float on", "{{ bos_token[1.0:] }}", "want whole numbers in a slice, not float"},
		{"of four parts", "{{ 'a'[1:2:3:4] }}", "a slice has more than three parts"},
		{"two bounds without a colon", "{{ 'a'[1 2] }}", `want "]", not "2"`},
	})
}
