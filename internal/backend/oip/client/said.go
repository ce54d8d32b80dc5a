package client

import (
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// mostSaid is how many bytes of what a server said are shown.
const mostSaid = 200

// describe shortens what a server said to a line, in which nothing changes a terminal. The token is
// taken out before, as a part of it would not be known any more.
func describe(text, token string) string {
	return userinput.Quote(credentials.Redact(text, token), mostSaid)
}

// A redacted error does not show the token, wherever in an answer the server wrote it.
type redacted struct {
	error
	token string
}

func (r redacted) Error() string { return credentials.Redact(r.error.Error(), r.token) }

// Unwrap returns the error that shows it.
func (r redacted) Unwrap() error { return r.error }

// redact has an error not show the token.
func (c *Client) redact(err error) error {
	if err == nil || c.options.Token == "" {
		return err
	}
	return redacted{err, c.options.Token}
}
