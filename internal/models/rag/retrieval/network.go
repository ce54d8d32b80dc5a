package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
)

// The lengths of texts in pieces, with the marks around them: of passages, and of questions for the reranker (reranker_worker.py; max_seq_length of
// e5-base-v2).
const (
	passagePieces  = 512
	questionPieces = 32
)

// A network is a BERT that gives a state for each piece of a text. Several goroutines may use it at once.
type network struct {
	session backend.Session
	inputs  []port
	width   int // numbers of a state
	texts   int // in a run; 0: any number
	pieces  *tokenizer.WordPiece
	slots   chan struct{} // one for each run that there may be at once; nil: any number
}

// A port is an input of the network, and what it takes.
type port struct {
	takes input
	dtype tensor.DType
}

type input uint8

const (
	takesPieces input = iota
	takesMask
	takesSegments
)

// inputNames are the names of exports of Hugging Face's BERT.
var inputNames = map[string]input{"input_ids": takesPieces, "attention_mask": takesMask, "token_type_ids": takesSegments}

// stateNames are the names of the output in exports of transformers and of sentence-transformers. Of other names the first output of
// three axes counts.
var stateNames = []string{"last_hidden_state", "token_embeddings"}

// States returns the output with the states of pieces of a file with these ports, and how many numbers a state has. The file must be an export
// of a BERT: inputs input_ids, attention_mask and perhaps token_type_ids, int64 or int32, [texts pieces] with free lengths, and an output
// float32 [texts pieces width].
func States(ports workload.Ports) (output string, width int, err error) {
	if _, err := inputsOf(ports.Inputs); err != nil {
		return "", 0, err
	}
	out := -1
	for _, name := range stateNames {
		if i := slices.IndexFunc(ports.Outputs, func(p backend.Port) bool { return p.Name == name }); i >= 0 && out < 0 {
			out = i
		}
	}
	if out < 0 {
		out = slices.IndexFunc(ports.Outputs, func(p backend.Port) bool { return len(p.Shape) == 3 })
	}
	if out < 0 {
		return "", 0, fmt.Errorf("the model has the outputs %s: expected %s, float32[texts pieces width], a state for each piece",
			workload.DescribePorts(ports.Outputs), stateNames[0])
	}
	p := ports.Outputs[out]
	if p.Type != tensor.Float32 || len(p.Shape) != 3 || p.Shape[2] < 1 {
		return "", 0, fmt.Errorf("the output %s is %v%v: must be float32[texts pieces width] with a known width", p.Name, p.Type, p.Shape)
	}
	return p.Name, int(p.Shape[2]), nil
}

// inputsOf checks the inputs of a file.
func inputsOf(ports []backend.Port) ([]port, error) {
	var list []port
	for _, p := range ports {
		takes, known := inputNames[p.Name]
		if !known {
			return nil, fmt.Errorf("the model has an input %q: must be input_ids, attention_mask and perhaps token_type_ids", p.Name)
		}
		if p.Type != tensor.Int64 && p.Type != tensor.Int32 || len(p.Shape) != 2 {
			return nil, fmt.Errorf("the input %s is %v%v: must be int64 or int32, [texts pieces]", p.Name, p.Type, p.Shape)
		}
		if p.Shape[1] != -1 {
			return nil, fmt.Errorf("the input %s takes texts of %d pieces: must be of any length, an export with free axes", p.Name, p.Shape[1])
		}
		list = append(list, port{takes, p.Type})
	}
	for _, name := range []string{"input_ids", "attention_mask"} {
		if !slices.ContainsFunc(list, func(p port) bool { return p.takes == inputNames[name] }) {
			return nil, fmt.Errorf("the model has no input %s, it has %s", name, workload.DescribePorts(ports))
		}
	}
	return list, nil
}

// newNetwork makes a network of a session that gives out the states only.
func newNetwork(session backend.Session, pieces *tokenizer.WordPiece) (*network, error) {
	info := session.Info()
	if len(info.Outputs) != 1 {
		return nil, fmt.Errorf("the session has %d outputs, expected that of States", len(info.Outputs))
	}
	inputs, err := inputsOf(info.Inputs)
	if err != nil {
		return nil, err
	}
	n := &network{session: session, inputs: inputs, pieces: pieces, texts: max(info.Inputs[0].Batch(), 0)}
	if _, n.width, err = States(workload.Ports{Inputs: info.Inputs, Outputs: info.Outputs}); err != nil {
		return nil, err
	}
	return n, nil
}

// split makes pieces of a text with the marks around them, at most so many.
func (n *network) split(text string, most int) []int32 {
	list := n.pieces.Append([]int32{n.pieces.Begin}, text)
	return append(list[:min(len(list), most-1)], n.pieces.Separator)
}

// The largest run: more texts at once are no faster on a processor, and take memory.
const (
	runTexts  = 32
	runPieces = 8192
)

// run has the network read texts of pieces and hands the states of each to a function, in any order, with width numbers for each piece. The
// states are valid until the function returns. Texts of about the same length share a run.
func (n *network) run(ctx context.Context, texts [][]int32, use func(text int, states []float32)) error {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(texts[b]), len(texts[a])) }) // the longest first: it takes the most memory
	for len(order) > 0 {
		length := roundedUp(len(texts[order[0]]))
		most := max(1, min(runTexts, runPieces/length))
		if n.texts > 0 {
			most = n.texts
		}
		some := order[:min(most, len(order))]
		order = order[len(some):]
		if err := n.runSome(ctx, texts, some, length, use); err != nil {
			return err
		}
	}
	return nil
}

// roundedUp is the padded length of texts: the next multiple of 8, so that engines see 64 shapes and not 512.
func roundedUp(pieces int) int { return min((pieces+7)/8*8, passagePieces) }

// runSome is a run of some texts.
func (n *network) runSome(ctx context.Context, texts [][]int32, some []int, length int, use func(int, []float32)) (err error) {
	rows := len(some)
	if n.texts > 0 {
		rows = n.texts
	}
	var in []backend.Value
	bind := func(t tensor.Tensor) backend.Value {
		v, failed := n.session.Bind(t)
		err = errors.Join(err, failed)
		return v
	}
	defer func() {
		for _, v := range in {
			if v != nil {
				err = errors.Join(err, v.Close())
			}
		}
	}()
	for _, p := range n.inputs {
		t := tensor.New(p.dtype, int64(rows), int64(length))
		fillInput(t, p.takes, texts, some, length)
		in = append(in, bind(t))
	}
	out := bind(tensor.New(tensor.Float32, int64(rows), int64(length), int64(n.width)))
	in = append(in, out)
	if err != nil {
		return err
	}
	if n.slots != nil {
		select {
		case n.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err = n.session.Run(ctx, in[:len(n.inputs)], in[len(n.inputs):])
	if n.slots != nil {
		<-n.slots
	}
	if err != nil {
		return err
	}
	states := tensor.Data[float32](out.Tensor())
	for row, i := range some {
		own := states[row*length*n.width:][:len(texts[i])*n.width]
		if at := slices.IndexFunc(own, func(v float32) bool { return v-v != 0 }); at >= 0 {
			return fmt.Errorf("number %d of the state of piece %d is %v: must be a finite number", at%n.width, at/n.width, own[at])
		}
		use(i, own)
	}
	return nil
}

// fillInput writes pieces and their masks. Segments are 0.
func fillInput(t tensor.Tensor, takes input, texts [][]int32, some []int, length int) {
	set := func(at int, v int32) {
		if t.Type == tensor.Int64 {
			tensor.Data[int64](t)[at] = int64(v)
		} else {
			tensor.Data[int32](t)[at] = v
		}
	}
	for row, i := range some {
		for k, piece := range texts[i] {
			switch takes {
			case takesPieces:
				set(row*length+k, piece)
			case takesMask:
				set(row*length+k, 1)
			}
		}
	}
}

// An Encoder makes vectors of texts, as sentence-transformers does with e5-base-v2: the mean of the states of all pieces, brought to length 1.
// No "query: " and "passage: " stand before the texts (retrieve/vectordb.py). Several goroutines may use it at once.
type Encoder struct{ network }

// NewEncoder makes an encoder of a session with the output of States, and the vocabulary of the model.
func NewEncoder(session backend.Session, pieces *tokenizer.WordPiece) (*Encoder, error) {
	n, err := newNetwork(session, pieces)
	if err != nil {
		return nil, fmt.Errorf("the encoder: %w", err)
	}
	return &Encoder{*n}, nil
}

// Width is how many numbers a vector has.
func (e *Encoder) Width() int { return e.width }

// Encode returns a vector of length 1 for each text. Texts of more than 512 pieces are cut.
func (e *Encoder) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	list, vectors := make([][]int32, len(texts)), make([][]float32, len(texts))
	for i, text := range texts {
		list[i] = e.split(strings.ReplaceAll(text, "\n", " "), passagePieces) // as langchain_huggingface does
	}
	err := e.run(ctx, list, func(i int, states []float32) { vectors[i] = mean(states, e.width) })
	if err != nil {
		return nil, fmt.Errorf("the encoder: %w", err)
	}
	return vectors, nil
}

// mean is the mean of states, of length 1.
func mean(states []float32, width int) []float32 {
	sums := make([]float64, width)
	for i, v := range states {
		sums[i%width] += float64(v)
	}
	square := 0.0
	for _, s := range sums {
		square += s * s
	}
	v, scale := make([]float32, width), 1/max(math.Sqrt(square), 1e-12)
	for i, s := range sums {
		v[i] = float32(s * scale)
	}
	return v
}

// A Reranker compares a question and passages piece by piece, as the reference does with ColBERTv2 (reranker_worker.py): for each piece of the
// question, the greatest inner product of its state with that of any piece of the passage, summed up. The reference loads the network with
// transformers' AutoModel, and so without ColBERT's projection, marks [Q] and [D], and normalisation. Several goroutines may use it at once.
type Reranker struct{ network }

// NewReranker makes a reranker of a session with the output of States, and the vocabulary of the model.
func NewReranker(session backend.Session, pieces *tokenizer.WordPiece) (*Reranker, error) {
	n, err := newNetwork(session, pieces)
	if err != nil {
		return nil, fmt.Errorf("the reranker: %w", err)
	}
	return &Reranker{*n}, nil
}

// Scores returns a score for each passage. Questions of more than 32 pieces and passages of more than 512 are cut.
func (r *Reranker) Scores(ctx context.Context, question string, passages []string) ([]float64, error) {
	asked := []float32(nil)
	err := r.run(ctx, [][]int32{r.split(question, questionPieces)}, func(_ int, states []float32) { asked = slices.Clone(states) })
	scores := make([]float64, len(passages))
	if err == nil {
		list := make([][]int32, len(passages))
		for i, p := range passages {
			list[i] = r.split(p, passagePieces)
		}
		err = r.run(ctx, list, func(i int, states []float32) { scores[i] = maxSim(asked, states, r.width) })
	}
	if err != nil {
		return nil, fmt.Errorf("the reranker: %w", err)
	}
	return scores, nil
}

// maxSim sums up, for each state of a question, the greatest inner product with a state of a passage.
func maxSim(question, passage []float32, width int) float64 {
	sum := 0.0
	for q := range slices.Chunk(question, width) {
		best := float32(math.Inf(-1))
		for p := range slices.Chunk(passage, width) {
			best = max(best, dot(q, p))
		}
		sum += float64(best)
	}
	return sum
}
