package openai

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Short texts of what numbers are made of: nearly all are none.
func TestAllShortNumbersAreThoseOfJSON(t *testing.T) {
	const of = "0123.-+eE9"
	numbers := 0
	for n := range 6 {
		for i := range []int{1, 10, 100, 1000, 10_000, 20_000}[n] {
			text := make([]byte, n)
			for k := range text {
				text[k] = of[i%10]
				i /= 10
			}
			want := n > 0 && json.Valid(text)
			if got := isNumber(text); got != want {
				t.Fatalf("%q is a number: %t, want %t", text, got, want)
			}
			if want {
				numbers++
			}
		}
	}
	if numbers < 1000 {
		t.Errorf("%d of the texts are numbers", numbers)
	}
}

func TestWholeNumbersAreCountedAsFarAsTheyFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		text := fmt.Sprint(r.Uint64() >> r.IntN(64))
		want, err := strconv.ParseUint(text, 10, 64)
		if got := whole([]byte(text)); want < 1<<40 && (err != nil || got != int(want)) || want > 11<<40 && got != -1 {
			t.Errorf("whole(%s) = %d", text, got)
		}
	}
	for text, want := range map[string]int{
		"007": 7, "+1": -1, " 1": -1, "1 ": -1, "٣": -1, "99999999999999999999999999999": -1, "null": -1,
	} {
		if got := whole([]byte(text)); got != want {
			t.Errorf("whole(%q) = %d, want %d", text, got, want)
		}
	}
}

// Halves of characters that have no other half become the sign for what cannot be read, as encoding/json has it.
func TestHalvesOfCharactersMeanWhatEncodingJSONSays(t *testing.T) {
	units := []string{`\ud83d`, `\ude00`, `\uD83D`, `\u0041`, `\u0000`, `\uffff`, `a`, `\n`, `\"`, `\\`, `\/`, `ü`}
	r := rand.New(rand.NewPCG(2, 1))
	for range 3000 {
		raw := ""
		for range r.IntN(5) {
			raw += units[r.IntN(len(units))]
		}
		var want string
		if err := json.Unmarshal([]byte(`"`+raw+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := unquote(nil, []byte(raw)); !ok || string(got) != want {
			t.Errorf("%s means %q, %t, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{`\`, `\x41`, `\u`, `\u004`, `\u00g1`, `a\`, `\U0041`, `\'`} {
		if got, ok := unquote(nil, []byte(raw)); ok {
			t.Errorf("%s means %q, want an error", raw, got)
		}
	}
}
