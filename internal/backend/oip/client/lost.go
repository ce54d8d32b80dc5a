package client

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// A serverError says which server is the cause of an error.
type serverError struct {
	Endpoint string
	Err      error
	lost     bool // the server is left out from now on
	others   int  // servers that are not, beside it
}

// Survivors is how many servers go on answering when this one did not; 0 where the server is not
// to blame, or there is no other.
func (e *serverError) Survivors() int { return e.others }

func (e *serverError) Error() string { return "server " + e.Endpoint + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *serverError) Unwrap() error { return e.Err }

// lost marks an error after which a server is not asked again.
type lost struct{ error }

func (l lost) Unwrap() error { return l.error }

// mostRefused is how many requests in a row a server may refuse for lack of room. Refusing is quick,
// so that it would soon get all of them.
const mostRefused = 16

// blame makes an error the server's, and leaves the server out if it is lost.
func (c *Client) blame(n *node, err error) error {
	full := protocol.CodeOf(err) == protocol.Unavailable
	if full && n.refused.Add(1) >= mostRefused && c.up() > 1 {
		err = lost{fmt.Errorf("it refused %d requests in a row: %w", mostRefused, err)}
	}
	e := &serverError{Endpoint: n.name, Err: err}
	var l lost
	if e.lost = errors.As(err, &l); e.lost {
		n.down.CompareAndSwap(nil, &err)
		e.others = c.up()
	} else if full {
		e.others = c.up() - 1
	}
	return e
}

// up is how many servers are not left out.
func (c *Client) up() (n int) {
	for _, node := range c.nodes {
		if node.down.Load() == nil {
			n++
		}
	}
	return n
}

// Down names the servers that are left out, with the reasons.
func (c *Client) Down() []string {
	var list []string
	for _, n := range c.nodes {
		if err := n.down.Load(); err != nil {
			list = append(list, fmt.Sprintf("%s, %d of its %d requests: %v", n.name, n.failed.Load(), n.sent.Load(), *err))
		}
	}
	return list
}
