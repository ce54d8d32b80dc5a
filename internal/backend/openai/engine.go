package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Config says which servers are asked, and how. The zero value of every field but URLs is useful. Errors about it are
// *userinput.Errors.
type Config struct {
	URLs      []string // of the servers: http or https, with a path before the routes or without
	TokenFile string   // file with the key; empty: TokenEnv
	TokenEnv  []string // environment variables: the first that is set has the key
	TLS       credentials.TLS
	Model     string // as the servers call it; empty: the only one that they have
	Route     string // Auto, Chat, Completions, Embeddings or Rerank; empty: Auto
	Extras    Extras // beside what the run itself sends

	Stream      bool // answers come in pieces
	Exact       bool // answers are as long as their limit, where the server can do that
	Concurrency int  // prompts under way at once, at most; 0: any number
	Retries     int  // how often a prompt is sent again that failed before its first token
	// Once sends no request again if the server closes a connection that was open before, and has not begun its answer. Otherwise it goes out
	// on a new connection, once: servers close connections that they call alive (llama.cpp after each stream, vLLM after five idle seconds).
	Once bool
	Warm int // connections to each server that are made before the first prompt

	// Cancel is the share of the requests of a test whose answers are given up CancelAfter sending, as users do who leave. Which
	// ones follows from their number. Only requests that are traced (backend.Tracer) are given up.
	Cancel      float64
	CancelAfter time.Duration

	Timeout time.Duration // for a whole answer; 0: 10 minutes
	Quiet   time.Duration // between two pieces of an answer; 0: 2 minutes

	// Dial connects instead of the network; for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

// The routes.
const (
	Auto        = "auto"
	Chat        = "chat"
	Completions = "completions"
)

// Name is how users call the engine.
const Name = "openai"

type engine struct {
	config  Config
	servers *servers
}

// New reads the files that the configuration names, and returns the engine. It connects to nothing.
func New(c Config) (backend.Engine, error) {
	c.Route = cmp.Or(c.Route, Auto)
	if c.Route != Auto && c.Route != Chat && c.Route != Completions && !IsTask(c.Route) {
		return nil, userinput.Invalid("route", c.Route, strings.Join([]string{Auto, Chat, Completions, Embeddings}, ", ")+" or "+Rerank)
	}
	c.Timeout, c.Quiet = cmp.Or(c.Timeout, 10*time.Minute), cmp.Or(c.Quiet, 2*time.Minute)
	s, err := openServers(c)
	if err != nil {
		return nil, err
	}
	return &engine{config: c, servers: s}, nil
}

func (*engine) Name() string { return Name }

// Ports returns none: prompts and answers are text.
func (*engine) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return nil, nil, nil
}

func (e *engine) Close() error {
	e.servers.client.CloseIdleConnections()
	return nil
}

// Open connects to the servers and finds out what they understand. Of the options it uses Texts and Note.
func (e *engine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	began := clock.Now()
	s := &session{config: e.config, servers: e.servers, texts: o.Texts, stats: newStats(), model: e.config.Model}
	if o.Texts.Videos {
		s.config.Route, s.config.Stream = Videos, false
	}
	notes, err := s.warm(ctx)
	if err != nil {
		return nil, err
	}
	if s.model == "" && !o.Texts.Videos { // requests for videos name no model
		if s.model, err = s.onlyModel(ctx); err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("the server has one model, %s", s.quote(s.model)))
	}
	differences, err := s.probe(ctx)
	if err != nil {
		return nil, err
	}
	notes = append(notes, differences...)
	if err := s.checkPictures(ctx); err != nil {
		return nil, err
	}
	for _, server := range s.servers.list {
		if server.proxy != "" {
			notes = append(notes, fmt.Sprintf("requests to %s go through the proxy %s of the environment: all latencies include it", server.url, server.proxy))
		}
	}
	if o.Note != nil {
		for _, note := range notes {
			o.Note(note)
		}
	}
	s.Reset()
	facts := map[string]string{ // what it takes to send the same requests again
		"endpoint_model": s.servers.redact(s.model), "route": Completions, "prompts": "text", "answers": "whole",
		"request_timeout": s.config.Timeout.String(), "temperature": strconv.FormatFloat(s.texts.Temperature, 'g', -1, 64), "key": "none",
	}
	if s.dialect.chat {
		facts["route"] = Chat
	}
	if route := s.config.Route; IsTask(route) {
		facts["route"] = route
		delete(facts, "temperature")
	}
	if s.dialect.hot {
		facts["temperature"] = "the server's"
	}
	if s.dialect.ids {
		facts["prompts"] = "token ids"
	}
	if s.config.Stream {
		facts["answers"] = "streamed"
	}
	if from := s.servers.keyFrom; from != "" {
		facts["key"] = "from " + from
	}
	maps.Copy(facts, s.servers.extras.shown)
	s.info = backend.Info{Engine: Name, Facts: facts, Devices: []backend.DeviceUse{{Device: "endpoint", Nodes: -1}}, LoadTime: clock.Since(began)}
	return s, nil
}

const (
	// connectAtOnce is how many connections are opened to a server at the same time: some have room for five that wait.
	connectAtOnce = 4
	// connectRetries is how often a further connection is tried again: after firstPause, and then twice as long each time.
	connectRetries = 5
	// connectPatience bounds the wait for a further connection, beside four times as long as the first took.
	connectPatience = 3 * time.Second
)

// warm makes the connections, and fails if a server is not there or refuses the key. The notes name servers that took fewer
// than wanted.
func (s *session) warm(ctx context.Context) (notes []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	list, want := s.servers.list, max(1, s.config.Warm)
	opened, errs := make([]int, len(list)), make([]error, len(list))
	var group sync.WaitGroup
	for i, server := range list {
		group.Go(func() {
			if opened[i], errs[i] = s.connect(ctx, server, want); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", server.url, errs[i])
			}
		})
	}
	group.Wait()
	for i, n := range opened {
		if errs[i] == nil && n < want {
			notes = append(notes, fmt.Sprintf("%s took %d of %d connections: more of them are opened during the test, and count as its latency",
				list[i].url, n, want))
		}
	}
	return notes, cmp.Or(errs...) // the first: the others say the same
}

// connect makes connections to a server, at most so many, and returns their number. The first must come; it goes on with
// further ones until one does not. The answers are read when all are there, so that each request needs a connection of its own.
func (s *session) connect(ctx context.Context, server *server, want int) (int, error) {
	began := clock.Now()
	first, err := s.openConnection(ctx, server, min(s.config.Timeout, 3*backend.ConnectTimeout), 0)
	if err != nil {
		return 0, err
	}
	open := []*http.Response{first}
	defer func() {
		for _, r := range open {
			_, _ = io.CopyN(io.Discard, r.Body, maxRest)
			_ = r.Body.Close()
		}
	}()
	if first.StatusCode == http.StatusUnauthorized || first.StatusCode == http.StatusForbidden {
		return 0, statusFailure(first.StatusCode, s.complaint(first.Body))
	}
	patience := connectPatience + 4*clock.Since(began)
	for all := true; all && len(open) < want; {
		more := make([]*http.Response, min(connectAtOnce, want-len(open)))
		var group sync.WaitGroup
		for i := range more {
			group.Go(func() { more[i], _ = s.openConnection(ctx, server, patience, connectRetries) })
		}
		group.Wait()
		for _, r := range more {
			if all = all && r != nil; r != nil {
				open = append(open, r)
			}
		}
	}
	return len(open), nil
}

// openConnection asks a server for its models. It waits so long for the head of the answer, and tries again so often if the
// connection is refused. The body may be read as long as ctx lasts.
func (s *session) openConnection(ctx context.Context, server *server, patience time.Duration, retries int) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(patience, func() { cancel(failf(kindTimeout, "no answer within %v", patience)) })
	defer late.Stop()
	for pause := firstPause; ; pause *= 2 {
		r, err := s.getModels(ctx, server)
		if err == nil {
			return r, nil
		}
		var f *failure
		if retries--; retries < 0 || !errors.As(err, &f) || !f.again {
			cancel(err)
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, transportFailure(ctx, ctx.Err())
		}
	}
}

// getModels asks a server for the list of its models.
func (s *session) getModels(ctx context.Context, server *server) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.root+modelsRoute, nil)
	if err != nil {
		return nil, err
	}
	s.servers.setHeaders(request.Header)
	r, err := s.servers.client.Do(request)
	if err != nil {
		return nil, s.redacted(transportFailure(ctx, err))
	}
	return r, nil
}

// onlyModel returns the name of the model that the first server has.
func (s *session) onlyModel(ctx context.Context) (string, error) {
	server := s.servers.list[0]
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	r, err := s.getModels(ctx, server)
	if err == nil {
		defer r.Body.Close()
		var text []byte
		if r.StatusCode != http.StatusOK {
			err = statusFailure(r.StatusCode, s.complaint(r.Body))
		} else if text, err = io.ReadAll(io.LimitReader(r.Body, maxWhole)); err == nil && json.Unmarshal(text, &models) != nil {
			err = fmt.Errorf("it answers %s", s.quote(string(text)))
		}
	}
	var names []string
	for _, m := range models.Data {
		names = append(names, m.ID)
	}
	switch {
	case err != nil:
		return "", userinput.Missing("model_name", fmt.Sprintf("%s did not list its models: %v", server.url, err))
	case len(names) == 0:
		return "", userinput.Missing("model_name", fmt.Sprintf("%s has no models", server.url))
	case len(names) > 1:
		return "", userinput.Missing("model_name", s.quote(fmt.Sprintf("%s has %s", server.url, strings.Join(names, ", "))))
	}
	return names[0], nil
}
