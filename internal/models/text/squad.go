package text

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	windows "github.com/mlperf-go/mlperf/internal/preprocess/text"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// What the reference sets (language/bert, squad_QSL.py).
const (
	windowLength = 384
	windowStride = 128
	maxQuestion  = 64
)

// A squadSet are the windows of SQuAD: each is a sample.
type squadSet struct {
	data      *dataset.SQuAD
	documents []*windows.Document // of each text
	wordPiece *tokenizer.WordPiece
	windows   []windows.Window
}

// openSet cuts the texts of a folder into windows.
func openSet(dir string) (*squadSet, error) {
	data, err := dataset.OpenSQuAD(dir)
	if err != nil {
		return nil, err
	}
	s := &squadSet{data: data, documents: make([]*windows.Document, len(data.Texts))}
	if s.wordPiece, err = readWordPiece(dataset.VocabularyPath(dir)); err != nil {
		return nil, fmt.Errorf("opening SQuAD: %w", err)
	}
	cut := windows.Cutter{WordPiece: s.wordPiece, Length: windowLength, Stride: windowStride, MaxQuestion: maxQuestion}
	for i, q := range data.Questions {
		if s.documents[q.Text] == nil {
			s.documents[q.Text] = cut.Document(windows.Words(data.Texts[q.Text]))
		}
		s.windows = cut.Windows(s.windows, i, q.Asked, s.documents[q.Text])
	}
	if len(s.windows) == 0 {
		return nil, fmt.Errorf("opening SQuAD: all texts in %s are empty", dir)
	}
	return s, nil
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

// openSquad joins SQuAD with a model file that marks answers.
// Responses have starts and ends by pairs, or transposed: all starts before all ends.
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
	if err := set.keep(s.Count); err != nil {
		return nil, fmt.Errorf("opening SQuAD: %s: %w", s.DatasetDir, err)
	}
	w := &squad{set: set, transposed: transposed}
	if err := w.bind(s.Ports[workload.Only], s.Options); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *squad) workload() *workload.Workload {
	out := &workload.Workload{
		Samples: len(w.set.windows), Row: func(int) []workload.Slot { return windowRow() }, Prepare: w.prepare,
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newSpanReader(w, sessions[workload.Only], maxBatch)
		},
		Outputs: func(string) []string { return w.outputs.names }, Batch: max(w.batch, 0),
		Notes:    []string{describeInputs(w.inputs), w.outputs.String(), fmt.Sprintf("windows are filled up to %d pieces", windowLength)},
		Exchange: &workload.Exchange{Complete: func([]tensor.Shape) ([]workload.Slot, error) { return windowRow(), nil }, Check: w.check},
	}
	for i, slot := range windowRow() {
		out.Exchange.Inputs = append(out.Exchange.Inputs, workload.Input{Name: sentNames[i], Slot: slot})
	}
	if w.longest {
		out.Length = func(index int) int { return len(w.set.windows[index].Pieces) }
		out.PaddedLength = func(index int) int { return roundedUp(out.Length(index)) }
		out.Notes[2] = "windows are filled up to the longest of a batch, rounded up to a multiple of 8; responses are as long as their windows"
	}
	return out
}

// windowRow are the tensors of a window: pieces, mask and segments.
func windowRow() []workload.Slot {
	slot := workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{windowLength}}
	return []workload.Slot{slot, slot, slot}
}

// maskSlot is the tensor of a row that says which places of a window have a piece.
const maskSlot = 1

func (w *squad) prepare(index int, row []tensor.Tensor) error {
	w.set.windows[index].Fill(tensor.Data[int64](row[0]), tensor.Data[int64](row[1]), tensor.Data[int64](row[2]))
	return nil
}

// bind finds out how windows go into the model, and logits come out.
func (w *squad) bind(ports workload.Ports, options workload.Values) (err error) {
	if w.inputs, err = bindInputs(ports.Inputs); err != nil {
		return err
	}
	if w.outputs, err = bindSpans(ports.Outputs, options[outputOption]); err != nil {
		return err
	}
	shape, err := shared(w.inputs)
	if err != nil {
		return err
	}
	w.batch, w.longest = int(shape[0]), strings.EqualFold(options[padOption], padLongest)
	if w.longest && shape[1] == windowLength {
		return userinput.Errorf(padOption, "the inputs are %s: the model takes windows of %d pieces only", workload.DescribePorts(ports.Inputs), windowLength)
	}
	return nil
}

// keep keeps the first windows only; 0: all.
func (s *squadSet) keep(n int) error {
	if n > len(s.windows) {
		return fmt.Errorf("%d windows are wanted, there are %d", n, len(s.windows))
	}
	if n > 0 {
		s.windows = s.windows[:n]
	}
	return nil
}

// roundedUp is the length to which the windows of a batch are filled up whose longest has so many pieces: to
// the next multiple of 8, so that there are 48 shapes and not 384.
func roundedUp(pieces int) int { return (pieces + 7) / 8 * 8 }

// squad is a model joined with the windows of SQuAD.
type squad struct {
	set     *squadSet
	inputs  []squadInput
	outputs spanOutputs
	batch   int
	longest bool // windows are filled up to the longest of a batch

	transposed bool // responses have all starts before all ends, as in MLPerf Mobile
}
