package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A dialect is what a server understands.
type dialect struct {
	chat     bool // the route for chat, else that for completions
	ids      bool // prompts are token ids, and answers have them
	extras   bool // fields that are not OpenAI's: min_tokens, ignore_eos
	usage    bool // streams end with the numbers of tokens
	newLimit bool // the limit of tokens is called max_completion_tokens
	hot      bool // the server chooses the temperature: it refuses others
	tei      bool // ranks are those of TEI: at /rerank, with other names
}

// probe asks the first server for two tokens, in one dialect after the other until it answers. The notes say what it refused.
func (s *session) probe(ctx context.Context) (notes []string, err error) {
	if s.texts.ChatOnly && (s.config.Route == Completions || s.servers.list[0].route == Completions) {
		return nil, userinput.Errorf("route", "the prompts have images, tools or several turns, which completions do not have: must be chat")
	}
	if IsTask(s.config.Route) {
		return s.probeTask(ctx)
	}
	list := s.dialects()
	wanted := list[0]
	url := s.servers.list[0].url
	var refused *failure
	for i := 0; i < len(list); i++ {
		d := list[i]
		if refused != nil && refused.status == http.StatusNotFound && d.chat == s.dialect.chat {
			continue // the server has no such route
		}
		s.dialect = d
		err := s.Generate(ctx, &backend.Prompt{Text: "Hello", IDs: []int32{1, 2, 3}, MaxTokens: 2, MinTokens: 1, Exact: s.config.Exact}, discard{})
		var f *failure
		if !errors.As(err, &f) || f.kind == kindEmpty {
			return differences(wanted, d, refused), nil
		}
		if !slices.Contains(refusals, f.status) {
			if f.kind == kindWhole {
				return nil, userinput.Errorf("stream", "%s: %w; with off the answers are measured as a whole, without first tokens", url, f)
			}
			return nil, fmt.Errorf("%s: %w", url, f)
		}
		if refused = f; !d.hot && strings.Contains(f.Error(), "temperature") {
			for k := range list {
				list[k].hot = true
			}
			i-- // the same without
		}
	}
	return nil, fmt.Errorf("%s takes no prompts: %w", url, refused)
}

// checkPictures fails if a server counts as many tokens in a prompt with pictures as in its text alone: models of texts ignore pictures
// silently. A server that does not count, or refuses one of the requests, is not judged here.
func (s *session) checkPictures(ctx context.Context) error {
	if s.texts.Pictured == nil {
		return nil
	}
	texts := slices.Clone(s.texts.Pictured)
	for i := range texts {
		texts[i].Raw = nil
	}
	all, usage := s.servers.list, s.dialect.usage
	defer func() { s.servers.list, s.dialect.usage = all, usage }()
	s.dialect.usage = true // the official requests do not ask for it
	for _, at := range all {
		s.servers.list = []*server{at}
		var with, without counted
		if s.Generate(ctx, &backend.Prompt{Messages: s.texts.Pictured, MaxTokens: 2}, &with) != nil ||
			s.Generate(ctx, &backend.Prompt{Messages: texts, MaxTokens: 2}, &without) != nil {
			continue
		}
		if with > 0 && with == without {
			return fmt.Errorf("%s, model %s: %d tokens in a prompt with a picture, as many as without it: the model ignores pictures, it must take them", at.url, s.quote(s.model), with)
		}
	}
	return ctx.Err()
}

// counted is a sink for the number of tokens of a prompt.
type counted int64

func (*counted) First([]byte, []int32)   {}
func (c *counted) Done(a backend.Answer) { *c = counted(a.Prompt) }

// refusals are the statuses by which servers say that they do not know a route or a field.
var refusals = []int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// dialects are those to try, the preferred one first.
func (s *session) dialects() (list []dialect) {
	if s.texts.OnlyOfficial {
		hot := s.texts.ServerSampling
		return []dialect{{chat: true, newLimit: true, hot: hot}, {chat: true, hot: hot}}
	}
	routes := []bool{false, true}
	switch at := s.servers.list[0].route; {
	case s.texts.ChatOnly, at == Chat, at == "" && s.config.Route == Chat:
		routes = []bool{true}
	case at == Completions, s.config.Route == Completions:
		routes = []bool{false}
	}
	// A conversation is not sent as one text where the server may have a route for chat.
	needsChat := s.texts.Chat && len(routes) > 1
	wanted := func(wanted bool) []bool {
		if wanted {
			return []bool{true, false}
		}
		return []bool{false}
	}
	for _, chat := range routes {
		for _, ids := range wanted(s.texts.IDs && !chat) {
			if needsChat && !chat && !ids {
				continue
			}
			for _, extras := range wanted(s.config.Exact || s.texts.Least || s.texts.Logged || s.texts.KeepSpecial) {
				for _, usage := range wanted(s.config.Stream) {
					list = append(list, dialect{chat: chat, ids: ids, extras: extras, usage: usage})
					if chat {
						list = append(list, dialect{chat: chat, extras: extras, usage: usage, newLimit: true})
					}
				}
			}
		}
	}
	return list
}

// differences says in words what a server does not understand.
func differences(wanted, got dialect, refused *failure) []string {
	var list []string
	for _, d := range []struct {
		differs bool
		text    string
	}{
		{wanted.chat != got.chat, "it has no route for completions: prompts are sent as chat, inside its template"},
		{wanted.ids != got.ids, "it takes no token ids: prompts are sent as text"},
		{wanted.extras != got.extras,
			"it does not know ignore_eos, min_tokens and return_token_ids: answers may be shorter than asked for, and come as text"},
		{wanted.usage != got.usage, "it does not tell numbers of tokens in streams (stream_options)"},
		{!wanted.newLimit && got.newLimit, "the limit of tokens is called max_completion_tokens"},
		{wanted.newLimit && !got.newLimit, "the limit of tokens is called max_tokens"},
		{wanted.hot != got.hot, "it takes no temperature: it draws tokens at its own"},
	} {
		if d.differs {
			list = append(list, "the server refused a request ("+refused.Error()+"): "+d.text)
		}
	}
	return list
}

// A request is the body of a request for an answer. Its fields have the order of the client of mlcommons/endpoints
// (src/inference_endpoint/openai/types.py, ChatCompletionRequest); top_p, top_k and reasoning_effort are where that of e2e-rag has them
// (multi_shot_retrieval.py, call_chat_completions).
type request struct {
	Model               string            `json:"model"`
	Prompt              any               `json:"prompt,omitzero"` // a string, or token ids
	Messages            []backend.Message `json:"messages,omitzero"`
	Temperature         jsontext.Value    `json:"temperature,omitzero"`
	TopP                jsontext.Value    `json:"top_p,omitzero"`
	TopK                int               `json:"top_k,omitzero"`
	MaxTokens           int               `json:"max_tokens,omitzero"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitzero"`
	ReasoningEffort     string            `json:"reasoning_effort,omitzero"`
	Stream              bool              `json:"stream,omitzero"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage,omitzero"`
	} `json:"stream_options,omitzero"`
	Seed              int            `json:"seed,omitzero"`
	Stop              string         `json:"stop,omitzero"`
	MinTokens         int            `json:"min_tokens,omitzero"`
	IgnoreEOS         bool           `json:"ignore_eos,omitzero"`
	SkipSpecialTokens *bool          `json:"skip_special_tokens,omitzero"`
	ReturnTokenIDs    bool           `json:"return_token_ids,omitzero"`
	Tools             jsontext.Value `json:"tools,omitzero"`
	ToolChoice        jsontext.Value `json:"tool_choice,omitzero"`
	Extras            map[string]any `json:",embed"`
}

// body writes the request for the answer to a prompt.
func (s *session) body(p *backend.Prompt) ([]byte, error) {
	d := s.dialect
	r := request{Model: s.model, Stop: p.Stop, Stream: s.config.Stream, Seed: s.texts.Seed, ReturnTokenIDs: d.ids || d.extras && s.texts.Logged}
	r.Model = cmp.Or(p.Model, r.Model)
	r.Extras = s.servers.extras.body
	s.sample(&r, p)
	r.StreamOptions.IncludeUsage = s.config.Stream && d.usage
	if d.newLimit {
		r.MaxCompletionTokens = p.MaxTokens
	} else {
		r.MaxTokens = p.MaxTokens
	}
	if d.extras {
		r.MinTokens, r.IgnoreEOS = p.MinTokens, p.Exact
		if s.texts.KeepSpecial {
			r.SkipSpecialTokens = new(bool)
		}
	}
	switch {
	case d.chat && len(p.Messages) == 0:
		r.Messages = []backend.Message{{Role: "user", Content: p.Text}}
	case d.chat:
		r.Messages, r.Tools, r.ToolChoice = p.Messages, p.Tools, p.ToolChoice
	case d.ids && len(p.IDs) > 0:
		r.Prompt = p.IDs
	case len(p.Messages) > 0:
		var contents []string
		for _, m := range p.Messages {
			contents = append(contents, m.Content)
		}
		r.Prompt = strings.Join(contents, "\n")
	default:
		r.Prompt = p.Text
	}
	return json.Marshal(r, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)) // bytes of a prompt that are not UTF-8 become U+FFFD
}

// sample says how tokens are drawn, except for what the user has in the request.
func (s *session) sample(r *request, p *backend.Prompt) {
	how := backend.Sampling{Temperature: s.texts.Temperature}
	if p.Sampling != nil {
		how = *p.Sampling
	}
	left := func(name string) bool {
		_, own := r.Extras[name]
		return !own
	}
	if !s.dialect.hot && left(temperature) {
		r.Temperature = jsontext.Value(pytext.Float(how.Temperature))
	}
	if how.TopP != 0 && left("top_p") {
		r.TopP = jsontext.Value(pytext.Float(how.TopP))
	}
	if left("top_k") {
		r.TopK = how.TopK
	}
	if left("reasoning_effort") {
		r.ReasoningEffort = how.Effort
	}
}

// discard is a sink for answers that do not count.
type discard struct{}

func (discard) First([]byte, []int32) {}
func (discard) Done(backend.Answer)   {}
