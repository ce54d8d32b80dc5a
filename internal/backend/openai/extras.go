package openai

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Extras are what a user adds to each request.
type Extras struct {
	Headers []string // NAME: VALUE, or NAME: @FILE, whose content stays out of all results
	Body    []string // NAME=VALUE with a value of JSON or a text, or an object of JSON
}

// extras are Extras that were read.
type extras struct {
	header  http.Header
	body    map[string]any
	secrets []string          // values of files
	shown   map[string]string // for results
}

// The parts of a request that a run sets itself. Temperature may be another one.
var (
	ownHeaders = []string{"Authorization", "Content-Type", "Content-Length", "Accept-Encoding", "Host", "Connection", "Transfer-Encoding"}
	ownFields  = []string{"model", "prompt", "messages", "max_tokens", "max_completion_tokens", "stop", "min_tokens", "ignore_eos",
		"skip_special_tokens", "return_token_ids", "stream", "stream_options"}
)

// secretParts are parts of the names of headers that have credentials.
var secretParts = []string{"auth", "key", "token", "secret", "cookie", "password", "credential"}

const temperature = "temperature"

// read reads the headers and fields.
func (e Extras) read() (x extras, err error) {
	x = extras{header: http.Header{}, shown: map[string]string{}}
	for _, text := range e.Headers {
		if err := x.addHeader(text); err != nil {
			return x, err
		}
	}
	for _, text := range e.Body {
		fields := map[string]any{}
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			if err := json.Unmarshal([]byte(text), &fields); err != nil {
				return x, userinput.Errorf("extra_body", "%q is not an object of JSON: %w", text, err)
			}
		} else {
			name, value, ok := strings.Cut(text, "=")
			if !ok || name == "" {
				return x, userinput.Errorf("extra_body", "%q: must be NAME=VALUE, or an object of JSON", text)
			}
			var parsed any = value
			if json.Unmarshal([]byte(value), &parsed) != nil {
				parsed = value // a text without its quotes
			}
			fields[name] = parsed
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if slices.Contains(ownFields, name) {
				return x, userinput.Errorf("extra_body", "%s is set by the run itself", name)
			}
			if x.body == nil {
				x.body = map[string]any{}
			}
			x.body[name] = fields[name]
			shown, _ := json.Marshal(fields[name]) // it was JSON
			x.shown["body "+name] = string(shown)
		}
	}
	return x, nil
}

func (x *extras) addHeader(text string) error {
	name, value, ok := strings.Cut(text, ":")
	name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	file, secret := strings.CutPrefix(value, "@")
	switch {
	case !ok || !httpguts.ValidHeaderFieldName(name):
		return userinput.Errorf("header", "%q: must be NAME: VALUE, or NAME: @FILE", text)
	case name == "Authorization":
		return userinput.Errorf("header", "%s: the key of a server is given by token_file or the environment", name)
	case slices.Contains(ownHeaders, name):
		return userinput.Errorf("header", "%s is set by the run itself", name)
	case !secret && slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(strings.ToLower(name), part) }):
		return userinput.Errorf("header",
			"%s looks like a credential, which the command line and the results would show: put its value into a file, %[1]s: @FILE", name)
	}
	x.shown["header "+name] = value
	if secret {
		key, err := credentials.ReadKey(file)
		if of := (*userinput.Error)(nil); errors.As(err, &of) {
			err = of.Err // which is of another field
		}
		if err != nil {
			return userinput.Errorf("header", "%s: %w", name, err)
		}
		value, x.secrets = key, append(x.secrets, key)
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return userinput.Errorf("header", "%s has characters that no header can have", name)
	}
	x.header.Add(name, value)
	return nil
}
