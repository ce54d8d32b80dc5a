package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Workload is a model joined with its data: everything that is specific to a
// benchmark while it runs. Its methods may be called from several goroutines.
type Workload interface {
	// Len is the number of samples.
	Len() int
	// Row says what a sample consists of: tensors of which the number and the types are the
	// same for all samples, and the shapes may differ. It reads nothing and is quick.
	Row(index int) []Slot
	// CacheKey names everything that decides the content of the rows: the files, the
	// steps, and the version of the code. It is empty if rows are not worth keeping.
	CacheKey() string
	// Prepare fills the row of a sample.
	Prepare(index int, row []tensor.Tensor) error
	// Outputs names the outputs of the file of a role that predictors read, in order; nil:
	// all.
	Outputs(role string) []string
	// Batch is how many samples the model takes in one run; -1: any number.
	Batch() int
	// NewPredictor returns a predictor for one worker, for up to maxBatch samples at once.
	NewPredictor(sessions Sessions, maxBatch int) (Predictor, error)
	// Notes says in words how the model files were understood.
	Notes() []string
}

// An Ending is a workload whose answers are tokens, and that knows which of them end an answer.
type Ending interface{ EndTokens() []int32 }

// Sessions are a worker's sessions, by role. A session may be used by other workers too.
type Sessions map[string]backend.Session

// A Scored is a workload whose responses have to be scored with options of the official
// script, because of how its samples were chosen.
type Scored interface {
	ScoreOptions() Values
}

// A Deviating is a workload that may have been asked to do otherwise than its benchmark says.
type Deviating interface {
	// Caveats say what it does otherwise; none: nothing.
	Caveats() []string
}

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

// A Predictor answers samples on behalf of one worker: it is used by one goroutine.
type Predictor interface {
	// Use says that the samples of a store will be asked for from now on, and no longer
	// those of the one before. The store may be nil: then none will.
	Use(store *Store) error
	// Predict answers all items, at most as many as the predictor was made for.
	// An error means that those without a reply could not be answered.
	Predict(ctx context.Context, items []Item, reply Reply) error
	Close() error
}

// An Item is a sample to answer.
type Item struct {
	Row    int // in the store
	Index  int // in the data set
	Ticket int // names it in replies; in a batch, its place
	// Due is when the answer of a sample that a Puller admits is late; zero: never.
	Due time.Time
}

// A Reply takes answers. Bytes are copied before the method returns.
type Reply interface {
	// FirstToken says that the first output token of an item is there.
	FirstToken(ticket int, token []byte)
	// Done answers an item. Tokens counts its output tokens, where there are such.
	Done(ticket int, response []byte, tokens int)
}

// A Portable is a workload whose predictors look at rows and at nothing else of a data set, so
// that they can answer samples of one that is elsewhere.
type Portable interface {
	// Decode fills a row from the file of a sample; ErrNoFile: samples are none.
	Decode(file []byte, row []tensor.Tensor) error
	// Stamp writes into a response what is known only where the data set is: the index of the
	// sample, or what is in the row that was not sent.
	Stamp(response []byte, index int, row []tensor.Tensor)
}

// A Tied is a Portable some of whose answers depend on more of the data set than the row after all.
type Tied interface {
	// Tied says on what; empty: on nothing.
	Tied() string
}

// ErrNoFile says that the samples of a benchmark are not files.
var ErrNoFile = errors.New("the samples of this benchmark are no files: send their tensors")

// A Varied is a Portable whose samples differ in shape, or of which a part is not sent.
type Varied interface {
	Portable
	// Sent are the tensors of a row that a system under test gets; an extent is -1 where samples
	// differ. They are the first ones of the row, and those of a Constant.
	Sent() []Sent
	// Complete returns the row of a sample of which tensors of these shapes were sent, or what is
	// wrong with them.
	Complete(sent []tensor.Shape) ([]Slot, error)
}

// A Constant is a Varied with tensors that are the same for all samples: they are sent with each, behind those of
// its row, as a system under test has no data set to take them from.
type Constant interface {
	Varied
	// Constants are these tensors, the last ones of what is sent.
	Constants() []tensor.Tensor
}

// A Checking finds what is wrong with the content of a row from elsewhere.
type Checking interface {
	Check(row []tensor.Tensor) error
}

// A Sent is a tensor of a sample that is sent.
type Sent struct {
	Name string
	Slot
}

// A Distant is a workload whose system under test is on other machines.
type Distant interface {
	// SystemName asks every node for its name: it makes a round trip to each.
	SystemName(ctx context.Context) (string, error)
}

// A Long is a workload whose samples are of different lengths, and cheaper to answer beside
// others that are about as long. Samples that wait are grouped by it, as far as that makes
// nobody late.
type Long interface {
	Length(index int) int
}

// A Padded is a Long whose predictors fill samples up to one of a few lengths, for each of which a device
// may compile the model.
type Padded interface {
	Long
	Padded(index int) int
}
