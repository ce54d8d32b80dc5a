package text

import (
	"context"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The settings of the reference (language/bert, squad_QSL.py).
const (
	windowLength = 384
	windowStride = 128
	maxQuestion  = 64
)

// A squadSet are the windows of SQuAD: each is a sample.
type squadSet struct {
	data      *dataset.SQuAD
	documents []*document // of each text
	wordPiece *tokenizer.WordPiece
	windows   []window
}

// openSet cuts the texts of a folder into windows.
func openSet(dir string) (*squadSet, error) {
	data, err := dataset.OpenSQuAD(dir)
	if err != nil {
		return nil, err
	}
	s := &squadSet{data: data, documents: make([]*document, len(data.Texts))}
	if s.wordPiece, err = readWordPiece(dataset.VocabularyPath(dir)); err != nil {
		return nil, fmt.Errorf("opening SQuAD: %w", err)
	}
	cut := s.cutter()
	for i, q := range data.Questions {
		if s.documents[q.Text] == nil {
			s.documents[q.Text] = cut.document(splitWords(data.Texts[q.Text]))
		}
		s.windows = cut.windows(s.windows, i, q.Asked, s.documents[q.Text])
	}
	if len(s.windows) == 0 {
		return nil, fmt.Errorf("opening SQuAD: all texts in %s are empty", dir)
	}
	return s, nil
}

func (s *squadSet) cutter() *cutter {
	return &cutter{WordPiece: s.wordPiece, Length: windowLength, Stride: windowStride, MaxQuestion: maxQuestion}
}

func readWordPiece(path string) (*tokenizer.WordPiece, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := tokenizer.ReadVocabulary(f, path)
	if err != nil {
		return nil, err
	}
	return tokenizer.NewWordPiece(v)
}

// openSquad opens SQuAD and reads the ports of a model file. Responses have pairs of start and end, or transposed: all starts
// before all ends.
func openSquad(transposed bool) func(workload.Setup) (*workload.Workload, error) {
	return func(s workload.Setup) (*workload.Workload, error) {
		w, err := newSquad(s, transposed)
		if err != nil {
			return nil, err
		}
		return w.workload(), nil
	}
}

func newSquad(s workload.Setup, transposed bool) (*squad, error) {
	set, err := openSet(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Count > len(set.windows) {
		return nil, fmt.Errorf("opening SQuAD: expected %d windows, %s has %d", s.Count, s.DatasetDir, len(set.windows))
	}
	if s.Count > 0 {
		set.windows = set.windows[:s.Count]
	}
	w, ports := &squad{set: set, transposed: transposed}, s.Ports[workload.Only]
	if w.inputs, err = bindInputs(ports.Inputs); err != nil {
		return nil, err
	}
	if w.outputs, err = bindSpans(ports.Outputs, s.Options[outputOption]); err != nil {
		return nil, err
	}
	shape, err := shared(w.inputs)
	if err != nil {
		return nil, err
	}
	w.batch, w.longest = int(shape[0]), strings.EqualFold(s.Options[padOption], padLongest)
	if w.longest && shape[1] == windowLength {
		return nil, userinput.Errorf(padOption, "the inputs are %s: the model takes windows of %d pieces only",
			workload.DescribePorts(ports.Inputs), windowLength)
	}
	return w, nil
}

func (w *squad) workload() *workload.Workload {
	out := &workload.Workload{
		Samples: len(w.set.windows), Row: func(int) []workload.Slot { return windowRow() }, Prepare: w.prepare, Raw: w.set.raw(),
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newSpanReader(w, sessions[workload.Only], maxBatch)
		},
		Outputs: func(string) []string { return w.outputs.names }, Batch: max(w.batch, 0),
		Notes:    []string{describeInputs(w.inputs), w.outputs.String(), fmt.Sprintf("windows are padded to %d pieces", windowLength)},
		Exchange: &workload.Exchange{Complete: func([]tensor.Shape) ([]workload.Slot, error) { return windowRow(), nil }, Check: w.check},
	}
	for i, slot := range windowRow() {
		out.Exchange.Inputs = append(out.Exchange.Inputs, workload.Input{Name: sentNames[i], Slot: slot})
	}
	if w.longest {
		out.Length = func(index int) int { return len(w.set.windows[index].Pieces) }
		out.PaddedLength = func(index int) int { return roundedUp(out.Length(index)) }
		out.Notes[2] = "windows are padded to the longest of a batch, rounded up to a multiple of 8; responses are as long as their windows"
	}
	return out
}

// windowRow are the tensors of a window: pieces, mask and segments.
func windowRow() []workload.Slot {
	slot := workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{windowLength}}
	return []workload.Slot{slot, slot, slot}
}

// maskSlot is the slot of a row with the attention mask.
const maskSlot = 1

func (w *squad) prepare(index int, row []tensor.Tensor) error {
	w.set.windows[index].fill(tensor.Data[int64](row[0]), tensor.Data[int64](row[1]), tensor.Data[int64](row[2]))
	return nil
}

// raw makes a window of the texts of its question and document: both are split into pieces, and cut into windows, for each window.
func (s *squadSet) raw() *workload.Raw {
	const between = "\x00"
	return &workload.Raw{
		What: "splitting into pieces and cutting into windows",
		Read: func(index int) ([]byte, error) {
			q := s.data.Questions[s.windows[index].Question]
			return []byte(q.Asked + between + s.data.Texts[q.Text]), nil
		},
		Make: func(raw []byte, index int, row []tensor.Tensor) error {
			asked, document, _ := strings.Cut(string(raw), between)
			first := index
			for first > 0 && s.windows[first-1].Question == s.windows[index].Question {
				first--
			}
			cut := s.cutter()
			list := cut.windows(nil, s.windows[index].Question, asked, cut.document(splitWords(document)))
			if index-first >= len(list) {
				return fmt.Errorf("the question has %d windows, expected the one after %d", len(list), index-first)
			}
			list[index-first].fill(tensor.Data[int64](row[0]), tensor.Data[int64](row[1]), tensor.Data[int64](row[2]))
			return nil
		},
	}
}

// roundedUp is the padded length of a batch: the next multiple of 8, so that 48 shapes occur and not 384.
func roundedUp(pieces int) int { return (pieces + 7) / 8 * 8 }

// squad is a model with the windows of SQuAD.
type squad struct {
	set     *squadSet
	inputs  []squadInput
	outputs spanOutputs
	batch   int
	longest bool // windows are padded to the longest of a batch

	transposed bool // responses have all starts before all ends, as in MLPerf Mobile
}

// sentNames are the names of the tensors of a row, those of the reference.
var sentNames = [...]string{"input_ids", "input_mask", "segment_ids"}

// check checks the values of a window that is sent: with others, some devices read outside of the table of pieces.
func (w *squad) check(row []tensor.Tensor) error {
	limits, ended := [...]int64{int64(w.set.wordPiece.Vocabulary().Len()), 2, 2}, false
	for k, limit := range limits {
		for i, n := range tensor.Data[int64](row[k]) {
			if n < 0 || n >= limit {
				return fmt.Errorf("%s: place %d is %d: must be 0 to %d", sentNames[k], i, n, limit-1)
			}
		}
	}
	for i, n := range tensor.Data[int64](row[maskSlot]) {
		if ended && n == 1 {
			return fmt.Errorf("%s: place %d is 1 after a 0: must be ones and then zeros", sentNames[maskSlot], i)
		}
		ended = n == 0
	}
	return nil
}

// scoreSquad scores a log of start and end logits as accuracy-squad.py and evaluate_v1.1.py do.
func scoreSquad(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	return scoreSpans(log, s, false)
}

// scoreSpans is scoreSquad for logs that may be transposed.
func scoreSpans(log accuracy.Input, s workload.Scoring, transposed bool) (*accuracy.Score, error) {
	o, err := parseSquadScoring(s.Options)
	if err != nil {
		return nil, err
	}
	o.Transposed = o.Transposed || transposed
	set, err := openSet(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Samples > 0 && s.Samples < len(set.windows) { // score the questions of these windows
		set.windows = set.windows[:s.Samples]
		set.data.Questions = set.data.Questions[:set.windows[s.Samples-1].Question+1]
	}
	ends := make([]spanEnds, len(set.windows))
	coverage, err := accuracy.ReadSpanLogits(log, len(set.windows), windowLength, o.SpanOptions, func(i int, starts, stops []float64) {
		ends[i] = spanEnds{Starts: bestPositions(starts), Stops: bestPositions(stops)}
	})
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ScoreSQuAD(set.data.Truth(), set.predictions(ends, o.questions), o.questions)
	if err != nil {
		return nil, err
	}
	score.Coverage = coverage
	return score, nil
}

// predictions returns the answers to the first questions; 0: to all.
func (s *squadSet) predictions(ends []spanEnds, questions int) map[string]string {
	answers := make(map[string]string, len(s.data.Questions))
	first := 0
	for i, q := range s.data.Questions {
		if questions > 0 && i == questions {
			break
		}
		last := first
		for last < len(s.windows) && s.windows[last].Question == i {
			last++
		}
		var words []string
		if d := s.documents[q.Text]; d != nil {
			words = d.Words
		}
		answers[q.ID] = answerOf(s.windows[first:last], ends[first:last], words, s.wordPiece.Vocabulary())
		first = last
	}
	return answers
}
