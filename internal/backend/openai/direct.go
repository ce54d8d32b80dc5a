package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/endpoint"
	"github.com/mlperf-go/mlperf/internal/wire"
)

// openWire opens what reads streams of plain HTTP, if all servers speak that. Where it cannot, net/http does.
func (s *session) openWire(ctx context.Context, warm int) {
	if !s.config.Stream {
		return
	}
	for _, server := range s.servers.List() {
		if _, plain := s.servers.Plain(server); !plain {
			return
		}
	}
	client, err := wire.Open(s.servers.ConnectTimeout())
	if err != nil {
		return
	}
	s.wire, s.fields = client, s.headerFields()
	for _, server := range s.servers.List() {
		address, _ := s.servers.Plain(server)
		client.Warm(ctx, address, warm)
	}
}

// tryDirect sends a prompt once, over plain HTTP and without net/http. It returns false if that is not
// possible, or the server redirects, which net/http knows how to follow.
func (s *session) tryDirect(ctx context.Context, c *call, server *endpoint.Server, body []byte) (direct bool, f *failure) {
	if s.wire == nil {
		return false, nil
	}
	where, _ := s.servers.Plain(server)
	c.answer, c.refusal, c.fault = nil, c.refusal[:0], nil
	c.request = s.appendRequest(c.request[:0], server, body)
	c.sent = time.Now()
	err := s.wire.Do(ctx, where, c.request, c)
	switch {
	case c.answer == nil || context.Cause(ctx) != nil:
		return true, transportFailure(ctx, err)
	case c.answer.StatusCode >= 300 && c.answer.StatusCode < 400:
		return false, nil
	case !c.streams:
		c.answer.Body = io.NopCloser(bytes.NewReader(c.refusal))
		return true, s.acceptable(c.answer)
	}
	return true, c.conclude(ctx, err)
}

// conclude hands over what came as a stream, if it is an answer. Err is what the stream ended with.
func (c *call) conclude(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(err, io.EOF):
		c.fault = c.ended(c.heard)
	case err != nil:
		return transportFailure(ctx, err)
	}
	if c.fault == nil {
		c.fault = c.check()
	}
	if c.fault == nil {
		c.answered(c.heard)
	}
	return c.fault
}

// headerFields are the lines of the header that all requests have, each behind the end of the one before.
func (s *session) headerFields() (lines []byte) {
	header := http.Header{}
	s.headers(header)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		lines = fmt.Appendf(lines, "\r\n%s: %s", name, header.Get(name))
	}
	return lines
}

// appendRequest appends the text of a request.
func (s *session) appendRequest(b []byte, server *endpoint.Server, body []byte) []byte {
	b = append(b, "POST "...)
	b = append(b, target(server, s.dialect.chat)...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), server.Host()...)
	b = append(b, s.fields...)
	b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// Head implements wire.Receiver.
func (c *call) Head(r *http.Response) {
	c.answer, c.streams = r, isStream(r)
	if c.streams {
		c.session.watch.answering(c.watched)
	}
}

// Piece implements wire.Receiver.
func (c *call) Piece(p []byte, at time.Time) bool {
	if !c.streams {
		c.refusal = append(c.refusal, p[:min(len(p), maxComplaint-len(c.refusal))]...)
		return len(c.refusal) < maxComplaint
	}
	c.heard = at.Sub(c.sent)
	c.session.watch.heard(c.watched, at)
	for len(p) > 0 && c.fault == nil && !c.done {
		n, err := c.events.feed(p)
		if err != nil {
			c.fault = &failure{kind: kindTooLong, err: err}
			break
		}
		p = p[n:]
		c.fault = c.take(c.heard)
	}
	return c.fault == nil && !c.done
}
