package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/endpoint"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Config says which servers are asked, and how. The zero value of every field but Servers is
// useful.
type Config struct {
	Servers endpoint.Options
	Model   string // as the servers call it; empty: the only one that they have
	Route   string // Auto, Chat or Completions; empty: Auto

	Stream      bool // answers come in pieces
	Exact       bool // answers should be as long as their limit, where the server does that
	Concurrency int  // prompts under way at once, at most; 0: any number
	Retries     int  // how often a prompt is sent again that failed before its first token
	Warm        int  // connections to each server that are made before the first prompt

	Timeout time.Duration // for a whole answer; 0: DefaultTimeout
	Quiet   time.Duration // between two pieces; 0: DefaultQuiet
}

// The routes.
const (
	Auto        = "auto"
	Chat        = "chat"
	Completions = "completions"
)

const (
	// DefaultTimeout is how long a whole answer may take.
	DefaultTimeout = 10 * time.Minute
	// DefaultQuiet is how long an answer that has begun may pause.
	DefaultQuiet = 2 * time.Minute
)

// Name is how users call the engine.
const Name = "openai"

// An Engine opens endpoints.
type Engine struct {
	config  Config
	servers *endpoint.Servers
}

// New reads the files that the configuration names. It connects to nothing.
func New(c Config) (*Engine, error) {
	c.Route = cmp.Or(c.Route, Auto)
	if c.Route != Auto && c.Route != Chat && c.Route != Completions {
		return nil, userinput.Invalid("route", c.Route, Auto+", "+Chat+" or "+Completions)
	}
	c.Timeout, c.Quiet = cmp.Or(c.Timeout, DefaultTimeout), cmp.Or(c.Quiet, DefaultQuiet)
	servers, err := endpoint.Open(c.Servers)
	if err != nil {
		return nil, err
	}
	return &Engine{config: c, servers: servers}, nil
}

// Name implements backend.Engine.
func (*Engine) Name() string { return Name }

// Ports implements backend.Engine: an endpoint has none.
func (*Engine) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return nil, nil, nil
}

// Close implements backend.Engine.
func (e *Engine) Close() error { return e.servers.Close() }

// Open finds out what the servers understand, and makes connections to them. Of the options it
// uses what they say of texts, and who is told notes.
func (e *Engine) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	began := time.Now()
	s := &session{config: e.config, servers: e.servers, texts: o.Texts, stats: newStats(), watch: newWatch(e.config.Timeout, e.config.Quiet), model: e.config.Model}
	s.calls.New = func() any { return &call{} }
	notes, err := s.introduce(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if o.Note != nil {
		for _, note := range notes {
			o.Note(note)
		}
	}
	s.Reset()
	s.info = backend.Info{Engine: Name, Facts: s.facts(), Devices: []backend.DeviceUse{{Device: "endpoint", Nodes: -1}}, LoadTime: time.Since(began)}
	return s, nil
}

// introduce does all that comes before the first prompt that counts.
func (s *session) introduce(ctx context.Context) (notes []string, err error) {
	if err := s.warm(ctx, max(1, s.config.Warm)); err != nil {
		return nil, err
	}
	if s.model == "" {
		if s.model, err = s.onlyModel(ctx); err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("the server has one model, %s", s.quote(s.model)))
	}
	more, err := s.probe(ctx)
	return slices.Concat(notes, more, s.detours()), err
}

// detours say which servers are reached through others.
func (s *session) detours() (notes []string) {
	for _, server := range s.servers.List() {
		if proxy := s.servers.Proxy(server); proxy != "" {
			notes = append(notes, fmt.Sprintf("requests to %s go through the proxy %s, as the environment says: its time is in all numbers", server, proxy))
		}
	}
	return notes
}

// facts say what somebody needs to ask the same once more.
func (s *session) facts() map[string]string {
	facts := map[string]string{
		"endpoint_model": s.servers.Redact(s.model), "route": Completions, "prompts": "text", "answers": "whole",
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
	if from := s.servers.KeyFrom(); from != "" {
		facts["key"] = "from " + from
	}
	return facts
}
