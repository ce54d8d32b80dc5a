package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Workload is a model with its data: everything that is specific to a benchmark while it runs. Unused fields stay nil or 0.
// Several goroutines may call the functions at once.
type Workload struct {
	Samples int // in the data set
	// Row lists the tensors of a sample: their number and types are the same for all samples,
	// shapes may differ. It reads nothing and is quick. Nil: a sample has no tensors.
	Row func(index int) []Slot
	// Path is the file of a sample. Nil: samples do not have a file each.
	Path func(index int) string
	// Prepare fills the row of a sample.
	Prepare func(index int, row []tensor.Tensor) error
	// Raw makes samples of what the data set holds, for tests that time this too. Nil: it is not known how.
	Raw *Raw
	// CacheKey names everything that decides the content of the rows: the files, the steps, and
	// the version of the code. Nil or empty: rows are not worth keeping.
	CacheKey func() string
	// Order, where samples have an order in time, returns the sample that is the n-th, from 0, of a test of so many: it is answered in the
	// place of the one that LoadGen chose. All samples are in memory then. Nil: the order is LoadGen's.
	Order func(n, of uint64) int
	// Length says how long a sample is, where samples are cheaper to answer beside others of about
	// the same length. Samples that wait are grouped by it, as long as none is late for that. Nil: all are alike.
	Length func(index int) int
	// PaddedLength is the length that predictors pad a sample to. A device may compile the model
	// for each such length. Nil: predictors do not pad.
	PaddedLength func(index int) int

	// One of these three answers samples. NewPredictor returns a predictor for one worker, for up
	// to maxBatch samples at once, NewDecoder one for up to maxBatch active sequences.
	// Prompts are samples for an engine that takes text.
	NewPredictor func(sessions Sessions, maxBatch int) (Predictor, error)
	NewDecoder   func(sessions Sessions, maxBatch int) (Decoder, error)
	Prompts      Prompts

	// Outputs names the outputs of the file of a role that predictors read, in order. Nil: all.
	Outputs func(role string) []string
	Batch   int // samples in one run of the model; 0: any number
	// Runs is how often a sample runs the model, at extents of the model's own. Nil: once, at those of the sample.
	Runs  func(index int) int
	Slots int // active samples of a worker; 0: the scenario decides
	// PredictorBytes is the memory that a predictor takes for so many samples at once. Nil: it does not count.
	PredictorBytes func(samples int) int64

	// Best has the labels of the five highest scores of each sample that was answered, the best first: the official log has
	// room for one. Nil: they are not kept.
	Best [][]int32

	Notes []string // how the model files were understood
	// Limitations are what options make the benchmark do differently from the rules.
	Limitations  []limitation.Limitation
	Answers      func() []limitation.Limitation // that the answers give rise to; nil: none
	EndTokens    []int32                        // the tokens that end an answer
	Alike        int                            // samples whose reference answer is that of an earlier sample, too
	ScoreOptions Values                         // the options of the official script that follow from samples and model

	// Replayed compares the answers of a test of performance with recorded ones. It takes the samples in Order as they were issued, and whether
	// each was answered. Nil: nothing is recorded.
	Replayed func(issued iter.Seq2[int, bool]) *Replay

	// Close frees what the workload has opened. Nil: nothing.
	Close func() error

	// Log is a file that a test leaves beside LoadGen's logs. Nil: none.
	Log *Log

	// Exchange says how a sample gets to another machine and its response back. Nil: it cannot.
	Exchange *Exchange
	// SystemName asks all nodes of a system under test on other machines for their names. Nil: the system is here.
	SystemName func(ctx context.Context) (string, error)
}

// A Log is a file of what happened in a test. Write is called when the test has ended.
type Log struct {
	Name  string
	Write func(io.Writer) error
}

// A Replay compares answers with recorded ones, as mlcommons/endpoints does (evaluation/scoring.py, AgenticInferenceInlineScorer).
type Replay struct {
	Score    float64 // mean agreement, 0 to 1; an answer that is missing has 0
	Issued   int     // requests
	Compared int     // of these, with something to compare
	Missing  int     // of these, without an answer
	Document []byte  // scores.json
}

// A Raw makes a sample of the bytes that the data set has of it, as Prepare does: a file, or a text.
type Raw struct {
	What string // is timed: decoding and resizing images
	// Read reads the bytes; it is not timed.
	Read func(index int) ([]byte, error)
	// Make fills a row. Several goroutines may call it at once.
	Make func(raw []byte, index int, row []tensor.Tensor) error
}

// RowBytes is the memory that the row of a sample takes.
func (w *Workload) RowBytes(index int) int64 {
	if w.Row == nil {
		return 0
	}
	return Bytes(w.Row(index))
}

// OutputsOf is Outputs, and nil where that is nil.
func (w *Workload) OutputsOf(role string) []string {
	if w.Outputs == nil {
		return nil
	}
	return w.Outputs(role)
}

// OpenPredictor returns a predictor whichever way samples are answered.
func (w *Workload) OpenPredictor(sessions Sessions, maxBatch int) (Predictor, error) {
	switch {
	case w.NewDecoder != nil:
		return w.NewDecoder(sessions, maxBatch)
	case w.Prompts != nil:
		return NewPromptPredictor(sessions, w.Prompts)
	}
	return w.NewPredictor(sessions, maxBatch)
}

// Sessions are a worker's sessions, by role. Other workers may use the same session.
type Sessions map[string]backend.Session

// A Slot is one tensor of a sample, without a batch axis.
type Slot struct {
	Type  tensor.DType
	Shape tensor.Shape
}

// Bytes is the memory that the slot takes.
func (s Slot) Bytes() int64 { return s.Shape.Len() * int64(s.Type.Size()) }

// String describes the slot as float32[3 224 224].
func (s Slot) String() string { return fmt.Sprintf("%v%v", s.Type, s.Shape) }

// Bytes is the memory that a row takes.
func Bytes(row []Slot) int64 {
	n := int64(0)
	for _, slot := range row {
		n += slot.Bytes()
	}
	return n
}

// ErrNoAnswer is the error of a sample that a predictor or decoder left without an answer, and without an error.
var ErrNoAnswer = errors.New("the model gave no answer")

// A Predictor answers samples on behalf of one worker. One goroutine uses it.
type Predictor interface {
	// Use says that samples come from this store from now on. The store may be nil: then none come.
	Use(store *Store) error
	// Predict answers all items, at most as many as the predictor was made for. An error means
	// that the items without a reply could not be answered.
	Predict(ctx context.Context, items []Item, reply Reply) error
	Close() error
}

// A Decoder is a Predictor of sequences, which end one by one: it admits another sample
// whenever it has room, instead of waiting for a batch to end (continuous batching).
type Decoder interface {
	Predictor
	// Serve answers samples of a source until the source is closed. It returns when all samples that it
	// admitted are answered, or soon after ctx ended. An error means that those without an
	// answer could not be answered; the decoder is not used any more then.
	//
	// Use may be called while no sample is admitted: it holds from the next admission on.
	Serve(ctx context.Context, source Source) error
}

// An Item is a sample to answer.
type Item struct {
	Row    int // in the store
	Index  int // in the data set
	Ticket int // names it in replies; in a batch, its place
	// Due is when the answer to a sample of a Source is late; zero: never.
	Due time.Time
}

// A Reply takes answers. It copies bytes before its methods return.
type Reply interface {
	// FirstToken says that the first output token of an item is there.
	FirstToken(ticket int, token []byte)
	// Done answers an item. Tokens counts its output tokens, where it has any.
	Done(ticket int, response []byte, tokens int)
}

// A Source has the samples that wait for a Decoder, and takes their answers. One goroutine uses it.
type Source interface {
	// Admit appends waiting samples to items: the oldest, at most n, and at most as many as fit
	// beside those that were admitted and are not answered yet. A ticket names a sample until it is
	// answered. If no sample waits, Admit returns at once, unless wait is set and all admitted samples are
	// answered: then it waits for one. It returns false once the source is closed.
	Admit(items []Item, n int, wait bool) ([]Item, bool)
	Reply
	// Token takes each token of an answer as soon as it is there, also the first one.
	Token(ticket int, token []byte)
	// Worked says that work on answers goes on: it tells a long answer from one that never comes.
	Worked()
}

// BatchSource is a Source of the items of a batch, with which a Decoder implements Predict.
func BatchSource(items []Item, reply Reply) Source { return &batchSource{reply, items} }

type batchSource struct {
	Reply
	left []Item
}

func (s *batchSource) Admit(items []Item, n int, _ bool) ([]Item, bool) {
	n = min(n, len(s.left))
	items = append(items, s.left[:n]...)
	s.left = s.left[n:]
	return items, len(s.left) > 0
}

func (*batchSource) Token(int, []byte) {}
func (*batchSource) Worked()           {}

// An Exchange says how samples and responses pass between LoadGen's machine, which has the data
// set, and a system under test on another one, which has not: in the Network division, and for clients of mlperf serve.
type Exchange struct {
	// Inputs are the tensors that are sent: the first ones of a row, then Constants. An extent is
	// -1 where samples differ. Nil: the row as it is, the same for all samples, by the names of the model's inputs.
	Inputs []Input
	// Constants are the same for all samples. They are sent with each sample.
	Constants []tensor.Tensor
	// Complete returns the row of a sample whose sent tensors have these shapes, or says what is
	// wrong with them. It is there if Inputs are.
	Complete func(shapes []tensor.Shape) ([]Slot, error)
	// Decode fills a row from the file of a sample. Nil: samples are not files.
	Decode func(file []byte, row []tensor.Tensor) error
	// Film fills a row for a request for a video, or says what is wrong with it. Nil: answers are not videos.
	Film func(r *backend.VideoRequest, row []tensor.Tensor) error
	// Check says what is wrong with the content of a row that was sent. Nil: any content is right.
	Check func(row []tensor.Tensor) error
	// Stamp writes into a response what only the data set knows: the index of the sample, or
	// the part of its row that was not sent. Nil: nothing.
	Stamp func(response []byte, index int, row []tensor.Tensor)
	// NeedsDataset says what answers depend on besides the row, in the data set. Empty: nothing.
	NeedsDataset string
	// Sequences is set for models that turn a row of tokens, or of sound, into tokens.
	Sequences *Sequences
}

// An Input is a tensor of a sample that is sent.
type Input struct {
	Name string
	Slot
}

// Sequences say how a model answers rows that are not of its data set.
type Sequences struct {
	// ForRows returns the same model for as many rows as there are limits. A limit is the
	// most tokens of the next answer to the row, 0: as many as the benchmark allows; the caller sets it before
	// the row waits for its answer. Room behind the sent part of a row is filled with -1, or NaN.
	ForRows func(limits []int) *Workload
	// ReadFile makes the sent tensor of a file of at most FileBytes. Nil: rows do not come as files.
	ReadFile  func(file []byte) (tensor.Tensor, error)
	FileBytes int64
	// Text is set where the tokens are those of texts, on both sides.
	Text *TextFormat
}

// A TextFormat says how texts become the prompts and answers of a model.
type TextFormat struct {
	MaxPrompt, MaxAnswer int // tokens
	// Tokens appends the tokens of a response.
	Tokens func(dst []int32, response []byte) []int32
	// Tokenizer is the model's own. Nil: it has none, and prompts and answers are numbers.
	Tokenizer Tokenizer
	// ChatTemplate writes messages, which have a role and a content, as a text with all its special tokens,
	// which ends where the answer begins. Nil: the model has no template.
	ChatTemplate func(messages []map[string]any) (string, error)
}

// A Tokenizer turns texts into tokens and back.
type Tokenizer interface {
	// Encode adds the special tokens that belong around a text.
	Encode(text string) ([]int32, error)
	// EncodePlain adds none: they are in the text.
	EncodePlain(text string) ([]int32, error)
	Decode(tokens []int32) (string, error)
}

// ErrNoFile says that the samples of a benchmark are not files.
var ErrNoFile = errors.New("the samples of this benchmark are not files: send their tensors")
