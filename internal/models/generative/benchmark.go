package generative

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/chat"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A benchmark has the settings of one benchmark of the family.
type benchmark struct {
	rules  decode.Rules // Stop are those of the official model
	beams  int          // 0: greedy
	read   func(source) (*promptSet, error)
	scorer scorer
	remote remoteRules
}

// open opens the prompts for a decoder's file.
func (w benchmark) open(s workload.Setup) (*workload.Workload, error) {
	t, err := w.decoder(s)
	if err != nil {
		return nil, err
	}
	return t.workload(), nil
}

func (w benchmark) decoder(s workload.Setup) (*decoderWorkload, error) {
	from, data, err := w.load(s)
	if err != nil {
		return nil, err
	}
	set, err := parseRunOptions(s.Options)
	if err != nil {
		return nil, err
	}
	card, err := readCard(s.ModelPath)
	if err != nil {
		return nil, err
	}
	t := &decoderWorkload{prompts: data.tokens, cuts: data.cuts, rules: w.rules, beams: max(1, w.beams), card: card,
		chunk: cmp.Or(set.chunk, defaultChunk)}
	if len(card.stop) > 0 {
		t.rules.Stop = card.stop
	}
	t.early = card.endsBefore(w.rules.Stop)
	if t.rules.Sampling, err = set.chooseSampling(card, t.beams); err != nil {
		return nil, err
	}
	ports := s.Ports[workload.Only]
	given := decode.Layout{Names: named(card.names, set.names), Cache: cmp.Or(set.cache, card.cache), HeadSize: card.headSize}
	if t.layout, err = decode.ReadLayout(ports.Inputs, ports.Outputs, given); err != nil {
		return nil, fmt.Errorf("the model's ports are not those of a decoder: %w", err)
	}
	if err := t.openTokenizer(from); err != nil {
		return nil, err
	}
	return t, t.fit(set.context)
}

func (t *decoderWorkload) workload() *workload.Workload {
	w := &workload.Workload{
		Samples: len(t.prompts), Row: t.row, Prepare: t.prepare,
		NewDecoder: t.newDecoder, Outputs: func(string) []string { return t.layout.Outputs() },
		Slots:          8, // up to 8 sequences at once are hardly slower than one
		PredictorBytes: func(slots int) int64 { return t.layout.Bytes(slots*t.beams, t.context) },
		Notes:          t.notes(), Limitations: t.limitations(), EndTokens: t.rules.Stop,
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: "input_ids", Slot: workload.Slot{Type: tensor.Int32, Shape: tensor.Shape{-1}}}},
			Complete: t.complete, Check: t.check,
			Sequences: &workload.Sequences{ForRows: t.forRows, Text: &workload.TextFormat{
				MaxPrompt: t.maxPrompt(), MaxAnswer: t.rules.MaxNew, Tokens: t.tokens,
			}},
		},
	}
	if len(t.cuts) > 0 {
		w.Exchange.NeedsDataset = "where the answer to a prompt ends"
	}
	if t.tokenizer != nil {
		w.Exchange.Sequences.Text.Tokenizer = exchangeTokenizer{t.tokenizer}
		w.ScoreOptions = map[string]string{tokenizerOption: t.tokenizerFile} // it may lie beside the model
	}
	if t.chat != nil {
		w.Exchange.Sequences.Text.ChatTemplate = t.chat.Render
	}
	return w
}

// openTokenizer opens the tokenizer and the chat template beside it.
func (t *decoderWorkload) openTokenizer(from source) error {
	err := from.fits(t.layout.Rows)
	if err != nil {
		return err
	}
	if t.tokenizer, err = from.openTokenizer(); err != nil {
		t.tokenizer = nil // prompts of tokens need none, and fits has reported errors
	}
	t.tokenizerFile = from.tokenizerPath()
	t.chat = chat.Open(filepath.Dir(t.tokenizerFile))
	return nil
}

// load reads the prompts.
func (w benchmark) load(s workload.Setup) (source, *promptSet, error) {
	from := source{folder: s.DatasetDir, tokenizer: s.Options[tokenizerOption], model: folderOf(s.ModelPath), count: s.Count, scored: s.Scored}
	data, err := w.read(from)
	if err == nil && s.Count > len(data.tokens) {
		err = fmt.Errorf("opening the prompts: expected %d, %s has %d", s.Count, s.DatasetDir, len(data.tokens))
	}
	return from, data, err
}

// A decoderWorkload is a decoder with its prompts.
type decoderWorkload struct {
	prompts   [][]int32
	cuts      map[int][]int32 // tokens after which the answer to a prompt ends
	rules     decode.Rules
	beams     int
	layout    decode.Layout
	card      modelCard
	context   int // room for prompt and answer
	chunk     int
	longest   int            // prompt
	early     []int32        // tokens that end answers here and not in the benchmark
	tokenizer *hf.Tokenizer  // nil: none
	chat      *chat.Template // beside it; nil: none

	tokenizerFile string // whether it is there or not

	limits []int // tokens of answers to rows that are sent; nil: rows are those of the prompts
}

// fit checks the prompts and chooses the context.
func (t *decoderWorkload) fit(context int) error {
	for i, p := range t.prompts {
		if k := slices.IndexFunc(p, t.unknown); k >= 0 {
			return fmt.Errorf("prompt %d has token %d, the model's vocabulary has %d: the prompts were made with another tokenizer", i, p[k], t.layout.Rows)
		}
		t.longest = max(t.longest, len(p))
	}
	t.chunk = min(t.chunk, t.longest)
	// Room for the longest prompt and its answer, or for as many tokens as the option says, at most the model's context.
	need, limit := t.longest+t.rules.MaxNew, t.card.context
	if context > 0 && (limit == 0 || context < limit) {
		limit = context
	}
	if limit > 0 && need > limit {
		i := slices.IndexFunc(t.prompts, func(p []int32) bool { return len(p)+t.rules.MaxNew > limit })
		return userinput.Errorf(contextOption, "prompt %d has %d tokens and its answer up to %d: the context has %d", i, len(t.prompts[i]),
			t.rules.MaxNew, limit)
	}
	if t.context = need; context > 0 {
		t.context = limit
	}
	return nil
}

// unknown reports whether a token is not in the model's vocabulary.
func (t *decoderWorkload) unknown(token int32) bool { return int64(token) >= t.layout.Rows }

// row has the tokens of a prompt.
func (t *decoderWorkload) row(index int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{int64(len(t.prompts[index]))}}}
}

func (t *decoderWorkload) prepare(index int, row []tensor.Tensor) error {
	copy(tensor.Data[int32](row[0]), t.prompts[index])
	return nil
}

func (t *decoderWorkload) newDecoder(sessions workload.Sessions, maxBatch int) (workload.Decoder, error) {
	d, err := decode.NewDecoder(sessions[workload.Only], t.layout, decode.Limits{Slots: maxBatch * t.beams, Context: t.context, Chunk: t.chunk})
	if err != nil {
		return nil, err
	}
	p := &predictor{decoder: d}
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

// notes describe the model's layout and the settings.
func (t *decoderWorkload) notes() []string {
	from := "the benchmark"
	if len(t.card.stop) > 0 {
		from = t.card.from
	}
	beams, sampling := "", t.rules.Sampling.String()
	if t.beams > 1 {
		beams, sampling = fmt.Sprintf(", times %d beams", t.beams), fmt.Sprintf("beam search with %d beams", t.beams)
	}
	if wanted := t.card.sampling; wanted.Draws() && wanted != t.rules.Sampling {
		sampling += fmt.Sprintf(", as the benchmark does; %s asks for: %s (--%s model)", t.card.from, wanted, samplingOption)
	}
	return []string{
		t.layout.String(),
		fmt.Sprintf("prompts have up to %d tokens and answers up to %d; they end with %v (from %s)", t.longest, t.rules.MaxNew, t.rules.Stop, from),
		fmt.Sprintf("a sequence takes %.1f MiB of cache for %d tokens%s; prefill in chunks of %d tokens",
			float64(t.layout.Bytes(1, t.context))/(1<<20), t.context, beams, t.chunk),
		sampling,
	}
}

// limitations are what differs from the benchmark: sampling, and other end tokens.
func (t *decoderWorkload) limitations() (list []limitation.Limitation) {
	if t.rules.Sampling.Draws() {
		list = append(list, limitation.Limitation{ID: limitation.Sampling, Value: t.rules.Sampling.String()})
	}
	if len(t.early) > 0 {
		list = append(list, limitation.Limitation{ID: limitation.EndTokens, Value: fmt.Sprint(t.early), Origin: t.card.from})
	}
	return list
}

// A predictor runs a decoder.
type predictor struct {
	decoder *decode.Decoder
	server  interface {
		Serve(ctx context.Context, source workload.Source) error
	}
	store *workload.Store
}

// prompt returns the tokens of a sample.
func (p *predictor) prompt(item workload.Item) []int32 {
	if p.store == nil {
		return nil
	}
	return tokensIn(tensor.Data[int32](p.store.Slot(0, item.Row, 1)))
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.Serve(ctx, workload.BatchSource(items, reply))
}

// Serve implements workload.Decoder.
func (p *predictor) Serve(ctx context.Context, source workload.Source) error {
	return p.server.Serve(ctx, source)
}

// Close implements workload.Predictor.
func (p *predictor) Close() error { return p.decoder.Close() }
