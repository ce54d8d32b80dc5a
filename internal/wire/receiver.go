package wire

import (
	"net/http"
	"time"
)

// A Receiver takes an answer while it comes. It is called by the thread that reads for others, too:
// it must not wait for anything. It may keep nothing that it is passed.
type Receiver interface {
	// Head takes the status and the header. There is no body in it.
	Head(r *http.Response)
	// Piece takes bytes of the body, and when they were there. It returns false if it wants no more.
	Piece(p []byte, at time.Time) bool
}
