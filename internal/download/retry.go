package download

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A statusError is an answer that is not the file.
type statusError struct {
	url   string
	code  int
	after time.Duration // Retry-After, within reason
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s answers %d %s", e.url, e.code, http.StatusText(e.code))
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += ": it wants a login or an agreement"
	case http.StatusNotFound, http.StatusGone:
		text += ": the file is no longer there"
	}
	return text
}

// Unwrap tells backoff.Retry when the server wants to be asked again.
func (e *statusError) Unwrap() error {
	if e.after <= 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: e.after}
}

// longestPause is how long a server may ask us to wait.
const longestPause = 2 * time.Minute

func newStatusError(resp *http.Response) error {
	e := &statusError{url: shown(resp.Request.URL.String()), code: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = time.Duration(min(s, int(longestPause/time.Second))) * time.Second
	} else if t, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
		e.after = min(time.Until(t), longestPause)
	}
	return e
}

// final is an error that another attempt at the same address would not cure.
func final(format string, args ...any) error { return backoff.Permanent(fmt.Errorf(format, args...)) }

// passing reports whether an error may pass by itself.
func passing(err error) bool {
	if errors.As(err, new(*backoff.PermanentError)) || untrusted(err) {
		return false
	}
	if s := (*statusError)(nil); errors.As(err, &s) {
		switch s.code {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
			return true
		}
		return s.code >= 500 && s.code != http.StatusNotImplemented && s.code != http.StatusHTTPVersionNotSupported
	}
	return true // the network
}

// retry calls f until it succeeds, fails for good, or has failed often enough in a row
// without getting on. f says whether it got on.
func (p pace) retry(ctx context.Context, note func(string), f func() (progress bool, err error)) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: p.pause, MaxInterval: p.maxPause, Multiplier: 2, RandomizationFactor: 0.1}
	tries := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		progress, err := f()
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return struct{}{}, backoff.Permanent(cause)
		}
		if tries++; progress {
			tries = 1
			pauses.Reset()
		}
		return struct{}{}, p.judge(err, tries)
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		if tries > 1 {
			note(fmt.Sprintf("%v; trying again", err))
		}
	}))
	return err
}

// judge says whether another try follows a failure: not after a permanent error.
func (p pace) judge(err error, tries int) error {
	switch {
	case err == nil:
		return nil
	case !passing(err):
		return backoff.Permanent(err)
	case tries >= p.attempts:
		return final("given up after %d attempts: %w", tries, err)
	}
	return err
}
