package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/endpoint"
	"github.com/mlperf-go/mlperf/internal/field"
)

// probe finds out what the server understands: it is asked for two tokens, in one dialect after
// the other until it answers. What it refuses is said.
func (s *session) probe(ctx context.Context) (notes []string, err error) {
	list := s.dialects(s.servers.List()[0].Path())
	var refused *failure
	wanted := list[0]
	for _, d := range list {
		if refused != nil && refused.kind == statusKind(http.StatusNotFound) && d.chat == s.dialect.chat {
			continue // there is no such route
		}
		s.dialect = d
		f := s.greet(ctx)
		if f == nil {
			return differences(wanted, d, refused), nil
		}
		if !isRefusal(f.kind) {
			return nil, s.unusable(f)
		}
		refused = f
	}
	return nil, fmt.Errorf("%s takes no prompts: %w", s.servers.List()[0], refused)
}

// greet asks for two tokens, and returns why there is no answer. An empty one will do.
func (s *session) greet(ctx context.Context) *failure {
	err := s.Generate(ctx, &backend.Prompt{Text: "Hello", IDs: []int32{1, 2, 3}, MaxTokens: 2, MinTokens: 1, Exact: s.config.Exact}, discard{})
	var f *failure
	if errors.As(err, &f) && f.kind == kindEmpty {
		return nil
	}
	return f
}

// unusable says why a server cannot be measured.
func (s *session) unusable(f *failure) error {
	if f.kind == kindWhole {
		return field.Errorf("stream", "%s: %w; with off the answers are measured as a whole, without first tokens", s.servers.List()[0], f)
	}
	return fmt.Errorf("%s: %w", s.servers.List()[0], f)
}

func statusKind(status int) string { return fmt.Sprintf("status %d", status) }

// isRefusal reports whether a server said that it does not understand a request.
func isRefusal(kind string) bool {
	return slices.Contains([]string{
		statusKind(http.StatusBadRequest), statusKind(http.StatusUnprocessableEntity),
		statusKind(http.StatusNotFound), statusKind(http.StatusMethodNotAllowed), statusKind(http.StatusNotImplemented),
	}, kind)
}

// dialects are those that are tried, the one that is wanted first.
func (s *session) dialects(path string) []dialect {
	var list []dialect
	routes := s.routes(path)
	wantsExtras := s.config.Exact || s.texts.Least || s.texts.Logged || s.texts.KeepSpecial
	for _, chat := range routes {
		for _, ids := range s.forms(chat, len(routes) > 1) {
			list = append(list, variants(dialect{chat: chat, ids: ids}, wantsExtras, s.config.Stream)...)
		}
	}
	return list
}

// variants are those of a dialect that are tried, with all that is wanted first.
func variants(d dialect, wantsExtras, wantsUsage bool) (list []dialect) {
	for _, d.extras = range options(wantsExtras) {
		for _, d.usage = range options(wantsUsage) {
			for _, d.newLimit = range limits(d.chat) {
				list = append(list, d)
			}
		}
	}
	return list
}

// forms are those of prompts that are tried on a route: token ids or not. A conversation is no text,
// unless there is no choice.
func (s *session) forms(chat, choice bool) []bool {
	conversation := s.texts.Chat && choice
	switch {
	case chat:
		return []bool{false}
	case conversation && s.texts.IDs:
		return []bool{true}
	case conversation:
		return nil
	case s.texts.IDs:
		return []bool{true, false}
	}
	return []bool{false}
}

// limits are the names of the limit of tokens that are tried: the new one, of chat only, or not.
func limits(chat bool) []bool {
	if chat {
		return []bool{false, true}
	}
	return []bool{false}
}

// options are what is tried of something that is wanted or not.
func options(wanted bool) []bool {
	if wanted {
		return []bool{true, false}
	}
	return []bool{false}
}

// routes are those that are tried: chat or not.
func (s *session) routes(path string) []bool {
	switch {
	case strings.HasSuffix(path, chatRoute), s.config.Route == Chat:
		return []bool{true}
	case strings.HasSuffix(path, completionsRoute), s.config.Route == Completions:
		return []bool{false}
	}
	return []bool{false, true}
}

// differences say in words what a server does not understand.
func differences(wanted, got dialect, refused *failure) []string {
	if wanted == got {
		return nil
	}
	var list []string
	for _, d := range []struct {
		differs bool
		text    string
	}{
		{wanted.chat != got.chat, "it has no route for completions: prompts are sent as chat, and its template is around them"},
		{wanted.ids != got.ids, "it takes no token ids: prompts are sent as text"},
		{wanted.extras != got.extras, "it does not know ignore_eos, min_tokens and return_token_ids: answers may be shorter than was asked for, and come as text"},
		{wanted.usage != got.usage, "it does not tell numbers of tokens in streams (stream_options)"},
		{wanted.newLimit != got.newLimit, "the limit of tokens is called max_completion_tokens"},
	} {
		if d.differs {
			list = append(list, "the server refuses some requests ("+refused.Error()+"): "+d.text)
		}
	}
	return list
}

// discard is a sink that nobody listens to.
type discard struct{}

func (discard) First([]byte, []int32) {}
func (discard) Done(backend.Answer)   {}

// warm makes connections, all at once so that none serves twice, and finds out whether the
// servers are there and take the key.
func (s *session) warm(ctx context.Context, n int) error {
	limit := min(s.config.Timeout, 3*endpoint.DefaultConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, failf(kindTimeout, "no answer within %v", limit))
	defer cancel()
	var all []*endpoint.Server
	for _, server := range s.servers.List() {
		all = append(all, slices.Repeat([]*endpoint.Server{server}, n)...)
	}
	responses, errs := make([]*http.Response, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, server := range all {
		group.Go(func() { responses[i], errs[i] = s.get(ctx, server) })
	}
	group.Wait()
	for i, r := range responses {
		if r == nil {
			errs[i] = fmt.Errorf("%s: %w", all[i], s.redacted(transportFailure(ctx, errs[i])))
			continue
		}
		if f := s.admitted(r); f != nil {
			errs[i] = fmt.Errorf("%s: %w", all[i], f)
		}
	}
	return cmp.Or(errs...) // one says it all
}

// admitted reads an answer to its end, and says if the server does not take the key.
func (s *session) admitted(r *http.Response) (f *failure) {
	if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden {
		f = statusFailure(r.StatusCode, s.complaint(r.Body))
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxRest)
	_ = r.Body.Close()
	return f
}

// get asks a server for its models.
func (s *session) get(ctx context.Context, server *endpoint.Server) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, modelsAddress(server), nil)
	if err != nil {
		return nil, err
	}
	s.headers(request.Header)
	return s.servers.HTTP().Do(request)
}

func modelsAddress(server *endpoint.Server) string {
	return strings.TrimSuffix(address(server, false), completionsRoute) + modelsRoute
}

// onlyModel asks for the name of the model.
func (s *session) onlyModel(ctx context.Context) (string, error) {
	server := s.servers.List()[0]
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	r, err := s.get(ctx, server)
	if err == nil {
		defer r.Body.Close()
		err = json.NewDecoder(io.LimitReader(r.Body, maxWhole)).Decode(&models)
	}
	if err != nil || len(models.Data) == 0 {
		return "", field.Missing("model_name", fmt.Sprintf("%s does not tell which models it has", server))
	}
	if len(models.Data) > 1 {
		var names []string
		for _, m := range models.Data {
			names = append(names, m.ID)
		}
		return "", field.Missing("model_name", s.quote(fmt.Sprintf("%s has %s", server, strings.Join(names, ", "))))
	}
	return models.Data[0].ID, nil
}
