package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A failure says why a prompt has no answer.
type failure struct {
	kind   string        // to count it by
	status int           // of HTTP; 0: another reason
	again  bool          // the same request may succeed later
	after  time.Duration // that the server wants to be left alone for; 0: it does not say
	err    error
}

func (f *failure) Error() string { return f.kind + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Is makes a request without a connection one whose server cannot be reached.
func (f *failure) Is(target error) bool {
	return target == backend.ErrUnreachable && f.kind == kindConnect
}

// The kinds; those of a status are "status 429".
const (
	kindConnect   = "no connection"
	kindBroken    = "connection broken"
	kindTimeout   = "time-out"
	kindMalformed = "malformed event"
	kindUnending  = "stream without an end"
	kindError     = "error in the stream"
	kindEmpty     = "empty answer"
	kindTooLong   = "answer too long"
	kindWhole     = "no stream"
	kindType      = "wrong content type"
	kindPacked    = "compressed answer"
	kindRedirect  = "redirection"
	kindPieces    = "more pieces than tokens"
	kindNoText    = "more tokens than text"
	kindAfterEnd  = "more after the end"
	kindRepeated  = "repeated events"
	kindChoices   = "another choice"
	kindNoCall    = "no call of a tool"
	kindItems     = "other items than were sent"
	kindVideo     = "not a video"
	kindNoIDs     = "no token ids"
	kindEnded     = "the test was over"
	kindGivenUp   = "given up here" // no failure
	kindNoReason  = "no finish_reason"
	kindOff       = "broken off" // with the reason, where it is a known one
)

func failf(kind, format string, args ...any) *failure {
	return &failure{kind: kind, err: fmt.Errorf(format, args...)}
}

// transportFailure says what an error of the HTTP client means.
func transportFailure(ctx context.Context, err error) *failure {
	if cause := context.Cause(ctx); cause != nil {
		var late *failure
		if errors.As(cause, &late) {
			return late
		}
		return &failure{kind: kindEnded, err: cause}
	}
	var op *net.OpError
	switch {
	case errors.Is(err, errRedirect):
		return &failure{kind: kindRedirect, err: err}
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &op) && op.Op == "dial", strings.Contains(err.Error(), "tls: "):
		return &failure{kind: kindConnect, again: true, err: err}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = fmt.Errorf("the server closed it (%w)", err)
	}
	return &failure{kind: kindBroken, again: true, err: err}
}

// statusFailure is that of a status other than 200, with the reason that the server gives.
func statusFailure(status int, reason string) *failure {
	f := failf(fmt.Sprintf("status %d", status), "%s: %s", http.StatusText(status), reason)
	f.status = status
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.again = true
	}
	return f
}

// reference reports whether a prompt with a Patience is sent again, and after what pause.
func (f *failure) reference(pause time.Duration) (again bool, wait time.Duration) {
	switch {
	case f.status == http.StatusTooManyRequests:
		return true, cmp.Or(min(f.after, maxRetryAfter), pause)
	case f.status >= http.StatusBadGateway && f.status <= http.StatusGatewayTimeout, f.kind == kindTimeout:
		return true, pause
	}
	return false, 0
}

// complaint is what a server says instead of an answer.
func (s *session) complaint(body io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(body, 4<<10)) // a part will do
	return cmp.Or(s.quote(string(data)), "the server gives no reason")
}

// quote is a text of the server in at most 300 bytes. The key is taken out first: its rest would not be found in a text
// that was cut.
func (s *session) quote(text string) string { return userinput.Quote(s.servers.redact(text), 300) }

// redacted takes the key out of a failure.
func (s *session) redacted(f *failure) *failure {
	if f == nil {
		return nil
	}
	if text := f.err.Error(); s.servers.redact(text) != text {
		f.err = errors.New(s.servers.redact(text))
	}
	return f
}
