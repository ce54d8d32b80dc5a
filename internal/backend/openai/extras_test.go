package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Headers and fields of the user are in each request. The results have them, but for the contents of files, which no text of a server can
// bring in either.
func TestExtrasAreSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("s3cret-0815\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := tokenserver.New(tokenserver.Options{})
		asked := 0
		_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Team") != "perf" || r.Header.Get("Api-Key") != "s3cret-0815" {
				t.Errorf("%s has %v", r.URL, r.Header)
			}
			if r.Method == http.MethodPost {
				text, err := io.ReadAll(r.Body)
				var body map[string]any
				if err = errors.Join(err, json.Unmarshal(text, &body)); err != nil || body["top_k"] != 5.0 || body["user"] != "a b" || body["temperature"] != 0.7 || body["model"] != "m" {
					t.Errorf("%s, %v", text, err)
				}
				asked++
				r.Body = io.NopCloser(strings.NewReader(string(text)))
			}
			server.ServeHTTP(w, r)
		}))
		c.Extras = Extras{Headers: []string{"x-team: perf", "api-key: @" + file}, Body: []string{"top_k=5", `{"user": "a b"}`, "temperature=0.7"}}
		g, _, err := open(t, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, g, backend.Prompt{Text: "once", MaxTokens: 3}); err != nil || asked < 2 {
			t.Errorf("%d requests, %v", asked, err)
		}
		facts := g.(backend.Session).Info().Facts
		for name, want := range map[string]string{"header X-Team": "perf", "header Api-Key": "@" + file, "body top_k": "5", "body user": `"a b"`} {
			if facts[name] != want {
				t.Errorf("the result has %s %q, want %q", name, facts[name], want)
			}
		}
		if text := g.(*session).quote("the key s3cret-0815 is wrong"); strings.Contains(text, "s3cret") {
			t.Error(text)
		}
	})
}

func TestExtrasThatAreRefused(t *testing.T) {
	for text, e := range map[string]Extras{
		`header: "x": must be NAME: VALUE`:                 {Headers: []string{"x"}},
		`header: "a b: c": must be NAME`:                   {Headers: []string{"a b: c"}},
		"header: X has characters that no header":          {Headers: []string{"x: a\nb"}},
		"header: Authorization: the key of a server":       {Headers: []string{"authorization: Bearer x"}},
		"header: Host is set by the run itself":            {Headers: []string{"host: x"}},
		"header: X-Api-Key looks like a credential":        {Headers: []string{"x-api-key: x"}},
		"header: X-Api-Key: stat /nowhere":                 {Headers: []string{"x-api-key: @/nowhere"}},
		`extra_body: "x": must be NAME=VALUE`:              {Body: []string{"x"}},
		`extra_body: "{x" is not an object of JSON: inval`: {Body: []string{"{x"}},
		"extra_body: stream is set by the run itself":      {Body: []string{"stream=false"}},
	} {
		_, err := New(Config{URLs: []string{"http://h"}, Extras: e})
		var f *userinput.Error
		if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%+v: %v, want %s", e, err, text)
		}
	}
}
