package jinja

import "testing"

func TestFiltersOfLetters(t *testing.T) {
	checkTexts(t, []rendering{
		{"upper", "{{ 'aBc1é' | upper }}", "ABC1É"},
		{"upper of letters that become two", "{{ umlaut | upper }}", "STRASSE ÄÖÜ"},
		{"upper of letters that have none", "{{ 'ʼn' | upper }}{{ '日' | upper }}", "ʼN日"},
		{"lower", "{{ 'AbC1É' | lower }}", "abc1é"},
		{"lower of sigmas at the ends of words", "{{ greek | lower }}", "ὀδυσσεύς σοφός"},
		{"capitalize", "{{ 'hello WORLD' | capitalize }}", "Hello world"},
		{"capitalize of an empty text", "{{ '' | capitalize }}|", "|"},
		{"capitalize of a letter of two", "{{ 'ßA' | capitalize }}{{ 'ǆA' | capitalize }}", "Ssaǅa"},
		{"capitalize knows the sigma at the end of a word", "{{ 'ΟΣ' | capitalize }}{{ 'ΑΣ ΒΣ' | capitalize }}", "ΟςΑς βς"},
		{"a sigma behind the first letter's mark", "{{ 'Σ' | capitalize }}{{ 'ΣΣ' | capitalize }}", "ΣΣς"},
		{"title", "{{ 'hello WORLD' | title }}", "Hello World"},
		{"title begins words behind hyphens and brackets", "{{ 'a-b (c) [d] {e} <f> _g .h /i' | title }}", "A-B (C) [D] {E} <F> _g .h /i"},
		{"title goes on behind an apostrophe", "{{ \"they're\" | title }}", "They're"},
		{"title knows the sigma at the end of a word", "{{ greek | title }}", "Ὀδυσσεύς Σοφός"},
		{"title begins words behind all white space", "{{ 'a\\x1cb\\u00a0c\\u2028d' | title }}", "A\x1cB\u00a0C\u2028D"},
		{"title of a letter of two", "{{ 'ßa' | title }}{{ 'ŉa' | title }}", "SSaʼNa"},
		{"of what is no text", "{{ true | upper }}{{ none | lower }}{{ [1, 'a'] | upper }}{{ 1.5 | title }}", "TRUEnone[1, 'A']1.5"},
		{"of what is undefined", "{{ nope | upper }}{{ nope | title }}{{ nope | capitalize }}|", "|"},
	})
}

func TestTrimDropsWhiteSpaceAtBothEnds(t *testing.T) {
	checkTexts(t, []rendering{
		{"blanks and line breaks", "[{{ ' \\n a b\\t' | trim }}]", "[a b]"},
		{"nothing but white space", "[{{ blank | trim }}]", "[]"},
		{"what Python calls white space", "[{{ '\\x1f\\u00a0a\\u3000' | trim }}]", "[a]"},
		{"not what it does not", "[{{ '\\u200ba\\ufeff' | trim }}]", "[\u200ba\ufeff]"},
		{"characters that are given", "{{ 'xyaxy' | trim('yx') }}", "a"},
		{"by their name", "{{ '--a-' | trim(chars='-') }}", "a"},
		{"none given", "[{{ ' a ' | trim(none) }}]", "[a]"},
		{"no characters", "[{{ ' a ' | trim('') }}]", "[ a ]"},
		{"of a number", "{{ 12 | trim('1') }}", "2"},
	})
	checkRefusals(t, []refusal{
		{"two arguments", "{{ 'x' | trim('a', 'b') }}", "trim: want at most 1 arguments, not 2"},
		{"characters that are none", "{{ 'x' | trim(1) }}", "trim: want a text, not int"},
		{"an argument of another name", "{{ 'x' | trim(char='a') }}", `trim: there is no argument "char"`},
	})
}

func TestReplaceIsPythons(t *testing.T) {
	checkTexts(t, []rendering{
		{"all places", "{{ 'abab' | replace('a', 'xy') }}", "xybxyb"},
		{"by nothing", "{{ 'abab' | replace('a', '') }}", "bb"},
		{"at most so many", "{{ 'aaa' | replace('a', 'b', 2) }}", "bba"},
		{"by name", "{{ 'aaa' | replace(old='a', new='b', count=1) }}", "baa"},
		{"none of them", "{{ 'aaa' | replace('a', 'b', 0) }}", "aaa"},
		{"below none are all", "{{ 'aaa' | replace('a', 'b', -1) }}", "bbb"},
		{"nothing is between all characters", "{{ 'aé' | replace('', '-') }}", "-a-é-"},
		{"nothing in nothing", "{{ '' | replace('', 'x') }}", "x"},
		{"numbers are written for it", "{{ 'a1b1' | replace(1, 2) }}", "a2b2"},
		{"None too", "{{ 'None' | replace(none, true) }}", "True"},
		{"of a number", "{{ 1234 | replace('23', '-') }}", "1-4"},
		{"the method", "{{ 'abab'.replace('ab', 'c', 1) }}", "cab"},
	})
	checkRefusals(t, []refusal{
		{"the method writes nothing for it", "{{ 'a1'.replace(1, 2) }}", "replace: want two texts: what is replaced, and by what"},
		{"one argument", "{{ 'a' | replace('a') }}", "replace: want two texts"},
		{"a count that is none", "{{ 'a' | replace('a', 'b', 'c') }}", "replace: want a whole number, not str"},
	})
}

func TestLengthsAreCountedInCharacters(t *testing.T) {
	checkTexts(t, []rendering{
		{"of texts", "{{ '' | length }}{{ 'abc' | length }}{{ umlaut | count }}{{ clef | length }}", "03103"},
		{"of lists, tuples and dicts", "{{ [] | length }}{{ [1, 2] | length }}{{ (1, 2, 3) | count }}{{ {'a': 1} | length }}", "0231"},
		{"of what is undefined", "{{ nope | length }}", "0"},
		{"of ranges", "{{ range(5) | length }}", "5"},
	})
	checkRefusals(t, []refusal{
		{"of a number", "{{ 5 | length }}", "length: a value of type int has no length"},
		{"of None", "{{ none | length }}", "length: a value of type NoneType has no length"},
		{"with an argument", "{{ 'a' | length(1) }}", "length: want at most 0 arguments, not 1"},
	})
}

func TestFirstAndLast(t *testing.T) {
	checkTexts(t, []rendering{
		{"of lists", "{{ [1, 2, 3] | first }}{{ [1, 2, 3] | last }}", "13"},
		{"of texts", "{{ clef | first }}{{ umlaut | last }}{{ 'x' | first }}", "aÜx"},
		{"of dicts they are keys", "{{ {'a': 1, 'b': 2} | first }}{{ {'a': 1, 'b': 2} | last }}", "ab"},
		{"of nothing they are undefined", "{{ [] | first }}{{ '' | last }}{{ ([] | first) is defined }}", "False"},
		{"of what is undefined", "{{ nope | first is defined }}", "False"},
		{"attributes of them", "{{ (messages | last).role }}{{ (messages | first)['role'] }}", "assistantsystem"},
	})
	checkRefusals(t, []refusal{
		{"of a number", "{{ 5 | first }}", "first: there is nothing in a value of type int"},
		{"the attribute of what is not there", "{{ ([] | first).role }}", "there is no first element"},
		{"the attribute of the last of nothing", "{{ ([] | last).role }}", "there is no last element"},
	})
}

func TestListsOfElements(t *testing.T) {
	checkTexts(t, []rendering{
		{"of texts", "{{ clef | list }}", "['a', '𝄞', 'b']"},
		{"of dicts and tuples", "{{ {'a': 1} | list }}{{ (1, 2) | list }}", "['a'][1, 2]"},
		{"of what is undefined", "{{ nope | list }}", "[]"},
		{"reverse of a text is a text", "{{ clef | reverse }}", "b𝄞a"},
		{"reverse of a list", "{{ [1, 2, 3] | reverse | list }}", "[3, 2, 1]"},
		{"reverse of a tuple or a dict", "{{ (1, 2) | reverse | list }}{{ {'a': 1, 'b': 2} | reverse | list }}", "[2, 1]['b', 'a']"},
		{"the list itself stays as it is", "{% set a = [1, 2] %}{% set b = a | reverse | list %}{{ a }}{{ b }}", "[1, 2][2, 1]"},
		{"items", "{% for k, v in {'a': 1, 'b': 2} | items %}{{ k }}{{ v }}{% endfor %}", "a1b2"},
		{"items of what is undefined", "{{ nope | items | list }}", "[]"},
	})
	checkRefusals(t, []refusal{
		{"items of a list", "{{ [1] | items | list }}", "items: want a dict"},
		{"reverse of a number", "{{ 1 | reverse }}", "reverse: there is nothing in a value of type int"},
	})
}

func TestDefaultsStandForWhatIsMissing(t *testing.T) {
	checkTexts(t, []rendering{
		{"for what is undefined", "{{ nope | default('x') }}{{ messages[0].tool | d('y') }}", "xy"},
		{"nothing, if nothing is said", "[{{ nope | default }}]", "[]"},
		{"not for what is there", "{{ 1 | default('x') }}{{ '' | default('x') }}{{ none | default('x') }}", "1None"},
		{"for what is empty too, if that is said", "{{ '' | default('x', true) }}{{ none | d('y', true) }}{{ 0 | d('z', boolean=true) }}", "xyz"},
		{"by name", "{{ nope | default(default_value=3) }}", "3"},
		{"what is not there of what is not there is an error elsewhere", "{{ nope is defined and nope.a | default(1) }}", "False"},
		{"of a list's element", "{{ messages[7] | default('none') }}", "none"},
	})
	checkRefusals(t, []refusal{
		{"of an attribute of what is undefined", "{{ nope.a | default('x') }}", "'nope' is undefined"},
		{"three arguments", "{{ 1 | default(1, 2, 3) }}", "default: want at most 2 arguments, not 3"},
	})
}

func TestWholeNumbersOfTexts(t *testing.T) {
	checkTexts(t, []rendering{
		{"digits", "{{ '42' | int }} {{ ' -7 ' | int }} {{ '+3' | int }} {{ '007' | int }}", "42 -7 3 7"},
		{"digits of other scripts", "{{ '٣٤' | int }}", "34"},
		{"underscores between digits", "{{ '1_000' | int }} {{ '1__0' | int }} {{ '_1' | int }} {{ '1_' | int }}", "1000 0 0 0"},
		{"texts of floats are cut", "{{ '42.9' | int }} {{ '-1.5e1' | int }} {{ '.5' | int }}", "42 -15 0"},
		{"what is no number", "{{ 'x' | int }} {{ '' | int }} {{ '1 2' | int }} {{ '0x1A' | int }}", "0 0 0 0"},
		{"another value for it", "{{ 'x' | int(-1) }} {{ 'x' | int(default=5) }} {{ 'x' | int('y') }}", "-1 5 y"},
		{"floats are cut", "{{ 3.99 | int }} {{ -3.99 | int }} {{ 1e15 | int }}", "3 -3 1000000000000000"},
		{"truth", "{{ true | int }}{{ false | int }}", "10"},
		{"what is neither", "{{ none | int }} {{ [] | int(7) }} {{ {} | int }}", "0 7 0"},
		{"infinity in a text, and no number", "{{ 'inf' | int(1) }} {{ 'nan' | int(2) }}", "1 2"},
		{"another base", "{{ 'ff' | int(base=16) }} {{ '0x1A' | int(0, 16) }} {{ '101' | int(base=2) }} {{ 'z' | int(0, 36) }} {{ '12' | int(9, 2) }}", "255 26 5 35 12"},
	})
	checkRefusals(t, []refusal{
		{"of what is undefined", "{{ nope | int }}", "int: 'nope' is undefined"},
		{"infinity", "{{ 1e999 | int }}", "int: want a number that has an end, not inf"},
	})
}

func TestFloatsOfTexts(t *testing.T) {
	checkTexts(t, []rendering{
		{"with a point or an exponent", "{{ '1.5' | float }} {{ ' -2e3 ' | float }} {{ '.5' | float }} {{ '5.' | float }}", "1.5 -2000.0 0.5 5.0"},
		{"whole ones", "{{ '3' | float }} {{ 3 | float }} {{ true | float }}", "3.0 3.0 1.0"},
		{"too large ones", "{{ '1e999' | float }} {{ '-1e999' | float }}", "inf -inf"},
		{"infinity and no number", "{{ 'inf' | float }} {{ '-Infinity' | float }} {{ 'nan' | float }}", "inf -inf nan"},
		{"underscores between digits", "{{ '1_0.5' | float }} {{ '_1' | float }} {{ '1_.5' | float }}", "10.5 0.0 0.0"},
		{"Go's ways to write numbers are none", "{{ '0x10' | float }} {{ '0x1p4' | float }}", "0.0 0.0"},
		{"what is none", "{{ 'x' | float }} {{ none | float }} {{ [] | float(1) }} {{ 'x' | float(default='y') }}", "0.0 0.0 1 y"},
	})
	checkRefusals(t, []refusal{{"of what is undefined", "{{ nope | float }}", "float: 'nope' is undefined"}})
}

func TestRoundingIsPythons(t *testing.T) {
	checkTexts(t, []rendering{
		{"halves go to the even one", "{{ 0.5 | round }} {{ 1.5 | round }} {{ 2.5 | round }} {{ -0.5 | round }}", "0.0 2.0 2.0 -0.0"},
		{"digits are those of the exact value", "{{ 2.675 | round(2) }} {{ 1.005 | round(2) }} {{ 0.125 | round(2) }}", "2.67 1.0 0.12"},
		{"whole numbers stay whole", "{{ 7 | round }} {{ 7 | round(2) }} {{ true | round }}", "7 7 1"},
		{"up", "{{ 2.1 | round(0, 'ceil') }} {{ -2.1 | round(method='ceil') }} {{ 2.11 | round(1, 'ceil') }} {{ 2 | round(0, 'ceil') }}", "3.0 -2.0 2.2 2.0"},
		{"up to zero, which has no sign", "{{ -0.5 | round(0, 'ceil') }}", "0.0"},
		{"down", "{{ 2.9 | round(0, 'floor') }} {{ -2.1 | round(0, 'floor') }} {{ 2.19 | round(1, 'floor') }}", "2.0 -3.0 2.1"},
		{"before the point", "{{ 1234.5 | round(-2) }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }} {{ -1250 | round(-2) }}", "1200.0 1200 1400 -1200"},
		{"many digits", "{{ 0.1 | round(20) }} {{ 1e20 | round(3) }}", "0.1 1e+20"},
		{"no precision", "{{ 2.5 | round(precision=0) }}", "2.0"},
	})
	checkRefusals(t, []refusal{
		{"of a text", "{{ 'a' | round }}", "round: want a number"},
		{"a way that there is not", "{{ 1.5 | round(0, 'up') }}", `round: want common, ceil or floor, not "up"`},
		{"digits that are none", "{{ 1.5 | round('x') }}", "round: want a whole number, not str"},
		{"up of what has no end", "{{ 1e999 | round(0, 'ceil') }}", "round: want a number that has an end, not inf"},
	})
}

func TestSizesOfNumbers(t *testing.T) {
	checkTexts(t, []rendering{
		{"abs", "{{ -3 | abs }} {{ 3 | abs }} {{ -2.5 | abs }} {{ false | abs }} {{ -0.0 | abs }}", "3 3 2.5 0 0.0"},
		{"sum", "{{ [1, 2, 3] | sum }} {{ [1, 2.5] | sum }} {{ [] | sum }} {{ (true, true) | sum }}", "6 3.5 0 2"},
		{"sum of an attribute", "{{ people | sum('age') }} {{ people | sum(attribute='age') }}", "69 69"},
		{"sum from somewhere", "{{ [1] | sum(start=10) }} {{ [] | sum(start=0.5) }}", "11 0.5"},
		{"sum of lists", "{{ [[1], [2, 3]] | sum(start=[]) }}", "[1, 2, 3]"},
	})
	checkRefusals(t, []refusal{
		{"abs of a text", "{{ 'a' | abs }}", "abs: want a number, not str"},
		{"sum of texts", "{{ ['a', 'b'] | sum }}", "sum: + is not for int and str"},
		{"sum of texts from one", "{{ ['a', 'b'] | sum(start='') }}", "sum: want no text to begin with: join is for texts"},
		{"sum of what is undefined", "{{ [nope] | sum }}", "sum: 'nope' is undefined"},
		{"sum of an attribute that is not there", "{{ people | sum('size') }}", "sum: a value of type dict has no 'size'"},
	})
}

func TestJoinWritesAllElements(t *testing.T) {
	checkTexts(t, []rendering{
		{"with nothing between", "{{ [1, 'a', none, 2.0] | join }}", "1aNone2.0"},
		{"with a text between", "{{ ['a', 'b', 'c'] | join(', ') }}", "a, b, c"},
		{"with a number between", "{{ ['a', 'b'] | join(0) }}", "a0b"},
		{"with None between", "{{ ['a', 'b'] | join(none) }}", "aNoneb"},
		{"of one element", "{{ ['a'] | join(', ') }}", "a"},
		{"of a text", "{{ clef | join('-') }}", "a-𝄞-b"},
		{"of a dict's keys", "{{ {'a': 1, 'b': 2} | join('+') }}", "a+b"},
		{"of attributes", "{{ messages | join('|', attribute='role') }}", "system|user|assistant"},
		{"of attributes of attributes", "{{ people | join(',', 'home.town') }}", "Ulm,Aue,aue"},
		{"of places", "{{ [[1, 2], [3, 4]] | join('/', attribute=1) }}", "2/4"},
		{"of what is undefined", "[{{ nope | join(',') }}{{ [nope, 1] | join(',') }}]", "[,1]"},
	})
	checkRefusals(t, []refusal{
		{"of a number", "{{ 5 | join }}", "join: there is nothing in a value of type int"},
		{"of None", "{{ none | join }}", "join: there is nothing in a value of type NoneType"},
	})
}

func TestSorting(t *testing.T) {
	checkTexts(t, []rendering{
		{"numbers", "{{ [3, 1.5, true, 2] | sort }}", "[True, 1.5, 2, 3]"},
		{"texts, whose capitals do not count", "{{ ['b', 'A', 'c', 'a'] | sort }}", "['A', 'a', 'b', 'c']"},
		{"texts, whose capitals count", "{{ ['b', 'A', 'c', 'a'] | sort(case_sensitive=true) }}", "['A', 'a', 'b', 'c']"},
		{"and come first", "{{ ['a', 'B'] | sort(false, true) }}", "['B', 'a']"},
		{"downwards", "{{ [1, 3, 2] | sort(reverse=true) }}", "[3, 2, 1]"},
		{"equal ones stay in their order", "{{ people | sort(attribute='age') | map(attribute='name') | join(',') }}", "al,Bea,Cy"},
		{"downwards too", "{{ people | sort(true, attribute='age') | map(attribute='name') | join(',') }}", "Bea,Cy,al"},
		{"by an attribute of an attribute", "{{ people | sort(attribute='home.town') | map(attribute='name') | join(',') }}", "al,Cy,Bea"},
		{"by two attributes", "{{ people | sort(attribute='age,name') | map(attribute='name') | join(',') }}", "al,Bea,Cy"},
		{"by a place", "{{ [[1, 'b'], [2, 'a']] | sort(attribute=1) }}", "[[2, 'a'], [1, 'b']]"},
		{"lists by their elements", "{{ [[2], [1, 5], [1]] | sort }}", "[[1], [1, 5], [2]]"},
		{"the characters of a text", "{{ 'bca' | sort }}", "['a', 'b', 'c']"},
		{"the keys of a dict", "{{ {'b': 1, 'a': 2} | sort }}", "['a', 'b']"},
		{"nothing", "{{ [] | sort }}{{ nope | sort }}", "[][]"},
		{"equal ones need no order", "{{ [none, none] | sort }}{{ [{}, {}] | sort }}", "[None, None][{}, {}]"},
		{"by what none of them has", "{{ (people | sort(attribute='size') | first).name }}", "Bea"},
	})
	checkRefusals(t, []refusal{
		{"numbers and texts", "{{ [1, 'a'] | sort }}", "have no order"},
		{"None and a number", "{{ [none, 1] | sort }}", "have no order"},
		{"dicts", "{{ [{}, {1: 1}] | sort }}", "sort: dict and dict have no order"},
		{"an attribute of what is not there", "{{ people | sort(attribute='size.x') }}", "sort: a value of type dict has no 'size'"},
	})
}

func TestSortingDicts(t *testing.T) {
	checkTexts(t, []rendering{
		{"by key", "{{ {'b': 1, 'a': 2} | dictsort }}", "[('a', 2), ('b', 1)]"},
		{"capitals do not count", "{{ {'b': 1, 'A': 2, 'c': 0} | dictsort }}", "[('A', 2), ('b', 1), ('c', 0)]"},
		{"unless it is said", "{{ {'b': 1, 'A': 2, 'a': 0} | dictsort(true) }}", "[('A', 2), ('a', 0), ('b', 1)]"},
		{"by value", "{{ {'b': 1, 'a': 2} | dictsort(by='value') }}{{ {'b': 'x', 'a': 'Y'} | dictsort(false, 'value') }}", "[('b', 1), ('a', 2)][('b', 'x'), ('a', 'Y')]"},
		{"downwards", "{{ {'b': 1, 'a': 2} | dictsort(reverse=true) }}", "[('b', 1), ('a', 2)]"},
		{"an empty one", "{{ {} | dictsort }}", "[]"},
	})
	checkRefusals(t, []refusal{
		{"by something else", "{{ {} | dictsort(by='size') }}", `dictsort: want a dict by key or value, not dict by "size"`},
		{"no dict", "{{ [1] | dictsort }}", "dictsort: want a dict by key or value, not list"},
		{"keys without order", "{{ {1: 1, 'a': 2} | dictsort }}", "have no order"},
	})
}

func TestUniqueKeepsTheFirst(t *testing.T) {
	checkTexts(t, []rendering{
		{"of numbers, of which 1, 1.0 and true are one", "{{ [2, 1, 1.0, true, 2] | unique | list }}", "[2, 1]"},
		{"of texts, whose capitals do not count", "{{ ['b', 'B', 'a'] | unique | list }}", "['b', 'a']"},
		{"or count", "{{ ['b', 'B', 'b'] | unique(true) | list }}", "['b', 'B']"},
		{"by an attribute", "{{ people | unique(attribute='age') | map(attribute='name') | list }}", "['Bea', 'al']"},
		{"None is one", "{{ [none, none, 0] | unique | list }}", "[None, 0]"},
		{"tuples with the same parts are one", "{{ [(1, 2), (1.0, 2), (1, '2'), ()] | unique | list }}", "[(1, 2), (1, '2'), ()]"},
		{"what is undefined is one", "{{ [nope, nopes] | unique | list | length }}", "1"},
		{"of a text", "{{ 'abca' | unique | join }}", "abc"},
	})
	checkRefusals(t, []refusal{
		{"lists", "{{ [[1], [1]] | unique | list }}", "unique: want a key that is a text, a number or a tuple of those"},
		{"dicts", "{{ [{}] | unique | list }}", "unique: want a key that is a text, a number or a tuple of those"},
		{"tuples of lists", "{{ [([],)] | unique | list }}", "unique: want a key that is a text, a number or a tuple of those"},
	})
}

func TestExtremes(t *testing.T) {
	checkTexts(t, []rendering{
		{"of numbers", "{{ [2, 1, 3] | min }}{{ [2, 1, 3] | max }}", "13"},
		{"of texts, whose capitals do not count", "{{ ['b', 'A'] | min }}{{ ['b', 'A'] | max }}", "Ab"},
		{"or count", "{{ ['a', 'B'] | min(true) }}{{ ['a', 'B'] | max(case_sensitive=true) }}", "Ba"},
		{"by an attribute, of equal ones the first", "{{ (people | max(attribute='age')).name }}{{ (people | min(attribute='home.town')).name }}", "Beaal"},
		{"of one", "{{ [none] | min }}", "None"},
		{"of nothing", "[{{ [] | min }}{{ nope | max }}]", "[]"},
	})
	checkRefusals(t, []refusal{
		{"of what has no order", "{{ [1, 'a'] | min }}", "min: str and int have no order"},
		{"an attribute of the greatest of nothing", "{{ ([] | max).x }}", "there is no element"},
	})
}

func TestMapAndSelect(t *testing.T) {
	checkTexts(t, []rendering{
		{"map with a filter", "{{ ['a', 'b'] | map('upper') | list }}", "['A', 'B']"},
		{"with its arguments", "{{ ['a-b', 'c'] | map('replace', '-', '+') | list }}{{ ['x', '3'] | map('int', default=7) | list }}", "['a+b', 'c'][7, 3]"},
		{"map to attributes", "{{ messages | map(attribute='role') | list }}", "['system', 'user', 'assistant']"},
		{"of attributes", "{{ people | map(attribute='home.town') | list }}", "['Ulm', 'Aue', 'aue']"},
		{"to places", "{{ [[1, 2], [3, 4]] | map(attribute=0) | list }}", "[1, 3]"},
		{"with a default", "{{ messages | map(attribute='n', default=0) | list }}", "[0, 0, 3]"},
		{"map with a filter that applies another", "{{ [['a'], ['b', 'c']] | map('map', 'upper') | map('join', '+') | list }}", "['A', 'B+C']"},
		{"map with a filter that selects", "{{ [[1, 2, 3], [4]] | map('select', 'odd') | map('list') | list }}", "[[1, 3], []]"},
		{"select what counts as true", "{{ [0, 1, '', 'a', none, []] | select | list }}", "[1, 'a']"},
		{"select by a test", "{{ [1, 2, 3, 4] | select('even') | list }}{{ [1, 5, 3] | select('gt', 2) | list }}", "[2, 4][5, 3]"},
		{"reject", "{{ [0, 1, ''] | reject | list }}{{ [1, 2, 3] | reject('odd') | list }}", "[0, ''][2]"},
		{"selectattr by what counts as true", "{{ messages | selectattr('n') | map(attribute='role') | list }}", "['assistant']"},
		{"selectattr by a test", "{{ people | selectattr('age', 'lt', 30) | map(attribute='name') | list }}", "['al']"},
		{"of an attribute's attribute", "{{ people | selectattr('home.town', 'eq', 'Ulm') | map(attribute='name') | list }}", "['Bea']"},
		{"selectattr of what is defined", "{{ messages | selectattr('n', 'defined') | list | length }}", "1"},
		{"rejectattr", "{{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='role') | list }}", "['system', 'assistant']"},
		{"of a text", "{{ 'abc' | map('upper') | join }}{{ 'a1b2' | select('in', '12') | join }}", "ABC12"},
		{"of nothing", "{{ [] | map('upper') | list }}{{ nope | select('odd') | list }}", "[][]"},
		{"a chat's last question", "{{ (messages | selectattr('role', '==', 'user') | list | last).content }}", "Who built the castle?"},
	})
	checkRefusals(t, []refusal{
		{"map without anything", "{{ [1] | map | list }}", "map: want an argument"},
		{"a filter that there is not", "{{ [1] | map('shout') | list }}", `map: there is no filter "shout" here`},
		{"a test that there is not", "{{ [1] | select('fine') | list }}", `select: there is no test "fine" here`},
		{"no attribute", "{{ [1] | selectattr | list }}", "selectattr: want an argument"},
		{"a filter that fails", "{{ [nope] | map('int') | list }}", "map: 'nope' is undefined"},
		{"a number", "{{ 5 | map('upper') | list }}", "map: there is nothing in a value of type int"},
		{"a test that fails", "{{ ['a'] | select('odd') | list }}", "select: % is not for str and int"},
	})
}

func TestIndentSetsLinesIn(t *testing.T) {
	checkTexts(t, []rendering{
		{"all but the first", "{{ 'a\\nb\\nc' | indent }}", "a\n    b\n    c"},
		{"so far", "{{ 'a\\nb' | indent(2) }}{{ 'a\\nb' | indent(width=0) }}", "a\n  ba\nb"},
		{"the first too", "{{ 'a\\nb' | indent(1, true) }}", " a\n b"},
		{"not empty ones", "{{ 'a\\n\\nb' | indent(2) }}", "a\n\n  b"},
		{"empty ones too", "{{ 'a\\n\\nb' | indent(2, blank=true) }}", "a\n  \n  b"},
		{"the first though it is empty", "{{ '\\na' | indent(2, first=true) }}", "  \n  a"},
		{"with a text", "{{ 'a\\nb' | indent('> ') }}", "a\n> b"},
		{"the last break stays", "{{ 'a\\nb\\n' | indent(1) }}|", "a\n b\n|"},
		{"ends of lines become those of Unix", "{{ 'a\\r\\nb\\x0bc' | indent(1) }}", "a\n b\n c"},
		{"nothing", "[{{ '' | indent }}]", "[]"},
	})
	checkRefusals(t, []refusal{
		{"of a number", "{{ 5 | indent }}", "indent: want a text, not int"},
		{"of what is undefined", "{{ nope | indent }}", "indent: want a text, not undefined"},
	})
}

func TestEscapingIsAsked(t *testing.T) {
	checkTexts(t, []rendering{
		{"nothing is escaped by itself", "{{ '<a href=\"x\">&\\'' }}", "<a href=\"x\">&'"},
		{"e and escape", "{{ '<a href=\"x\">&\\'' | e }}{{ '<' | escape }}", "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;"},
		{"a number", "{{ 5 | e }}{{ none | e }}", "5None"},
		{"safe and string are texts", "{{ 5 | safe }}{{ (5 | string) ~ '' }}{{ 1 | string is string }}", "55True"},
	})
}
