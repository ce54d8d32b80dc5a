package workload

import "github.com/mlperf-go/mlperf/internal/tensor"

// A Writer is a workload whose model turns a row of tokens, or of sound, into tokens. It may answer rows that
// are not of its data set.
type Writer interface {
	Varied
	// Elsewhere returns the same model for so many rows from elsewhere at a time. What is behind
	// the first negative token of a row, or the first that is no number, is room that it does not use.
	Elsewhere(rows int) Prompted
}

// Prompted is a workload whose rows come from elsewhere.
type Prompted interface {
	Workload
	// Limit says how many tokens the next answer to a row may have at most; 0: as many as the
	// benchmark allows. It is called before the row waits for its answer.
	Limit(row, tokens int)
	Checking // finds tokens that the model does not know; a row ends where what was sent ends
}

// A Filed is a Writer whose rows may also come as files.
type Filed interface {
	Writer
	// FileBytes is how long a file may be.
	FileBytes() int64
	// ReadFile makes of a file what is sent of a row otherwise.
	ReadFile(file []byte) (tensor.Tensor, error)
}

// A TextWriter is a Writer whose tokens are those of texts, on both sides.
type TextWriter interface {
	Writer
	// Room is how many tokens a prompt and an answer may have.
	Room() (prompt, answer int)
	// Tokens appends the tokens of a response.
	Tokens(dst []int32, response []byte) []int32
	// Ends reports whether a token ends an answer, and is no part of its text.
	Ends(token int32) bool
	// Tokenizer is that of the model; nil: it has none, and prompts and answers are numbers.
	Tokenizer() Tokenizer
	// ChatTemplate is that of the model; nil: it has none.
	ChatTemplate() ChatTemplate
}

// A ChatTemplate writes messages, which have a role and a content, as a text with all special tokens in it that ends
// where the answer begins.
type ChatTemplate interface {
	Render(messages []map[string]any) (string, error)
}

// A Tokenizer turns texts into tokens and back.
type Tokenizer interface {
	// Encode adds the special tokens that belong around a text.
	Encode(text string) ([]int32, error)
	// EncodeWhole adds none: they are in the text.
	EncodeWhole(text string) ([]int32, error)
	Decode(tokens []int32) (string, error)
}

// A Watching is a Reply that wants to know of work on answers that are still to come: who only waits for these
// cannot tell a long one from one that never comes.
type Watching interface{ Worked() }

// A Streamer is a Reply that wants every token of an answer as soon as it is there, the first one too.
type Streamer interface {
	Token(ticket int, token []byte)
}
