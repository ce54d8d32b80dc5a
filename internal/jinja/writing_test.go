package jinja

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestValuesAreWrittenAsPythonWritesThem(t *testing.T) {
	checkTexts(t, []rendering{
		{"texts as they are", "{{ 'a\\'b\"\\n' }}|", "a'b\"\n|"},
		{"None, truth and numbers", "{{ none }} {{ true }} {{ false }} {{ -7 }} {{ 1.5 }}", "None True False -7 1.5"},
		{"what is undefined as nothing", "[{{ nope }}{{ messages[0].nope }}{{ [][0] }}]", "[]"},
		{"lists, tuples and dicts", "{{ [1, 'a', none] }} {{ (1, 'a') }} {{ {'a': 1, 2: 'b', none: true} }}", "[1, 'a', None] (1, 'a') {'a': 1, 2: 'b', None: True}"},
		{"empty ones", "{{ [] }} {{ () }} {{ {} }} [{{ '' }}]", "[] () {} []"},
		{"a tuple of one", "{{ (1,) }} {{ ((1,),) }}", "(1,) ((1,),)"},
		{"what is undefined in a list", "{{ [nope] }}", "[Undefined]"},
		{"within each other", "{{ [[1, [2]], {'a': ({'b': []},)}] }}", "[[1, [2]], {'a': ({'b': []},)}]"},
	})
}

func TestFloatsAreWrittenAsPythonWritesThem(t *testing.T) {
	checkTexts(t, []rendering{
		{"whole ones with a point", "{{ 1.0 }} {{ 100.0 }} {{ 0.0 }} {{ -0.0 }}", "1.0 100.0 0.0 -0.0"},
		{"the shortest that is the same", "{{ 0.1 }} {{ 1 / 3 }} {{ 2 / 3 }} {{ 0.1 + 0.7 }}", "0.1 0.3333333333333333 0.6666666666666666 0.7999999999999999"},
		{"large ones with an exponent", "{{ 1e15 }} {{ 1e16 }} {{ 123456789012345680.0 }} {{ 1.5e300 }}", "1000000000000000.0 1e+16 1.2345678901234568e+17 1.5e+300"},
		{"small ones with an exponent", "{{ 0.0001 }} {{ 0.00001 }} {{ 1.5e-7 }} {{ 5e-324 }}", "0.0001 1e-05 1.5e-07 5e-324"},
		{"infinity and no number", "{{ 1e999 }} {{ -1e999 }} {{ 1e999 - 1e999 }}", "inf -inf nan"},
	})
}

func TestTextsInListsAreQuoted(t *testing.T) {
	checkTexts(t, []rendering{
		{"in single quotes", "{{ ['a'] }}", "['a']"},
		{"in double ones where there are single ones", `{{ ["it's"] }}`, `["it's"]`},
		{"in single ones where there are both", `{{ ['it\'s "x"'] }}`, `['it\'s "x"']`},
		{"double ones need nothing", `{{ ['"'] }}`, `['"']`},
		{"letters for line breaks and the like", `{{ ['\n\r\t\\'] }}`, `['\n\r\t\\']`},
		{"numbers for what cannot be seen", `{{ ['\0\a\b\x1b\x7f\x80\xa0\xad'] }}`, `['\x00\x07\x08\x1b\x7f\x80\xa0\xad']`},
		{"of more digits", `{{ ['\u200b\u2028\ue000\ufeff'] }}`, `['\u200b\u2028\ue000\ufeff']`},
		{"of eight", `{{ ['\U000e0001\U0010ffff'] }}`, `['\U000e0001\U0010ffff']`},
		{"letters of all scripts as they are", "{{ ['äß日𝄞🙂'] }}", "['äß日𝄞🙂']"},
		{"keys too", `{{ {'a\n': "'"} }}`, `{'a\n': "'"}`},
	})
}

func TestJSONIsThatOfHuggingFace(t *testing.T) {
	checkTexts(t, []rendering{
		{"with blanks behind commas and colons", `{{ {'a': [1, 2], 'b': none} | tojson }}`, `{"a": [1, 2], "b": null}`},
		{"keys in their order", "{{ {'b': 1, 'a': 2} | tojson }}", `{"b": 1, "a": 2}`},
		{"or sorted", "{{ {'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true) }}", `{"a": {"c": 2, "d": 1}, "b": 1}`},
		{"numbers sorted as numbers", "{{ {10: 1, 9: 2, 1.5: 3, true: 4} | tojson(sort_keys=true) }}", `{"true": 4, "1.5": 3, "9": 2, "10": 1}`},
		{"keys that are no texts", "{{ {1: 1, 2.5: 2, true: 3, none: 4, false: 5} | tojson }}", `{"1": 3, "2.5": 2, "null": 4, "false": 5}`},
		{"nothing is escaped for HTML", "{{ '<b>&\\'\"' | tojson }}", `"<b>&'\""`},
		{"characters as they are", "{{ 'äß日𝄞' | tojson }}", `"äß日𝄞"`},
		{"or in ASCII", "{{ 'äß日𝄞' | tojson(ensure_ascii=true) }}", `"\u00e4\u00df\u65e5\ud834\udd1e"`},
		{"what has no sign of its own", `{{ '\0\b\t\n\f\r\x1f\x7f\u2028\\/' | tojson }}`, `"\u0000\b\t\n\f\r\u001f` + "\x7f\u2028" + `\\/"`},
		{"in ASCII that is escaped too", `{{ '\x7f' | tojson(true) }}`, `"\u007f"`},
		{"numbers", "{{ [1, 1.0, 1e20, -0.0, 1e-7] | tojson }}", "[1, 1.0, 1e+20, -0.0, 1e-07]"},
		{"numbers that JSON has not", "{{ [1e999, -1e999] | tojson }}", "[Infinity, -Infinity]"},
		{"as keys too", "{{ {1e999: 1} | tojson }}", `{"Infinity": 1}`},
		{"truth and None", "{{ [true, false, none] | tojson }}", "[true, false, null]"},
		{"tuples are lists", "{{ (1, (2,)) | tojson }}", "[1, [2]]"},
		{"with an indent", "{{ {'a': [1, {}], 'b': []} | tojson(indent=2) }}", "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"},
		{"with an indent of none", "{{ [1, [2]] | tojson(indent=0) }}", "[\n1,\n[\n2\n]\n]"},
		{"with an indent below none", "{{ [1] | tojson(indent=-3) }}", "[\n1\n]"},
		{"with an indent of a text", "{{ [1, [2]] | tojson(indent='--') }}", "[\n--1,\n--[\n----2\n--]\n]"},
		{"with separators", "{{ {'a': [1, 2]} | tojson(separators=(',', ':')) }}", `{"a":[1,2]}`},
		{"with separators and an indent", "{{ {'a': [1, 2]} | tojson(indent=1, separators=(';', '=')) }}", "{\n \"a\"=[\n  1;\n  2\n ]\n}"},
		{"with everything in its order", "{{ {'b': 'ä', 'a': 1} | tojson(true, none, (',', ':'), true) }}", `{"a":1,"b":"\u00e4"}`},
		{"a message", "{{ messages[2] | tojson }}", `{"role": "assistant", "content": "A king.\n", "n": 3}`},
	})
	checkRefusals(t, []refusal{
		{"what is undefined", "{{ nope | tojson }}", "tojson: a value of type undefined is no JSON"},
		{"within others", "{{ {'a': [nope]} | tojson }}", "tojson: a value of type undefined is no JSON"},
		{"functions", "{{ range | tojson }}", "tojson: a value of type function is no JSON"},
		{"namespaces", "{{ namespace(a=1) | tojson }}", "tojson: a value of type namespace is no JSON"},
		{"tuples as keys", "{{ {(1, 2): 3} | tojson }}", "tojson: want keys that are texts or numbers, not tuple"},
		{"keys without order that are to be sorted", "{{ {1: 1, 'a': 2} | tojson(sort_keys=true) }}", "have no order"},
		{"one separator", "{{ [] | tojson(separators=(',',)) }}", "tojson: want two separators"},
		{"an argument that there is not", "{{ [] | tojson(default=1) }}", `tojson: there is no argument "default"`},
	})
	for _, template := range []string{"{{ [1] | tojson(indent=101) }}", "{{ [1] | tojson(indent='x' * 101) }}"} { // which Python has the memory for
		if _, err := render(template, nil); err == nil || err.Error() != "line 1: tojson: want an indent up to 100" {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// randomValue is a value that JSON has, as a template gets it.
func randomValue(random *rand.Rand, depth int) any {
	switch k := random.IntN(8); {
	case k == 0:
		return nil
	case k == 1:
		return random.IntN(2) == 0
	case k == 2:
		return random.Int64() >> random.IntN(64)
	case k == 3:
		return math.Float64frombits(random.Uint64()&^(1<<62)) + 0.5
	case k < 6 || depth == 0:
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteRune([]rune("a'\"\\/\n\t\x00\x7fé日𝄞\u2028\u00ad <&")[random.IntN(17)])
		}
		return b.String()
	case k == 6:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, randomValue(random, depth-1))
		}
		return list
	}
	d := map[string]any{}
	for range random.IntN(4) {
		d[string(rune('a'+random.IntN(26)))] = randomValue(random, depth-1)
	}
	return d
}

// What tojson writes another reader of JSON reads as the same, with any style.
func TestJSONIsReadBackUnchanged(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 1))
	for range 500 {
		value := randomValue(random, 4)
		want, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, style := range []string{"", "(true)", "(indent=2)", "(indent='\t', sort_keys=true)", "(separators=(',', ':'))"} {
			text, err := render("{{ x | tojson"+style+" }}", map[string]any{"x": value})
			if err != nil {
				t.Fatalf("%v: %v", value, err)
			}
			var read any
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			if err := decoder.Decode(&read); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got, err := json.Marshal(normal(read)); err != nil || string(got) != string(want) {
				t.Fatalf("tojson%s of %s reads as %s, %v", style, want, got, err)
			}
		}
	}
}

// normal has numbers as json.Marshal writes them.
func normal(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && !strings.ContainsAny(v.String(), ".e") {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	}
	return value
}

// A list as it is written is an expression that stands for the same list.
func TestWhatIsWrittenIsAnExpression(t *testing.T) {
	random := rand.New(rand.NewPCG(19, 1))
	for range 500 {
		values := map[string]any{"x": []any{randomValue(random, 4)}}
		first, err := render("{{ x }}", values)
		if err != nil {
			t.Fatal(err)
		}
		second, err := render("{{ "+first+" }}", nil)
		if err != nil || second != first {
			t.Fatalf("%s is written again as %s, %v", first, second, err)
		}
		if same, err := render("{{ x == "+first+" }}", values); same != "True" || err != nil {
			t.Fatalf("%s is not what it was: %s, %v", first, same, err)
		}
	}
}
