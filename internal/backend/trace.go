package backend

import (
	"encoding/binary"
	"time"
)

// A Tracer is a Sink that wants to know what became of its request. Trace returns what the Generator writes, until Generate
// returns; nil: nothing is wanted.
type Tracer interface {
	Sink
	Trace() *Trace
}

// Cancelled is the Finish of a request whose answer was given up here.
const Cancelled = "cancelled"

// A Trace is what became of a request.
type Trace struct {
	Sent         time.Time // the last time
	Attempts     int
	PromptTokens int64 // as the server tells
	CachedTokens int64 // of these
	Finish       string
	Error        string // why it failed

	// Of a turn of a conversation, whose other turns have traces of their own: when it was due and answered, and the tokens of its answer.
	Due, Done time.Time
	Tokens    int

	// Pieces of the answer: how many microseconds each came after the one before, the first after sending, as variable-length
	// integers: two bytes each, where an answer of a thousand tokens would need 8 kB. With NoPieces they are not kept.
	pieces   []byte
	last     time.Duration
	NoPieces bool
}

// Begin begins an attempt: what is known of an earlier one is gone.
func (t *Trace) Begin(now time.Time) {
	*t = Trace{Sent: now, Attempts: t.Attempts + 1, NoPieces: t.NoPieces, pieces: t.pieces[:0]}
}

// Piece notes that a piece came, so long after sending.
func (t *Trace) Piece(at time.Duration) {
	if t.NoPieces {
		return
	}
	at = at.Truncate(time.Microsecond)
	t.pieces = binary.AppendUvarint(t.pieces, uint64(max(at-t.last, 0)/time.Microsecond))
	t.last = max(at, t.last)
}

// Pieces are the times of the pieces since sending.
func (t *Trace) Pieces() (list []time.Duration) {
	at := time.Duration(0)
	for rest := t.pieces; len(rest) > 0; {
		step, n := binary.Uvarint(rest)
		at += time.Duration(step) * time.Microsecond
		list, rest = append(list, at), rest[n:]
	}
	return list
}

// Size is the memory of the pieces.
func (t *Trace) Size() int { return len(t.pieces) }
