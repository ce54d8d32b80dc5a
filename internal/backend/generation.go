package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Generator is a session that answers prompts with text, token by token. Its methods may be called from
// several goroutines at once. Bind and Run fail: it takes no tensors.
type Generator interface {
	Session
	// Generate answers a prompt. Unless it fails the sink got the first piece, if the answer came in pieces,
	// and then the whole answer.
	Generate(ctx context.Context, p *Prompt, sink Sink) error
	// Streams reports whether answers come in pieces.
	Streams() bool
	// TakesIDs reports whether prompts go as token ids, and else as text.
	TakesIDs() bool
	// Limit is the number of prompts that may be under way at once; 0: any number.
	Limit() int
	// Reset sets all that is measured back to nothing.
	Reset()
	// Measured returns what was measured since Reset.
	Measured() Generated
}

// Texts describes what the prompts of a workload have in common. The zero value is for unknown texts.
type Texts struct {
	IDs         bool    // prompts have token ids too
	Chat        bool    // prompts are conversations, unless they go as token ids
	ChatOnly    bool    // and have what only chats have: images, tools, further turns
	Least       bool    // some answers have a least number of tokens
	KeepSpecial bool    // special tokens are a part of answers
	Logged      bool    // answers are kept as token ids
	Temperature float64 // of sampling; 0: greedy
	Seed        int     // of sampling; 0: the server's
	// OnlyOfficial says that requests have the fields of the client of mlcommons/endpoints, and no others.
	OnlyOfficial bool
	MayBeEmpty   bool // an answer without a text is one, and not a failure
	// ServerSampling says that requests have no temperature: the server draws tokens at its own.
	ServerSampling bool
	Videos         bool // answers are videos, or their paths
	// Pictured has messages with pictures, whose Content is their text alone. A server that counts as many tokens without the pictures has a
	// model that ignores them. nil: none have pictures.
	Pictured []Message

	// Tokenize is the model's tokenizer; nil: there is none here. It may be called from several goroutines at once.
	Tokenize func(text []byte) ([]int32, error)
	// Detokenize is its inverse; nil as Tokenize.
	Detokenize func(ids []int32) (text string, err error)
}

// A Prompt asks for an answer.
type Prompt struct {
	Text     string    // without messages
	Messages []Message // of a conversation
	IDs      []int32   // the same as tokens, where they are known

	MaxTokens int    // of the answer; 0: the server decides
	MinTokens int    // of the answer
	Exact     bool   // the answer goes on to MaxTokens, whatever it says
	Stop      string // a text that ends the answer; empty: none

	Model    string    // that is asked, as the servers call it; empty: that of the session
	Sampling *Sampling // of its tokens; nil: that of the texts
	Patience *Patience // with its answer; nil: that of the session

	Inputs []string // texts whose embeddings are asked for, or documents that are ranked for Text

	Tools, ToolChoice jsontext.Value // that the answer may call; nil: none

	Video *VideoRequest // of a prompt for a video

	// Session is the conversation that the prompt belongs to, as the header X-Session-ID tells servers; empty: none. One that Follows
	// is not sent if the prompt of its session before it failed.
	Session string
	Turn    int // its number in the session
	Follows bool

	// Turns follow one after the other, each after the answer to the one before; nil: a single prompt.
	Turns []Turn

	// Told is the number of its tokens as the server counts them; 0: it does not say. It is written and read
	// with sync/atomic.
	Told int32
}

// A Sampling says how tokens of an answer are drawn. Zero fields but the temperature are left to the server.
type Sampling struct {
	Temperature, TopP float64
	TopK              int
	Effort            string // of reasoning: low, medium, high
}

// A Patience says how long a client waits for an answer, and how often it asks: again after the statuses 429, 502, 503 and 504 and after the
// time-out, and after nothing else.
type Patience struct {
	Timeout time.Duration // of each try
	Tries   int
	Pause   time.Duration // before the second try; before each further one twice as long. After a 429 Retry-After takes its place.
}

// A VideoRequest asks a server for a video. Its fields have the names, the order and the forms of numbers of the client of
// mlcommons/endpoints (src/inference_endpoint/videogen/types.py, VideoPathRequest).
type VideoRequest struct {
	Prompt         string         `json:"prompt"`
	NegativePrompt string         `json:"negative_prompt,omitzero"`
	Size           string         `json:"size"` // width×height by the field's own words, and height×width in MLPerf's use
	Seconds        jsontext.Value `json:"seconds"`
	FPS            int            `json:"fps"`
	Steps          int            `json:"num_inference_steps"`
	Guidance       jsontext.Value `json:"guidance_scale"`
	Guidance2      jsontext.Value `json:"guidance_scale_2"`
	Seed           int            `json:"seed"`
	Frames         int            `json:"num_frames"`
	Boundary       float64        `json:"boundary_ratio"`
	LatentPath     string         `json:"latent_path,omitzero"` // at the server
	OutputFormat   string         `json:"output_format"`
	ResponseFormat string         `json:"response_format"` // video_path or video_bytes
}

// A Turn is what a conversation goes on with after an answer.
type Turn struct {
	Answer    *Message      // the answer before it that is recorded and takes the place of the real one; nil: the real one
	Messages  []Message     // that are new
	Delay     time.Duration // after the end of the answer
	MaxTokens int           // of the answer
}

// A Message is a part of a conversation.
type Message struct {
	Role    string         `json:"role"`
	Content string         `json:"content"`
	Raw     jsontext.Value `json:"-"` // the message as servers receive it, if it has more than the text: images, calls of tools; nil: it has not
}

// MarshalJSON implements json.Marshaler.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Raw != nil {
		return m.Raw, nil
	}
	type plain Message
	return json.Marshal(plain(m), jsontext.AllowInvalidUTF8(true)) // as the request around it
}

// A Sink takes an answer, whose memory is valid during the call only.
type Sink interface {
	// First takes the first piece, and its token ids if they are known.
	First(piece []byte, ids []int32)
	// Done takes the whole answer.
	Done(a Answer)
}

// An Answer is the answer to a prompt.
type Answer struct {
	Text      []byte
	Reasoning int     // bytes of Text that are reasoning, at its beginning
	IDs       []int32 // nil: not known
	Tokens    int
	Prompt    int64      // tokens of the prompt, as the server tells
	Finish    string     // why it ended
	Model     string     // that was asked
	Calls     []ToolCall // their names and arguments are a part of Text, too
}

// A ToolCall is the call of a tool in an answer, with the pieces that a stream has of it together.
type ToolCall struct {
	Type, ID, Name string
	Arguments      string // JSON, if the model wrote such
}

// Generated is what a Generator measures. Its times count from when a request was sent, not from when it was
// scheduled.
type Generated struct {
	Answers  int64
	Failures []Failures // the most frequent kinds first
	Retries  int64      // requests that were sent again
	Resent   int64      // sent again on a new connection: the server had closed one that was open before
	// Answers that were given up here on purpose, and their pieces until then: they are in none of the other numbers.
	Cancelled, CancelledPieces int64

	FirstToken Spread // from sending to the first piece
	Whole      Spread // from sending to the end of the answer
	PerToken   Spread // from the first piece to the end, by the tokens less one
	Between    Spread // from a piece to the next; 0 for those that came together

	Pieces      int64 // of answers
	Tokens      int64 // of answers
	Gathered    Gathered
	PromptTotal int64 // tokens of prompts, as far as the servers count them
	Cached      int64 // of these, taken from a cache, as far as the servers tell
	Prompts     int64 // different ones that were answered
	Distinct    int64 // different ones among the last answers to these
	Check       TokenCheck
	Counted     string // the source of the numbers of tokens, in words
	Tokenized   int64  // answers whose token ids the local tokenizer made
	Most        int64  // requests under way at once, at most
	Servers     []ServerLoad
	Finished    map[string]int64 // answers by finish_reason
	Inputs      int64            // of answers that are embeddings or scores
	Videos      int64            // answers that are videos, or their paths
	Turns       []TurnTimes      // of conversations, by the number of the turn
}

// Gathered are answers whose pieces have so many tokens each that their times are not those of tokens.
type Gathered struct {
	Answers, Tokens, Pieces int64
}

// TurnTimes are the times of the turns of conversations that have the same number. They count from when a turn was due.
type TurnTimes struct {
	FirstToken, Whole Spread
}

// A TokenCheck compares the numbers of tokens that servers tell with others.
type TokenCheck struct {
	// In a sample of the answers: what the servers tell, the tokens of the tokenizer, and by how much these may differ.
	Answers, Told, Counted, Allowed int64
	Unknown                         string // why it could not count an answer; empty: it could
	// In the answers that have both: usage, and token ids.
	WithIDs, Usage, IDs int64
}

// Failures counts the failures of a kind.
type Failures struct {
	Kind  string
	Count int64
	First string // the text of the first
}

// ServerLoad counts the requests of one of several servers.
type ServerLoad struct {
	URL      string
	Requests int64
	Most     int // outstanding at once
}

// A MessageText is the content of a message of a chat in a request to a server: a text, or parts that are texts.
type MessageText string

// UnmarshalJSON implements json.Unmarshaler.
func (m *MessageText) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return json.Unmarshal(text, (*string)(m))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("a part of a message is of type %q: must be text", p.Type)
		}
		*m += MessageText(p.Text)
	}
	return nil
}
