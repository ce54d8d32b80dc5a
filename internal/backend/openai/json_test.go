package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// anything writes a random value of JSON, with space wherever there may be some.
func anything(b *strings.Builder, random *rand.Rand, depth int) {
	space := func() { b.WriteString([]string{"", "", " ", "\n\t", "\r "}[random.IntN(5)]) }
	space()
	defer space()
	kind := random.IntN(4)
	if depth > 4 {
		kind = 0
	}
	switch kind {
	case 0, 1:
		b.WriteString([]string{"0", "-1.5e+7", "12", "true", "false", "null", `""`, `"a\"b\\"`, `"\u00e9\ud83d\ude00"`, `"{[,:]}"`}[random.IntN(10)])
	case 2:
		b.WriteString("[")
		for i := range random.IntN(4) {
			if i > 0 {
				b.WriteString(",")
			}
			anything(b, random, depth+1)
		}
		b.WriteString("]")
	default:
		object(b, random, depth)
	}
}

func object(b *strings.Builder, random *rand.Rand, depth int) {
	b.WriteString("{")
	for i := range random.IntN(4) {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, `"%c"%s:`, 'a'+random.IntN(5), []string{"", " "}[random.IntN(2)])
		anything(b, random, depth+1)
	}
	b.WriteString("}")
}

// Package json says what is JSON, also of what was damaged.
func TestWhatIsJSONIsThatOfEncodingJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	wrong, right := 0, 0
	for range 20_000 {
		var b strings.Builder
		object(&b, random, 0)
		text := []byte(b.String())
		if random.IntN(3) > 0 {
			damage(&text, random)
		}
		want := json.Valid(text) && text[0] == '{'
		if strings.ContainsRune(string(text), '\\') && !want {
			continue // what stands inside strings is looked at by who wants it
		}
		var e event
		if got := e.parse(text); got != want && !endsInSpace(text) {
			t.Fatalf("%q is an event: %v, want %v", text, got, want)
		}
		if want {
			right++
		} else {
			wrong++
		}
	}
	if right < 1000 || wrong < 1000 {
		t.Errorf("%d are JSON and %d are not: want many of both", right, wrong)
	}
}

// endsInSpace reports whether there is space behind a value, which is none that a server sends in an event.
func endsInSpace(text []byte) bool {
	return len(text) > 0 && (isSpace(text[0]) || isSpace(text[len(text)-1]))
}

// damage changes, drops or repeats a byte.
func damage(text *[]byte, random *rand.Rand) {
	b := *text
	i := random.IntN(len(b))
	switch random.IntN(3) {
	case 0:
		b[i] = `{}[]:,"0a. -e`[random.IntN(13)]
	case 1:
		b = append(b[:i], b[i+1:]...)
	default:
		b = append(b[:i+1], b[i:]...)
	}
	if len(b) == 0 {
		b = []byte(" ")
	}
	*text = b
}

// Package json says what a string means, whatever escapes it has; half letters become what it makes of them.
func TestRandomStringsMeanWhatEncodingJSONSays(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	parts := []string{"a", "é", "😀", `\n`, `\"`, `\\`, `\/`, `\u0000`, `\u00E9`, `\uD83D`, `\uDE00`, `\ud83d\ude00`, `\u`, `\x`, `\uD83D\n`, "\u2028", `\u12`}
	right := 0
	for range 5000 {
		raw := ""
		for range random.IntN(6) {
			raw += parts[random.IntN(len(parts))]
		}
		var want string
		valid := json.Unmarshal([]byte(`"`+raw+`"`), &want) == nil
		got, ok := unquote([]byte("before "), []byte(raw))
		if ok != valid || ok && string(got) != "before "+want {
			t.Fatalf("unquote(%s) = %q, %v, want %q, %v", raw, got, ok, want, valid)
		}
		if ok {
			right++
		}
	}
	if right < 1000 {
		t.Errorf("%d of 5000 are strings: want more", right)
	}
}

func TestTokensAreAListOfWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"[]": "[7]", "[0]": "[7 0]", " [ 1 ,2,\n3 ] ": "[7 1 2 3]", "[2147483647]": "[7 2147483647]",
		"[2147483648]": "none", "[-1]": "none", "[1.0]": "none", "[1e3]": "none", `["1"]`: "none", "[null]": "none", "[[1]]": "none", "[1": "none", "[1,]": "none", "{}": "none", "[01]": "none", "": "none",
	} {
		ids, ok := appendIDs([]int32{7}, []byte(text))
		got := fmt.Sprint(ids)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("the tokens of %q are %s, want %s", text, got, want)
		}
	}
}

func TestValuesAreNestedOnlySoDeep(t *testing.T) {
	nested := func(open, middle, shut string, n int) []byte {
		return []byte(`{"a":` + strings.Repeat(open, n) + middle + strings.Repeat(shut, n) + `}`)
	}
	for _, c := range []struct{ open, middle, shut string }{{"[", "", "]"}, {`{"a":`, "1", "}"}, {`[{"a":`, "1", "}]"}} {
		levels := strings.Count(c.open, "[") + strings.Count(c.open, "{")
		var e event
		if n := (maxDepth - 1) / levels; !e.parse(nested(c.open, c.middle, c.shut, n)) {
			t.Errorf("%d of %s are refused", n, c.open)
		}
		if n := maxDepth/levels + 1; e.parse(nested(c.open, c.middle, c.shut, n)) {
			t.Errorf("%d of %s are taken", n, c.open)
		}
		side := []byte(`{"a":[` + strings.Repeat(c.open+c.middle+c.shut+",", 1000) + `1]}`)
		if !e.parse(side) {
			t.Errorf("a thousand of %s side by side are refused", c.open)
		}
	}
}
