package download

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// A statusError is an answer that is not the file.
type statusError struct {
	url   string
	code  int
	after time.Duration // Retry-After
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

func newStatusError(resp *http.Response) error {
	e := &statusError{url: resp.Request.URL.String(), code: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = time.Duration(s) * time.Second
	} else if t, err := http.ParseTime(resp.Header.Get("Retry-After")); err == nil {
		e.after = time.Until(t)
	}
	return e
}

// A finalError is one that another attempt at the same address would not cure.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(format string, args ...any) error { return finalError{fmt.Errorf(format, args...)} }

// passing says whether an error may pass by itself.
func passing(err error) bool {
	if f := (finalError{}); errors.As(err, &f) {
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

// wait pauses before the next attempt, longer each time, or as long as the server asks
// for within reason. What is added at random keeps parallel requests apart.
func (p pace) wait(ctx context.Context, attempt int, cause error) error {
	pause := p.maxPause
	if attempt <= 16 {
		pause = min(p.maxPause, p.pause<<(attempt-1))
	}
	pause += rand.N(pause/4 + 1)
	if s := (*statusError)(nil); errors.As(cause, &s) && s.after > 0 {
		pause = max(pause, min(s.after, 4*p.maxPause))
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// retry calls f until it succeeds, fails for good, or has failed often enough in a row
// without getting on. f says whether it got on.
func (p pace) retry(ctx context.Context, note func(string), f func() (progress bool, err error)) error {
	for attempt := 1; ; attempt++ {
		progress, err := f()
		if err == nil {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if progress {
			attempt = 1
		}
		if !passing(err) {
			return err
		}
		if attempt >= p.attempts {
			return fmt.Errorf("given up after %d attempts: %w", attempt, err)
		}
		if attempt > 1 {
			note(fmt.Sprintf("%v; trying again", err))
		}
		if err := p.wait(ctx, attempt, err); err != nil {
			return err
		}
	}
}
