package requests

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Schema names the form of the file. It changes when a reader of the old form would misread the new one.
const Schema = "mlperf-go/requests/1"

// FileName is the name of the file in the folder of a run.
const FileName = "requests.jsonl.gz"

// A Header is the first line.
type Header struct {
	Schema   string    `json:"schema"`
	Program  string    `json:"program"` // name and version
	Created  time.Time `json:"created"` // when the test began
	Model    string    `json:"model"`
	Scenario string    `json:"scenario"`
	Times    string    `json:"times"` // how times count
	// Cut says that the times of pieces are left out from some request on, because there are too many; absent: none is.
	Cut bool `json:"pieces_cut,omitempty"`
}

// Times is Header.Times.
const Times = "nanoseconds since the start of the traffic"

// A Request is a further line. Latencies count from when it was due.
type Request struct {
	ID     uint64 `json:"id"`     // of the response, in the logs
	Sample uint64 `json:"sample"` // of the data set
	// Turn is the number of the turn of a conversation, from 1: the turns of one have its id and sample, a line each. Absent: no conversation.
	Turn  int   `json:"turn,omitempty"`
	DueNS int64 `json:"due_ns"`
	// SentNS is when it was sent, the last time if it was sent again; absent: not known, or never.
	SentNS   *int64 `json:"sent_ns,omitempty"`
	Attempts int    `json:"attempts,omitempty"` // how often it was sent; absent: not known

	FirstTokenNS *int64  `json:"first_token_ns,omitempty"` // absent: none came, or only whole answers
	PieceNS      []int64 `json:"piece_ns,omitempty"`       // when each piece of the answer came, usually a token, to the microsecond
	DoneNS       *int64  `json:"done_ns,omitempty"`        // absent: no answer

	PromptTokens int64 `json:"prompt_tokens,omitempty"`        // absent: the server does not tell
	CachedTokens int64 `json:"cached_prompt_tokens,omitempty"` // of these
	Tokens       int64 `json:"tokens,omitempty"`               // of the answer

	// End is why it ended: the server's finish_reason, answered (without a reason), failed, or unanswered at the end of the test.
	End   string `json:"end"`
	Error string `json:"error,omitempty"` // why it failed
}

// The values of Request.End that are not the server's.
const (
	Answered   = "answered"
	Failed     = "failed"
	Unanswered = "unanswered"
)

// Write writes the header and the requests, which the function each passes on.
func Write(w io.Writer, h Header, each func(yield func(Request) error) error) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(packed)
	lines := json.NewEncoder(buffered)
	err = lines.Encode(h)
	if err == nil {
		err = each(func(r Request) error { return lines.Encode(r) })
	}
	return errors.Join(err, buffered.Flush(), packed.Close())
}
