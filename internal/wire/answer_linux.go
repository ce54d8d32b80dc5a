//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// heard takes what was read.
func (k *conn) heard(p []byte, at time.Time) {
	switch k.state {
	case idle:
		k.close() // it answers what nobody asked
		return
	case rest:
		if k.drained += len(p); k.drained > maxRest {
			k.close()
			return
		}
	case head:
		var err error
		if p, err = k.head(p); err != nil {
			k.fail(err)
			return
		}
	}
	if k.state != head {
		k.body(p, at)
	}
}

// headEnd is how many bytes of a text the head of an answer has, which ends with an empty line; negative: it does not end
// there. Up to from there is no end.
func headEnd(b []byte, from int) int {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return -1
		}
		from += i + 1
		for _, empty := range []string{"\n", "\r\n"} { // a server may leave out carriage returns (RFC 9112, section 2.2)
			if bytes.HasPrefix(b[from:], []byte(empty)) {
				return from + len(empty)
			}
		}
	}
}

// head takes the head of an answer, and returns what is behind it.
func (k *conn) head(p []byte) ([]byte, error) {
	for len(p) > 0 {
		before := len(k.begun)
		k.begun = append(k.begun, p...)
		n := headEnd(k.begun, max(0, before-len("\n\r")))
		if n < 0 {
			if len(k.begun) > maxHead {
				return nil, fmt.Errorf("the header of the answer is longer than %d bytes", maxHead)
			}
			return nil, nil
		}
		p = p[n-before:]
		answer, err := k.reader.parse(k.begun[:n])
		if err != nil {
			return nil, fmt.Errorf("the answer is no HTTP: %w", err)
		}
		k.begun = k.begun[:0]
		if answer.StatusCode/100 == 1 {
			if err := k.announce(answer.StatusCode); err != nil {
				return nil, err
			}
			continue // the answer follows
		}
		k.framing.frame(answer)
		k.keeps, k.state, k.drained = !answer.Close && !k.framing.closes, body, 0
		answer.Body = http.NoBody
		k.to.Head(answer)
		return p, nil
	}
	return nil, nil
}

// announce takes a status that only says that an answer follows, which it does not do for ever.
func (k *conn) announce(status int) error {
	k.announced++
	switch {
	case status == http.StatusSwitchingProtocols:
		return errors.New("the server goes on in another protocol (status 101), which nobody asked for")
	case k.announced > mostAnnounced:
		return fmt.Errorf("the server says more than %d times that an answer follows (status %d)", mostAnnounced, status)
	}
	return nil
}

// body takes bytes of the body, and what ends it.
func (k *conn) body(p []byte, at time.Time) {
	for {
		piece, behind, err := k.framing.next(p)
		switch p = behind; {
		case err != nil:
			k.fail(err)
			return
		case len(piece) > 0:
			if k.state == body && !k.to.Piece(piece, at) {
				k.state, k.left = rest, at
				k.finish(nil)
			}
			continue
		}
		break
	}
	if k.framing.part == nothing {
		k.answered(len(p))
	}
}

// answered is the end of an answer. What is behind it belongs to none.
func (k *conn) answered(behind int) {
	wanted := k.state == body
	if k.state = idle; !k.keeps || !k.sent || behind > 0 {
		k.close()
	} else {
		k.number++ // who gives up now is too late
	}
	if k.fd >= 0 {
		k.client.keep(k) // before who waits is told, and asks again
	}
	if wanted {
		k.finish(io.EOF)
	}
}

// drain closes the connection if the end of its answer does not come.
func (k *conn) drain(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == rest && now.Sub(k.left) > drainTimeout {
		k.close()
	}
}
