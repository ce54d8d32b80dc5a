package openai

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// generate sends a prompt, and again if that is wanted and may help.
func (s *session) generate(ctx context.Context, c *call) *failure {
	body := s.body(c.prompt)
	for attempt := 0; ; attempt++ {
		f := s.redacted(s.try(ctx, c, body))
		if f == nil || !f.again || c.started || attempt >= s.config.Retries {
			return f
		}
		s.stats.retries.Add(1)
		select {
		case <-time.After(pause(attempt, f.after)):
		case <-ctx.Done():
			return transportFailure(ctx, ctx.Err())
		}
	}
}

const (
	// firstPause is how long the first repetition waits; each further one waits twice as long, up to mostPause.
	firstPause, mostPause = 50 * time.Millisecond, 5 * time.Second
	// mostAfter is how long a server may ask to be left alone.
	mostAfter = time.Minute
)

// pause is how long a repetition waits, of those before which there were so many, if the server asks for a time.
func pause(attempts int, asked time.Duration) time.Duration {
	const enough = 10 // doublings, and not too many to be counted
	wait := min(firstPause<<min(attempts, enough), mostPause)
	return max(wait, min(asked, mostAfter))
}

// retryAfter is how long a server asks to be left alone; 0: it does not.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
