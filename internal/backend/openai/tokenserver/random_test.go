package tokenserver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// some are random tokens.
func some(random *rand.Rand, n int) (tokens []int32) {
	for range n {
		tokens = append(tokens, int32(random.IntN(len(words))))
	}
	return tokens
}

// What is hidden is found, whichever way the prompt is sent, unless there is a mark before it.
func TestWhatIsHiddenIsFoundInTextsAndInTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		before, hidden := some(random, random.IntN(5)), some(random, random.IntN(6))
		prompt := append(append(slices.Clone(before), Hidden), hidden...)
		want := prompt[slices.Index(prompt, Hidden)+1:]
		if got := behindIDs(prompt); !slices.Equal(got, want) {
			t.Fatalf("behind the mark of %v is %v, want %v", prompt, got, want)
		}
		if got := behindText(Spelled(prompt)); !slices.Equal(got, want) {
			t.Fatalf("behind the mark of %q is %v, want %v", Spelled(prompt), got, want)
		}
		if got := behindText(Spelled(prompt) + "x"); got != nil {
			t.Fatalf("behind the mark of %q, of which one word is not known, is %v", Spelled(prompt)+"x", got)
		}
	}
}

func TestNumbersAreSpelledInDigits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 9, 10, 11, 99, 100, 1 << 31, random.IntN(1000), random.Int()} {
		if got, want := Spelled(Number(n)), `\boxed{`+strconv.Itoa(n)+"}"; got != want {
			t.Errorf("Number(%d) is %q, want %q", n, got, want)
		}
		if got, want := Spelled(Program(n)), "```python\nprint(int(input()) + "+strconv.Itoa(n)+")\n```"; got != want {
			t.Errorf("Program(%d) is %q, want %q", n, got, want)
		}
	}
	for c := byte('A'); c <= 'J'; c++ {
		if got, want := Spelled(Letter(c)), " ANSWER: "+string(c); got != want {
			t.Errorf("Letter(%c) is %q, want %q", c, got, want)
		}
	}
}

// The text of a stream, put together, is the whole text, and its ids are those of the text: for any prompt, route and number.
func TestStreamsSayWhatWholeAnswersSay(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		o := Options{Tokens: 1 + random.IntN(20), PerWrite: random.IntN(7)}
		prompt, _ := json.Marshal(fmt.Sprint(random.Uint64()))
		path, body := "/v1/completions", fmt.Sprintf(`{"prompt":%s,"max_tokens":%d,"return_token_ids":true`, prompt, 1+random.IntN(30))
		if random.IntN(2) == 0 {
			path, body = "/v1/chat/completions", strings.Replace(body, `"prompt":`+string(prompt), fmt.Sprintf(`"messages":[{"content":"x"},{"content":%s}]`, prompt), 1)
		}
		s := New(o)
		whole := understood(t, post(t, s, path, body+"}"))
		stream := understood(t, post(t, s, path, body+`,"stream":true,"stream_options":{"include_usage":true}}`))
		if stream.text != whole.text || !slices.Equal(stream.ids, whole.ids) || stream.completion != whole.completion || stream.prompt != whole.prompt || whole.text == "" {
			t.Fatalf("%s%s: %+v streamed, %+v whole", path, body, stream, whole)
		}
		if want := len(whole.ids) + 2; stream.events != want {
			t.Fatalf("%s%s: %d events, want %d: a token each, the end and the usage", path, body, stream.events, want)
		}
	}
}

// The events of a stream are those of its route, as vLLM names them.
func TestEventsAreThoseOfTheirRoute(t *testing.T) {
	for path, c := range map[string]struct{ body, object, field string }{
		"/v1/completions":      {`{"prompt":"x"`, `"object":"text_completion"`, `"text":" token`},
		"/v1/chat/completions": {`{"messages":[{"content":"x"}]`, `"object":"chat.completion.chunk"`, `"delta":{"content":" token`},
	} {
		w := post(t, New(Options{Tokens: 4}), path, c.body+`,"stream":true}`)
		text := w.Body.String()
		if strings.Count(text, c.object) != 5 || !strings.Contains(text, c.field) || strings.Contains(text, "token_ids") || strings.Contains(text, "usage") {
			t.Errorf("%s: %s", path, text)
		}
		if kind := w.Header().Get("Content-Type"); kind != "text/event-stream; charset=utf-8" {
			t.Errorf("%s is of type %q", path, kind)
		}
	}
}

func TestAShareIsOfPromptsAndNotOfRequests(t *testing.T) {
	s := New(Options{Right: 1})
	prompt := fmt.Sprintf(`{"prompt":%s`, quoted("what"+Spelled(append([]int32{Hidden}, Number(5)...))))
	body := prompt + "}"
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if a := understood(t, post(t, s, "/v1/completions", body)); a.text != `\boxed{5}` || a.completion != 3 {
				t.Errorf("%+v", a)
			}
		})
	}
	all.Wait()
	if s.Rights() != 1 || s.Requests() != 20 || s.Open() != 0 {
		t.Errorf("%d prompts are right of %d requests, %d open", s.Rights(), s.Requests(), s.Open())
	}
	if a := understood(t, post(t, s, "/v1/completions", prompt+`,"max_tokens":2}`)); a.text != `\boxed{5` || a.completion != 2 {
		t.Errorf("cut short: %+v", a)
	}
}

func TestAFaultWithoutANameHasANumber(t *testing.T) {
	if got := Fault(200).String(); got != "fault 200" {
		t.Errorf("it is called %q", got)
	}
	if len(names) != int(Mute)+1 {
		t.Errorf("%d faults have names, want %d", len(names), int(Mute)+1)
	}
}
