package generative

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/chat"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A writer is what a benchmark on texts differs by from others.
type writer struct {
	rules decode.Rules // Stop are those of the official model
	beams int          // 0: the likeliest token is taken
	read  func(source) (*questionnaire, error)
	marks marker
	asked asking
}

// open joins prompts with a decoder.
func (w writer) open(s workload.Setup) (*workload.Workload, error) {
	t, err := w.decoder(s)
	if err != nil {
		return nil, err
	}
	return t.workload(), nil
}

func (w writer) decoder(s workload.Setup) (*texts, error) {
	from, data, err := w.load(s)
	if err != nil {
		return nil, err
	}
	set, err := parseSetting(s.Options)
	if err != nil {
		return nil, err
	}
	card, err := readCard(s.ModelPath)
	if err != nil {
		return nil, err
	}
	t := &texts{prompts: data.tokens, cuts: data.cuts, rules: w.rules, beams: max(1, w.beams), card: card, chunk: cmp.Or(set.chunk, defaultChunk)}
	t.rules.Stop = card.stopOr(w.rules.Stop)
	t.early = card.endsBefore(w.rules.Stop)
	if t.rules.Sampling, err = set.samplingOf(card, t.beams); err != nil {
		return nil, err
	}
	ports := s.Ports[workload.Only]
	if t.layout, err = decode.ReadLayout(ports.Inputs, ports.Outputs, named(card.names, set.names), cmp.Or(set.cache, card.cache)); err != nil {
		return nil, fmt.Errorf("the model is no decoder that is known: %w", err)
	}
	if err := t.speak(from); err != nil {
		return nil, err
	}
	return t, t.fit(set.context)
}

func (t *texts) workload() *workload.Workload {
	w := &workload.Workload{
		Samples: len(t.prompts), Row: t.row, Prepare: t.prepare,
		NewDecoder: t.newDecoder, Outputs: func(string) []string { return t.layout.Outputs() },
		Slots:          8, // more sequences at once are hardly slower, up to this many
		PredictorBytes: func(slots int) int64 { return t.layout.Bytes(slots*t.beams, t.context) },
		Notes:          t.notes(), Caveats: t.caveats(), EndTokens: t.rules.Stop,
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: "input_ids", Slot: workload.Slot{Type: tensor.Int32, Shape: tensor.Shape{-1}}}},
			Complete: t.complete, Check: t.check,
			Sequences: &workload.Sequences{ForRows: t.forRows, Text: &workload.TextFormat{
				MostPrompt: t.mostPrompt(), MostAnswer: t.rules.MaxNew, Tokens: t.tokens,
			}},
		},
	}
	if len(t.cuts) > 0 {
		w.Exchange.NeedsDataset = "where the answer to a prompt ends"
	}
	if t.words != nil {
		w.Exchange.Sequences.Text.Tokenizer = words{t.words}
	}
	if t.chat != nil {
		w.Exchange.Sequences.Text.ChatTemplate = t.chat.Render
	}
	return w
}

// speak opens the tokenizer and what lies beside it.
func (t *texts) speak(from source) error {
	err := from.fits(t.layout.Rows)
	if err != nil {
		return err
	}
	if t.words, err = from.openTokenizer(); err != nil {
		t.words = nil // prompts that are tokens need none, and fits has said what is wrong with one
	}
	t.chat = chat.Open(filepath.Dir(from.tokenizerPath()))
	return nil
}

// load reads the prompts.
func (w writer) load(s workload.Setup) (source, *questionnaire, error) {
	from := source{folder: s.DatasetDir, tokenizer: s.Options[tokenizerOption], model: folderOf(s.ModelPath), count: s.Count, scored: s.Scored}
	data, err := w.read(from)
	if err == nil && s.Count > len(data.tokens) {
		err = fmt.Errorf("opening the prompts: %d are wanted, %s has %d", s.Count, s.DatasetDir, len(data.tokens))
	}
	return from, data, err
}

// texts is a decoder joined with its prompts.
type texts struct {
	prompts [][]int32
	cuts    map[int][]int32 // tokens after which the answer to a prompt ends
	rules   decode.Rules
	beams   int
	layout  decode.Layout
	card    modelCard
	context int // room for prompt and answer
	chunk   int
	longest int            // prompt
	early   []int32        // tokens that end answers, although the benchmark's go on behind them
	words   *hf.Tokenizer  // nil: there is none
	chat    *chat.Template // beside it; nil: there is none

	limits []int // tokens of answers to rows from elsewhere; nil: rows are those of the prompts
}

// fit finds prompts that the model cannot read, and chooses how much room there is.
func (t *texts) fit(context int) error {
	for i, p := range t.prompts {
		if k := slices.IndexFunc(p, t.unknown); k >= 0 {
			return fmt.Errorf("prompt %d has token %d, the model knows %d: the prompts were made with the tokenizer of another model", i, p[k], t.layout.Rows)
		}
		t.longest = max(t.longest, len(p))
	}
	t.chunk = min(t.chunk, t.longest)
	return t.makeRoom(context)
}

// makeRoom makes room for the longest prompt and its answer, or for as many tokens as are asked for, where the
// model has so many.
func (t *texts) makeRoom(context int) error {
	need, limit := t.longest+t.rules.MaxNew, t.card.context
	if context > 0 && (limit == 0 || context < limit) {
		limit = context
	}
	if limit > 0 && need > limit {
		i := slices.IndexFunc(t.prompts, func(p []int32) bool { return len(p)+t.rules.MaxNew > limit })
		return userinput.Errorf(contextOption, "prompt %d has %d tokens and its answer may have %d, the context has room for %d", i, len(t.prompts[i]), t.rules.MaxNew, limit)
	}
	if t.context = need; context > 0 {
		t.context = limit
	}
	return nil
}

// unknown reports whether the model does not know a token.
func (t *texts) unknown(token int32) bool { return int64(token) >= t.layout.Rows }

// row has the tokens of a prompt.
func (t *texts) row(index int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{int64(len(t.prompts[index]))}}}
}

func (t *texts) prepare(index int, row []tensor.Tensor) error {
	copy(tensor.Data[int32](row[0]), t.prompts[index])
	return nil
}

func (t *texts) newDecoder(sessions workload.Sessions, maxBatch int) (workload.Decoder, error) {
	d, err := decode.NewDecoder(sessions[workload.Only], t.layout, decode.Room{Slots: maxBatch * t.beams, Context: t.context, Chunk: t.chunk})
	if err != nil {
		return nil, err
	}
	p := &decoding{decoder: d}
	if t.beams > 1 {
		p.server, err = decode.NewBeamBatcher(d, t.beams, t.rules, p.prompt)
		return p, err
	}
	b := decode.NewBatcher(d, t.rules, p.prompt)
	if len(t.cuts) > 0 {
		b.Cut(func(item workload.Item) []int32 { return t.cuts[item.Index] })
	}
	if t.limits != nil {
		b.Limit(func(item workload.Item) int { return t.limits[item.Row] })
	}
	p.server = b
	return p, nil
}

// notes say how the model was understood.
func (t *texts) notes() []string {
	from := "the benchmark"
	if len(t.card.stop) > 0 {
		from = t.card.from
	}
	how := ""
	if t.beams > 1 {
		how = fmt.Sprintf(", times %d beams", t.beams)
	}
	return []string{
		t.layout.String(),
		fmt.Sprintf("prompts have up to %d tokens and answers up to %d; they end with %v (from %s)", t.longest, t.rules.MaxNew, t.rules.Stop, from),
		fmt.Sprintf("a sequence takes %.1f MiB of cache for %d tokens%s; prompts are read %d tokens at once", float64(t.layout.Bytes(1, t.context))/(1<<20), t.context, how, t.chunk),
		t.sampling(),
	}
}

// sampling says how tokens are chosen where that is left open.
func (t *texts) sampling() string {
	text := t.rules.Sampling.String()
	if t.beams > 1 {
		text = fmt.Sprintf("the likeliest of %d beams are followed", t.beams)
	}
	if wanted := t.card.sampling; wanted.Draws() && wanted != t.rules.Sampling {
		text += fmt.Sprintf(", as the benchmark wants it; of %s it would be: %s (--%s model)", t.card.from, wanted, samplingOption)
	}
	return text
}

// caveats say what options change: the benchmarks take the likeliest token, until one of their end tokens ends the answer.
func (t *texts) caveats() []string {
	var caveats []string
	if t.rules.Sampling.Draws() {
		caveats = append(caveats, t.rules.Sampling.String()+", the benchmark takes the likeliest one")
	}
	if len(t.early) > 0 {
		caveats = append(caveats, fmt.Sprintf("answers end with %v too, as %s says, and the benchmark's do not", t.early, t.card.from))
	}
	return caveats
}
