package jinja

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// A logical is an expression of texts, numbers and truth, with the value that a plain second reckoning gives it: nil, bool, int or string.
type logical struct {
	text  string
	value any
}

func plainTruth(value any) bool { return value != nil && value != false && value != 0 && value != "" }

func plainText(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case int:
		return strconv.Itoa(v)
	}
	return value.(string)
}

// plainEqual counts truth as a number, as Python does.
func plainEqual(a, b any) bool {
	number := func(v any) any {
		switch v {
		case true:
			return 1
		case false:
			return 0
		}
		return v
	}
	return number(a) == number(b)
}

func randomLogical(random *rand.Rand, depth int) logical {
	if depth == 0 {
		switch random.IntN(5) {
		case 0:
			n := random.IntN(4)
			return logical{strconv.Itoa(n), n}
		case 1:
			s := strings.Repeat("ab", random.IntN(3))
			return logical{"'" + s + "'", s}
		case 2:
			return logical{"true", true}
		case 3:
			return logical{"false", false}
		}
		return logical{"none", nil}
	}
	a, b, c := randomLogical(random, depth-1), randomLogical(random, depth-1), randomLogical(random, depth-1)
	choose := func(test bool, yes, no any) any {
		if test {
			return yes
		}
		return no
	}
	switch random.IntN(9) {
	case 0:
		return logical{fmt.Sprintf("(%s and %s)", a.text, b.text), choose(plainTruth(a.value), b.value, a.value)}
	case 1:
		return logical{fmt.Sprintf("(%s or %s)", a.text, b.text), choose(plainTruth(a.value), a.value, b.value)}
	case 2:
		return logical{fmt.Sprintf("(not %s)", a.text), !plainTruth(a.value)}
	case 3:
		return logical{fmt.Sprintf("(%s if %s else %s)", a.text, b.text, c.text), choose(plainTruth(b.value), a.value, c.value)}
	case 4:
		return logical{fmt.Sprintf("(%s == %s)", a.text, b.text), plainEqual(a.value, b.value)}
	case 5:
		return logical{fmt.Sprintf("(%s ~ %s)", a.text, b.text), plainText(a.value) + plainText(b.value)}
	case 6:
		return logical{fmt.Sprintf("(%s in [%s, %s])", a.text, b.text, c.text), plainEqual(a.value, b.value) || plainEqual(a.value, c.value)}
	case 7:
		return logical{fmt.Sprintf("(%s | string | length)", a.text), len(plainText(a.value))}
	}
	return logical{fmt.Sprintf("(%s | default(%s, true))", a.text, b.text), choose(plainTruth(a.value), a.value, b.value)}
}

func TestRandomLogicIsThatOfAPlainReckoning(t *testing.T) {
	random := rand.New(rand.NewPCG(51, 1))
	for range 600 {
		e := randomLogical(random, 1+random.IntN(4))
		if got, err := render("{{ "+e.text+" }}", nil); err != nil || got != plainText(e.value) {
			t.Fatalf("%s is %q, %v, want %q", e.text, got, err, plainText(e.value))
		}
		want := map[bool]string{true: "yes", false: "no"}[plainTruth(e.value)]
		if got, err := render("{% if "+e.text+" %}yes{% else %}no{% endif %}", nil); err != nil || got != want {
			t.Fatalf("if %s is %q, %v, want %q", e.text, got, err, want)
		}
		if got, err := render("{% set x = "+e.text+" %}{% macro f(y) %}{{ y }}{% endmacro %}{{ f(x) }}", nil); err != nil || got != plainText(e.value) {
			t.Fatalf("%s, set and given, is %q, %v", e.text, got, err)
		}
	}
}

// Loops within loops write what loops of Go write.
func TestRandomLoopsAreThoseOfGo(t *testing.T) {
	random := rand.New(rand.NewPCG(53, 1))
	for range 500 {
		outer, inner, skip, leave := random.IntN(5), random.IntN(5), random.IntN(5), random.IntN(5)
		template := fmt.Sprintf("{%% for i in range(%d) %%}{%% for k in range(%d) if k != %d %%}{%% if k == %d %%}{%% break %%}{%% endif %%}{{ i }}{{ k }}{{ loop.index }}{{ loop.length }},"+
			"{%% else %%}-{%% endfor %%}{{ loop.revindex }};{%% else %%}none{%% endfor %%}", outer, inner, skip, leave)
		var want strings.Builder
		for i := range outer {
			var left []int
			for k := range inner {
				if k != skip {
					left = append(left, k)
				}
			}
			whole := false
			for n, k := range left {
				if k == leave {
					break
				}
				whole = true
				fmt.Fprintf(&want, "%d%d%d%d,", i, k, n+1, len(left))
			}
			if !whole {
				want.WriteString("-")
			}
			fmt.Fprintf(&want, "%d;", outer-i)
		}
		if outer == 0 {
			want.WriteString("none")
		}
		got, err := render(template, nil)
		if err != nil || got != want.String() {
			t.Fatalf("%s is %q, %v, want %q", template, got, err, want.String())
		}
		text := want.String()
		note(t, template, &text, map[string]any{})
	}
}

func TestCornersOfPlaces(t *testing.T) {
	checkTexts(t, []rendering{
		{"an end that is counted from the end", "{{ 'abcabc'.find('c', 0, -1) }} {{ 'abcabc'.rfind('c', 0, -1) }} {{ 'abcabc'.count('c', 0, -1) }}", "2 2 1"},
		{"an end before the beginning", "{{ 'abc'.find('b', 0, -9) }} {{ 'abc'.find('', 2, 1) }} {{ 'abc'.count('', 3, 1) }}", "-1 -1 0"},
		{"a beginning before the text", "{{ 'abc'.find('a', -9) }} {{ 'abc'.startswith('a', -3) }} {{ 'abc'.startswith('a', -2) }}", "0 True False"},
		{"None is no place", "{{ 'abc'.find('c', none, none) }}", "2"},
	})
	checkRefusals(t, []refusal{
		{"an argument too many", "{{ 'a'.find('a', 0, 1, 2) }}", "find: want at most 3 arguments, not 4"},
		{"a second argument that is no number", "{{ 'a'.count('a', 'b') }}", "count: want a whole number, not str"},
		{"join of a number by a method", "{{ ','.join(5) }}", "join: there is nothing in a value of type int"},
	})
}
