package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/endpoint"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestARequestSaysWhatTheServerUnderstands(t *testing.T) {
	prompt := backend.Prompt{Text: "a\"\n<é>", IDs: []int32{1, 2}, MaxTokens: 7, MinTokens: 3, Exact: true, Stop: "\x00."}
	talk := backend.Prompt{Messages: []backend.Message{{Role: "system", Content: "be"}, {Role: "user", Content: "brief"}}}
	for _, c := range []struct {
		name    string
		dialect dialect
		stream  bool
		texts   backend.Texts
		prompt  backend.Prompt
		want    string
	}{
		{"least", dialect{}, false, backend.Texts{}, backend.Prompt{Text: "x"}, `{"model":"m","prompt":"x","temperature":0}`},
		{"all of a text", dialect{extras: true, usage: true}, true, backend.Texts{Temperature: 0.7, KeepSpecial: true, Logged: true}, prompt,
			`{"model":"m","prompt":"a\"\n<é>","max_tokens":7,"temperature":0.7,"stop":"\u0000.","min_tokens":3,"ignore_eos":true,"skip_special_tokens":false,"return_token_ids":true,"stream":true,"stream_options":{"include_usage":true}}`},
		{"no extras", dialect{}, true, backend.Texts{KeepSpecial: true, Logged: true}, prompt, `{"model":"m","prompt":"a\"\n<é>","max_tokens":7,"temperature":0,"stop":"\u0000.","stream":true}`},
		{"token ids", dialect{ids: true}, false, backend.Texts{}, prompt, `{"model":"m","prompt":[1,2],"max_tokens":7,"temperature":0,"stop":"\u0000.","return_token_ids":true}`},
		{"token ids of which there are none", dialect{ids: true}, false, backend.Texts{}, backend.Prompt{Text: "x"}, `{"model":"m","prompt":"x","temperature":0,"return_token_ids":true}`},
		{"a conversation", dialect{chat: true, newLimit: true}, false, backend.Texts{}, prompt,
			`{"model":"m","messages":[{"role":"user","content":"a\"\n<é>"}],"max_completion_tokens":7,"temperature":0,"stop":"\u0000."}`},
		{"messages", dialect{chat: true}, false, backend.Texts{}, talk, `{"model":"m","messages":[{"role":"system","content":"be"},{"role":"user","content":"brief"}],"temperature":0}`},
		{"messages as a text", dialect{}, false, backend.Texts{}, talk, `{"model":"m","prompt":"be\nbrief","temperature":0}`},
	} {
		s := &session{config: Config{Stream: c.stream}, model: "m", dialect: c.dialect, texts: c.texts}
		var got, want any
		body := s.body(&c.prompt)
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v: %s", c.name, err, body)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s, want %s", c.name, body, c.want)
		}
	}
}

func TestRoutesStandBehindTheAddressOfTheServer(t *testing.T) {
	for url, want := range map[string][3]string{
		"http://host":                         {"/v1/completions", "/v1/chat/completions", "/v1/models"},
		"http://host/":                        {"/v1/completions", "/v1/chat/completions", "/v1/models"},
		"http://host/v1/":                     {"/v1/completions", "/v1/chat/completions", "/v1/models"},
		"http://host/openai/v1":               {"/openai/v1/completions", "/openai/v1/chat/completions", "/openai/v1/models"},
		"http://host/openai/chat/completions": {"/openai/completions", "/openai/chat/completions", "/openai/models"},
		"http://host/openai/v1/completions":   {"/openai/v1/completions", "/openai/v1/chat/completions", "/openai/v1/models"},
		"http://host/a%20b":                   {"/a%20b/completions", "/a%20b/chat/completions", "/a%20b/models"},
	} {
		servers, err := endpoint.Open(endpoint.Options{URLs: []string{url}})
		if err != nil {
			t.Fatal(err)
		}
		server := servers.List()[0]
		if got := [3]string{address(server, false), address(server, true), modelsAddress(server)}; got != [3]string{"http://host" + want[0], "http://host" + want[1], "http://host" + want[2]} {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}

func TestDialectsAreTriedFromTheWantedOneOn(t *testing.T) {
	show := func(list []dialect) string {
		var b strings.Builder
		for _, d := range list {
			for _, c := range []struct {
				on   bool
				name byte
			}{{d.chat, 'c'}, {d.ids, 'i'}, {d.extras, 'x'}, {d.usage, 'u'}, {d.newLimit, 'n'}} {
				if c.on {
					b.WriteByte(c.name)
				}
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	for _, c := range []struct {
		name   string
		config Config
		texts  backend.Texts
		path   string
		want   string
	}{
		{"texts, whole", Config{}, backend.Texts{}, "", " c cn "},
		{"texts, streamed", Config{Stream: true}, backend.Texts{}, "", "u  cu cun c cn "},
		{"token ids", Config{}, backend.Texts{IDs: true}, "", "i  c cn "},
		{"of a length", Config{Exact: true, Route: Completions}, backend.Texts{}, "", "x  "},
		{"logged", Config{Route: Chat}, backend.Texts{Logged: true}, "", "cx cxn c cn "},
		{"a conversation", Config{}, backend.Texts{Chat: true}, "", "c cn "},
		{"a conversation with token ids", Config{}, backend.Texts{Chat: true, IDs: true}, "", "i c cn "},
		{"a conversation that must be a text", Config{Route: Completions}, backend.Texts{Chat: true}, "", " "},
		{"a conversation that must be token ids or a text", Config{Route: Completions}, backend.Texts{Chat: true, IDs: true}, "", "i  "},
		{"an address for chat", Config{Route: Completions}, backend.Texts{}, "/v1/chat/completions", "c cn "},
		{"an address for texts", Config{}, backend.Texts{}, "/v1/completions", " "},
	} {
		s := &session{config: c.config, texts: c.texts}
		if got := show(s.dialects(c.path)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAConfigurationIsCheckedBeforeAnybodyIsAsked(t *testing.T) {
	servers := endpoint.Options{URLs: []string{"http://host"}}
	for _, c := range []struct {
		name        string
		config      Config
		field, want string
	}{
		{"an unknown route", Config{Servers: servers, Route: "talk"}, "route", "auto, chat or completions"},
		{"no server", Config{}, "endpoint", "want the address"},
	} {
		_, err := New(c.config)
		var f *userinput.Error
		if !errors.As(err, &f) || f.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s: %s", c.name, err, c.field, c.want)
		}
	}
	e, err := New(Config{Servers: servers})
	if err != nil || e.config.Route != Auto || e.config.Timeout != 10*time.Minute || e.config.Quiet != 2*time.Minute || e.Name() != "openai" {
		t.Errorf("%+v, %v", e, err)
	}
	if in, out, err := e.Ports(t.Context(), backend.Options{}); in != nil || out != nil || err != nil {
		t.Errorf("an endpoint has the ports %v and %v, %v", in, out, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestNumbersAreThoseOfJSON(t *testing.T) {
	for _, text := range []string{"0", "-0", "1", "-1", "10", "01", "-01", "1.5", "1.", ".5", "-.5", "1e5", "1E+5", "1e-5", "1e", "1e+", "1.5e5", "1.e5", "-", "", "+1", "0x1", "1_0", "1e5.5", "NaN", "1 "} {
		if got, want := isNumber([]byte(text)), json.Valid([]byte(text)) && strings.TrimSpace(text) == text; got != want {
			t.Errorf("isNumber(%q) = %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]int{"0": 0, "7": 7, "0012": 12, "1099511627776": 1 << 40, "": -1, "-1": -1, "1.0": -1, "1e3": -1, "99999999999999999999": -1, "x": -1} {
		if got := whole([]byte(text)); got != want {
			t.Errorf("whole(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestReasonsAndFailuresAreBoundedInNumber(t *testing.T) {
	s := newStats()
	for i := range 2 * mostNames {
		s.fail(failf(fmt.Sprintf("kind %02d", i), "first"))
		s.answered(&call{finish: fmt.Sprint(i), counted: countedIDs, tokens: 2}, time.Second)
	}
	s.fail(failf("kind 03", "second"))
	s.fail(failf(kindEnded, "ctrl-c"))
	m := s.measured()
	if len(m.Failures) != mostNames+1 || m.Failures[0].Kind != others || m.Failures[0].Count != mostNames || m.Failures[1].Kind != "kind 03" || m.Failures[1].Count != 2 || m.Failures[1].First != "first" {
		t.Errorf("%d kinds of failures: %+v", len(m.Failures), m.Failures[:2])
	}
	if len(m.Finished) != mostNames+1 || m.Finished[others] != mostNames || m.Answers != 2*mostNames || m.Tokens != 4*mostNames || m.Counted != countedIDs {
		t.Errorf("%d reasons to end: %+v", len(m.Finished), m)
	}
	s.answered(&call{counted: countedByServer}, time.Second)
	if got, want := s.measured().Counted, fmt.Sprintf("%s (%d answers); %s (1 answers)", countedIDs, 2*mostNames, countedByServer); got != want {
		t.Errorf("counted by %q, want %q", got, want)
	}
	s.reset()
	if m := s.measured(); m.Answers != 0 || len(m.Failures) != 0 || m.Counted != "" || m.FirstToken.Count != 0 {
		t.Errorf("after a reset: %+v", m)
	}
}
