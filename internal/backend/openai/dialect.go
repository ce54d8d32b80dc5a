package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/userinput"
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
		return userinput.Errorf("stream", "%s: %w; with off the answers are measured as a whole, without first tokens", s.servers.List()[0], f)
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
