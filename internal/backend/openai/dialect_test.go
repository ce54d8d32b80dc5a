package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestRequestHasWhatTheServerUnderstands(t *testing.T) {
	prompt := backend.Prompt{Text: "a\"\n<é>", IDs: []int32{1, 2}, MaxTokens: 7, MinTokens: 3, Exact: true, Stop: "\x00."}
	talk := backend.Prompt{Messages: []backend.Message{{Role: "system", Content: "be"}, {Role: "user", Content: "brief"}}}
	for name, c := range map[string]struct {
		dialect dialect
		stream  bool
		texts   backend.Texts
		prompt  backend.Prompt
		want    string
	}{
		"least": {dialect{}, false, backend.Texts{}, backend.Prompt{Text: "x"}, `{"model":"m","prompt":"x","temperature":0.0}`},
		"all": {dialect{extras: true, usage: true}, true, backend.Texts{Temperature: 0.7, KeepSpecial: true, Logged: true}, prompt,
			`{"model":"m","prompt":"a\"\n<é>","temperature":0.7,"max_tokens":7,"stream":true,"stream_options":{"include_usage":true},"stop":"\u0000.","min_tokens":3,"ignore_eos":true,"skip_special_tokens":false,"return_token_ids":true}`},
		"no extras":    {dialect{}, true, backend.Texts{KeepSpecial: true, Logged: true}, prompt, `{"model":"m","prompt":"a\"\n<é>","temperature":0.0,"max_tokens":7,"stream":true,"stop":"\u0000."}`},
		"token ids":    {dialect{ids: true}, false, backend.Texts{}, prompt, `{"model":"m","prompt":[1,2],"temperature":0.0,"max_tokens":7,"stop":"\u0000.","return_token_ids":true}`},
		"no token ids": {dialect{ids: true}, false, backend.Texts{}, backend.Prompt{Text: "x"}, `{"model":"m","prompt":"x","temperature":0.0,"return_token_ids":true}`},
		"chat": {dialect{chat: true, newLimit: true}, false, backend.Texts{}, prompt,
			`{"model":"m","messages":[{"role":"user","content":"a\"\n<é>"}],"temperature":0.0,"max_completion_tokens":7,"stop":"\u0000."}`},
		"messages": {dialect{chat: true}, false, backend.Texts{}, talk, `{"model":"m","messages":[{"role":"system","content":"be"},{"role":"user","content":"brief"}],"temperature":0.0}`},
		"as mlcommons/endpoints": {dialect{chat: true, newLimit: true}, true, backend.Texts{OnlyOfficial: true, Seed: 42},
			backend.Prompt{Messages: talk.Messages, MaxTokens: 9, Tools: []byte(`[{"b":1,"a":"é"}]`), ToolChoice: []byte(`"auto"`)},
			`{"model":"m","messages":[{"role":"system","content":"be"},{"role":"user","content":"brief"}],"temperature":0.0,"max_completion_tokens":9,"stream":true,"seed":42,"tools":[{"b":1,"a":"é"}],"tool_choice":"auto"}`},
		"messages as a text": {dialect{}, false, backend.Texts{}, talk, `{"model":"m","prompt":"be\nbrief","temperature":0.0}`},
	} {
		s := &session{config: Config{Stream: c.stream}, servers: &servers{}, model: "m", dialect: c.dialect, texts: c.texts}
		if got, err := s.body(&c.prompt); err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, got, c.want)
		}
	}
}

// A server that takes no temperature gets none, and the result says so.
func TestTemperatureIsRefused(t *testing.T) {
	for _, message := range []string{"Unsupported value: 'temperature' does not support 0 with this model.", "`temperature` is deprecated for this model."} {
		answer := answering(typeWhole, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)
		_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "temperature") {
				http.Error(w, `{"error":{"message":"`+message+`"}}`, http.StatusBadRequest)
				return
			}
			if strings.Contains(string(body), "max_tokens") {
				http.Error(w, `{"error":{"message":"use max_completion_tokens"}}`, http.StatusBadRequest)
				return
			}
			answer.ServeHTTP(w, r)
		}))
		c.Stream, c.Route = false, Chat
		g, notes, err := open(t, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, g, backend.Prompt{Text: "x", MaxTokens: 3}); err != nil {
			t.Error(err)
		}
		if got := g.Info().Facts["temperature"]; got != "the server's" || !strings.Contains(strings.Join(notes, "\n"), "takes no temperature") {
			t.Errorf("temperature is %s, notes %q", got, notes)
		}
	}
}

// A model of texts that ignores pictures is noticed by the number of tokens, if the server tells it.
func TestIgnoredPictures(t *testing.T) {
	for name, c := range map[string]struct {
		with, without, want string
	}{
		"ignored":      {`,"usage":{"prompt_tokens":9,"completion_tokens":1}`, `,"usage":{"prompt_tokens":9,"completion_tokens":1}`, "9 tokens in a prompt with a picture"},
		"taken":        {`,"usage":{"prompt_tokens":73,"completion_tokens":1}`, `,"usage":{"prompt_tokens":9,"completion_tokens":1}`, ""},
		"not counted":  {"", "", ""},
		"counted as 0": {`,"usage":{"prompt_tokens":0,"completion_tokens":1}`, `,"usage":{"prompt_tokens":0,"completion_tokens":1}`, ""},
		"refused":      {"refuse", `,"usage":{"prompt_tokens":9,"completion_tokens":1}`, ""},
	} {
		_, config := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			usage := c.without
			if strings.Contains(string(body), "image_url") {
				usage = c.with
			}
			if usage == "refuse" {
				http.Error(w, "no pictures", http.StatusBadRequest)
				return
			}
			answering(typeWhole, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]`+usage+`}`).ServeHTTP(w, r)
		}))
		config.Stream = false
		config.texts = backend.Texts{ChatOnly: true, OnlyOfficial: true, Pictured: []backend.Message{{Role: "user", Content: "What is it?",
			Raw: []byte(`{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`)}}}
		_, _, err := open(t, config)
		if (err == nil) != (c.want == "") || err != nil && !testenv.Tells(err.Error(), config.URLs[0]+" … "+c.want+" … must") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestDialectsAreTriedFromThePreferredOneOn(t *testing.T) {
	show := func(list []dialect) string {
		var names []string
		for _, d := range list {
			name := "-"
			for i, on := range []bool{d.chat, d.ids, d.extras, d.usage, d.newLimit} {
				if on {
					name += "cixun"[i : i+1]
				}
			}
			names = append(names, name)
		}
		return strings.Join(names, " ")
	}
	for name, c := range map[string]struct {
		config Config
		texts  backend.Texts
		want   string
	}{
		"whole":                         {Config{}, backend.Texts{}, "- -c -cn"},
		"streamed":                      {Config{Stream: true}, backend.Texts{}, "-u - -cu -cun -c -cn"},
		"token ids":                     {Config{}, backend.Texts{IDs: true}, "-i - -c -cn"},
		"of a length":                   {Config{Exact: true, Route: Completions}, backend.Texts{}, "-x -"},
		"logged":                        {Config{Route: Chat}, backend.Texts{Logged: true}, "-cx -cxn -c -cn"},
		"a conversation":                {Config{}, backend.Texts{Chat: true}, "-c -cn"},
		"a conversation, or token ids":  {Config{}, backend.Texts{Chat: true, IDs: true}, "-i -c -cn"},
		"a conversation as completions": {Config{Route: Completions}, backend.Texts{Chat: true, IDs: true}, "-i -"},
		"the address is that of chat":   {Config{Route: Completions, URLs: []string{"http://h/v1/chat/completions"}}, backend.Texts{}, "-c -cn"},
		"the address of completions":    {Config{URLs: []string{"http://h/v1/completions"}}, backend.Texts{}, "-"},
	} {
		if c.config.URLs == nil {
			c.config.URLs = []string{"http://h"}
		}
		servers, err := openServers(c.config)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{config: c.config, servers: servers, texts: c.texts}
		if got := show(s.dialects()); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
