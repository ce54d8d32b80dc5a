package tokenserver

import (
	"fmt"
	"strings"
	"time"
)

// Options say how the server answers. The zero value answers at once, with 16 tokens.
type Options struct {
	Prefill  time.Duration // from a free slot to the first token
	PerToken time.Duration // from a token to the next
	Slots    int           // requests that are answered at once; the others wait in order; 0: any number
	PerWrite int           // tokens that are sent together; 0: 1

	Tokens  int // of an answer that the request does not limit; 0: 16
	Context int // tokens of prompt and answer together, at most; 0: any number

	// Right is the share of the prompts with a hidden answer that get it; the others get plain words.
	Right float64

	Key       string // that requests must have; empty: none
	TextOnly  bool   // prompts of token ids are refused with status 400
	NoUsage   bool   // the numbers of tokens are not told
	NoChat    bool   // there is no route for chat
	NoText    bool   // there is no route for completions
	NoExtras  bool   // fields that are not OpenAI's are refused with status 400
	WholeOnly bool   // answers are whole, even if a stream was asked for

	// Fault says what is wrong with the answer to the nth request, counted from 0; nil: nothing.
	Fault func(n int) Fault
}

// faultOf is what is wrong with the answer to the nth request.
func (o *Options) faultOf(n int) Fault {
	if o.Fault == nil {
		return None
	}
	return o.Fault(n)
}

// A Fault is something that the server does instead of answering well.
type Fault uint8

// The faults.
const (
	None          Fault = iota
	Silence             // no answer at all, for as long as the client waits
	Refuse              // status 500
	Busy                // status 429
	Break               // the connection ends in the middle of the answer
	ErrorInside         // an event with an error in the middle of the answer
	Stop                // the stream ends in order, in the middle of the answer and without [DONE]
	Stall               // nothing follows the middle of the answer, and the connection stays
	Garbage             // an event that is no JSON
	Twice               // a token is sent twice
	Empty               // an answer without tokens
	LongLine            // an event of 10 MB
	WrongType           // a page of HTML with status 200
	Compressed          // an answer that is compressed, though nobody asked for that
	Redirect            // status 307, to RedirectTo
	RedirectLossy       // status 302
	Endless             // an answer that never ends
	Trickle             // the bytes of the events come one by one
	NoType              // a stream that does not say that it is one
	Mute                // the tokens are counted, and have no text
)

// names are those of the faults on command lines.
var names = []string{"none", "silence", "500", "429", "break", "error", "stop", "stall", "garbage", "twice", "empty", "long-line", "wrong-type",
	"compressed", "redirect", "redirect-lossy", "endless", "trickle", "no-type", "mute"}

// String is the name of the fault.
func (f Fault) String() string {
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("fault %d", f)
}

// ParseFault returns the fault of a name.
func ParseFault(name string) (Fault, error) {
	for i, n := range names {
		if strings.EqualFold(n, name) {
			return Fault(i), nil
		}
	}
	return None, fmt.Errorf("unknown fault %q, want one of %s", name, strings.Join(names, ", "))
}
