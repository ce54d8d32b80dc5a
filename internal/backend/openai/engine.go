package openai

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
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
	Route     string // Auto, Chat or Completions; empty: Auto

	Stream      bool // answers come in pieces
	Exact       bool // answers are as long as their limit, where the server can do that
	Concurrency int  // prompts under way at once, at most; 0: any number
	Retries     int  // how often a prompt is sent again that failed before its first token
	Warm        int  // connections to each server that are made before the first prompt

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
	if c.Route != Auto && c.Route != Chat && c.Route != Completions {
		return nil, userinput.Invalid("route", c.Route, Auto+", "+Chat+" or "+Completions)
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
	began := time.Now()
	s := &session{config: e.config, servers: e.servers, texts: o.Texts, stats: newStats(), model: e.config.Model}
	if err := s.warm(ctx); err != nil {
		return nil, err
	}
	var notes []string
	if s.model == "" {
		var err error
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
	if s.dialect.ids {
		facts["prompts"] = "token ids"
	}
	if s.config.Stream {
		facts["answers"] = "streamed"
	}
	if from := s.servers.keyFrom; from != "" {
		facts["key"] = "from " + from
	}
	s.info = backend.Info{Engine: Name, Facts: facts, Devices: []backend.DeviceUse{{Device: "endpoint", Nodes: -1}}, LoadTime: time.Since(began)}
	return s, nil
}

// warm makes the connections, all at the same time so that each request needs one of its own, and fails if a server is not
// there or refuses the key.
func (s *session) warm(ctx context.Context) error {
	limit := min(s.config.Timeout, 3*connectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, failf(kindTimeout, "no answer within %v", limit))
	defer cancel()
	var all []*server
	for _, one := range s.servers.list {
		all = append(all, slices.Repeat([]*server{one}, max(1, s.config.Warm))...)
	}
	responses, errs := make([]*http.Response, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, server := range all {
		group.Go(func() { responses[i], errs[i] = s.getModels(ctx, server) })
	}
	group.Wait()
	for i, r := range responses {
		if r == nil {
			errs[i] = fmt.Errorf("%s: %w", all[i].url, errs[i])
			continue
		}
		if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden {
			errs[i] = fmt.Errorf("%s: %w", all[i].url, statusFailure(r.StatusCode, s.complaint(r.Body)))
		}
		_, _ = io.CopyN(io.Discard, r.Body, maxRest)
		_ = r.Body.Close()
	}
	return cmp.Or(errs...) // the first: the others say the same
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
