package backend

import (
	"context"
	"time"
)

// A Generator is a session that continues text: a prompt goes in, tokens come out one after the
// other. Its methods may be called from several goroutines at once. Bind and Run of it fail:
// tensors are not what it takes.
type Generator interface {
	Session
	// Generate continues a prompt and returns when that is over. Without an error the sink was
	// told of the first piece, if the answer came in pieces, and then of the whole answer.
	Generate(ctx context.Context, p *Prompt, sink Sink) error
	// Streams reports whether answers come in pieces.
	Streams() bool
	// TakesIDs reports whether prompts go as token ids, and else as text.
	TakesIDs() bool
	// Limit is how many prompts may be under way at once; 0: any number.
	Limit() int
	// Reset forgets what was measured.
	Reset()
	// Measured is what was measured since Reset.
	Measured() Generated
}

// Texts are what the prompts of a workload have in common. The zero value is that of texts of which
// nothing is known.
type Texts struct {
	IDs         bool    // prompts have token ids too
	Chat        bool    // prompts are conversations, unless they go as token ids
	Least       bool    // some answers have a least number of tokens
	KeepSpecial bool    // special tokens are a part of answers
	Logged      bool    // answers are kept as token ids
	Temperature float64 // at which tokens are drawn; 0: the likeliest is taken

	// Tokenize cuts a text into tokens, as the model does; nil: nobody can. It may be called from
	// several goroutines at once.
	Tokenize func(text []byte) ([]int32, error)
}

// A Prompt is a text to continue.
type Prompt struct {
	Text     string    // if there are no messages
	Messages []Message // of a conversation
	IDs      []int32   // the same as tokens, where they are known

	MaxTokens int    // of the answer; 0: whoever answers decides
	MinTokens int    // of the answer
	Exact     bool   // the answer goes on to MaxTokens, whatever it says
	Stop      string // a text that ends the answer; empty: there is none

	// Told is how many tokens it has, as the last answer to it said; 0: none did. It is set while
	// others may read it, by sync/atomic.
	Told int32
}

// A Message is a part of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A Sink takes an answer. What it is given is only valid during the call.
type Sink interface {
	// First takes the first piece, and its tokens if they are known.
	First(piece []byte, ids []int32)
	Done(a Answer)
}

// An Answer is how a prompt was continued.
type Answer struct {
	Text   []byte
	IDs    []int32 // nil: not known
	Tokens int
}

// Generated is what a Generator has measured, beside what its callers can. Times count from
// when a request was sent, not from when it should have been.
type Generated struct {
	Answers  int64
	Failures []Failures // the most frequent kinds first
	Retries  int64      // requests that were sent once more

	FirstToken Spread // from sending to the first piece
	Whole      Spread // from sending to the end of the answer
	PerToken   Spread // from the first piece to the end, by the tokens less one
	Between    Spread // from a piece to the next; 0 for those that came together

	Pieces      int64  // of answers
	Tokens      int64  // of answers
	PromptTotal int64  // tokens of prompts, as far as they were told
	Counted     string // where the numbers of tokens come from, in words
	Tokenized   int64  // answers whose token ids were made of their text here
	Most        int64  // requests under way at once, at most
	Servers     []ServerLoad
	Finished    map[string]int64 // answers by why they ended, in the server's words
}

// Failures are those of a kind.
type Failures struct {
	Kind  string
	Count int64
	First string // what the first one said
}

// ServerLoad says what one of several servers had to do.
type ServerLoad struct {
	URL      string
	Requests int64
	Most     int // outstanding at once
}

// A Spread describes many times. Percentiles are exact to a hundredth of themselves.
type Spread struct {
	Count                               int64
	Mean, P50, P90, P95, P97, P99, P999 time.Duration
	Min, Max                            time.Duration
}
