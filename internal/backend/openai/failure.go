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

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A failure is why a prompt has no answer, with a kind to count it by.
type failure struct {
	kind  string
	again bool          // the same request may succeed later
	after time.Duration // which the server says; 0: it does not
	err   error
}

// Error implements error.
func (f *failure) Error() string { return f.kind + ": " + f.err.Error() }

// Unwrap returns what is wrong.
func (f *failure) Unwrap() error { return f.err }

// The kinds that are not those of a status.
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
	kindNoIDs     = "no token ids"
	kindEnded     = "the test was over"
)

// redacted takes the key out of a failure, whichever words of the server it quotes.
func (s *session) redacted(f *failure) *failure {
	if f == nil {
		return nil
	}
	if text := f.err.Error(); s.servers.Redact(text) != text {
		f.err = errors.New(s.servers.Redact(text))
	}
	return f
}

func failf(kind, format string, args ...any) *failure {
	return &failure{kind: kind, err: fmt.Errorf(format, args...)}
}

// transportFailure says what an error of the HTTP client means.
func transportFailure(ctx context.Context, err error) *failure {
	if cause := context.Cause(ctx); cause != nil {
		return endedBy(cause)
	}
	switch {
	case errors.Is(err, errLongEvent):
		return &failure{kind: kindTooLong, err: err}
	case strings.Contains(err.Error(), "the server redirects"):
		return &failure{kind: kindRedirect, err: err}
	case isUnreachable(err):
		return &failure{kind: kindConnect, again: true, err: err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = fmt.Errorf("the server closed it (%w)", err)
	}
	return &failure{kind: kindBroken, again: true, err: err}
}

// endedBy says what the cause of the end of a context means.
func endedBy(cause error) *failure {
	var late *failure
	if errors.As(cause, &late) {
		return late
	}
	return &failure{kind: kindEnded, err: cause}
}

// isUnreachable reports whether no connection was made.
func isUnreachable(err error) bool {
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &op) && op.Op == "dial" || strings.Contains(err.Error(), "tls: ")
}

// statusFailure says what a status other than 200 means, and what the server says of it.
func statusFailure(status int, text string) *failure {
	f := failf("status "+fmt.Sprint(status), "%s: %s", http.StatusText(status), text)
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		f.again = true
	}
	return f
}

const (
	maxComplaint = 4 << 10 // read of an answer that is none
	longestQuote = 300     // of it that is quoted
)

// complaint is what a server says instead of answering.
func (s *session) complaint(body io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(body, maxComplaint)) // what there is will do
	return cmp.Or(s.quote(string(data)), saysNothing)
}

// saysNothing stands where a server gives no reason.
const saysNothing = "the server says nothing else"

// quote is what a server says, as it is quoted: without the key, which is taken out before the text is cut, as a part
// of it would not be known any more.
func (s *session) quote(text string) string { return cut(s.servers.Redact(text)) }

// cut shortens a text to what is quoted of it.
func cut(text string) string { return userinput.Quote(text, longestQuote) }
