package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend/openai/endpoint"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

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

// ask reads which models a server has.
func (s *session) ask(ctx context.Context, server *endpoint.Server, models any) error {
	r, err := s.get(ctx, server)
	if err != nil {
		return s.redacted(transportFailure(ctx, err))
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return statusFailure(r.StatusCode, s.complaint(r.Body))
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxWhole))
	if err != nil {
		return s.redacted(transportFailure(ctx, err))
	}
	if json.Unmarshal(text, models) != nil {
		return fmt.Errorf("it answers %s", s.quote(string(text)))
	}
	return nil
}

// onlyModel asks for the name of the model.
func (s *session) onlyModel(ctx context.Context) (string, error) {
	server := s.servers.List()[0]
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := s.ask(ctx, server, &models); err != nil {
		return "", userinput.Missing("model_name", fmt.Sprintf("%s does not tell which models it has: %v", server, err))
	}
	if len(models.Data) == 0 {
		return "", userinput.Missing("model_name", fmt.Sprintf("%s has no models", server))
	}
	if len(models.Data) > 1 {
		var names []string
		for _, m := range models.Data {
			names = append(names, m.ID)
		}
		return "", userinput.Missing("model_name", s.quote(fmt.Sprintf("%s has %s", server, strings.Join(names, ", "))))
	}
	return models.Data[0].ID, nil
}
