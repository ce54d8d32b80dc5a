package decode

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A BeamBatcher answers samples of a source by beam search. Each beam has a slot of the decoder; the beams of a sample are
// neighbours. The cache of the prompt is copied to them once. A beam that continues another one copies its cache from
// the end of the prompt on.
type BeamBatcher struct {
	decoder *Decoder
	rules   Rules
	prompt  func(workload.Item) []int32
	width   int
	encoder Batcher // of responses

	active  []beamGroup
	started int
	items   []workload.Item
	answer  []int32
}

// A beamGroup is an active sample.
type beamGroup struct {
	item   workload.Item
	prompt []int32
	beams  *answerBeams
	slot   []int // of each beam, counted from the first of the group
	kept   []int // slots of the next step
}

// NewBeamBatcher returns a batcher of as many samples at once as there are slots for their beams.
func NewBeamBatcher(d *Decoder, width int, rules Rules, prompt func(workload.Item) []int32) (*BeamBatcher, error) {
	groups := d.Slots() / width
	if groups < 1 {
		return nil, fmt.Errorf("%d slots, expected at least %d for the beams", d.Slots(), width)
	}
	b := &BeamBatcher{decoder: d, rules: rules, prompt: prompt, width: width, active: make([]beamGroup, groups), answer: make([]int32, 0, rules.MaxNew)}
	b.encoder = Batcher{rules: rules, bytes: make([]byte, 0, rules.Width*rules.MaxNew)}
	for i := range b.active {
		b.active[i].beams, b.active[i].slot, b.active[i].kept = newAnswerBeams(width, rules), make([]int, width), make([]int, width)
	}
	b.active = b.active[:0]
	return b, nil
}

// Serve answers samples until the source is closed (workload.Decoder).
func (b *BeamBatcher) Serve(ctx context.Context, source workload.Source) error {
	b.active, b.started = b.active[:0], 0
	return serveAll(ctx, b, source)
}

func (b *BeamBatcher) busy() bool { return len(b.active) > 0 }

// admit takes samples for free groups of slots.
func (b *BeamBatcher) admit(source workload.Source) (open bool, err error) {
	room := cap(b.active) - len(b.active)
	if room == 0 {
		return true, nil
	}
	b.items, open = source.Admit(b.items[:0], room, len(b.active) == 0)
	for _, item := range b.items {
		prompt := b.prompt(item)
		if len(prompt) == 0 {
			return open, fmt.Errorf("sample %d: the prompt is empty", item.Index)
		}
		b.active = b.active[:len(b.active)+1]
		g := &b.active[len(b.active)-1]
		g.item, g.prompt = item, prompt
		g.beams.Start()
		b.decoder.Clear((len(b.active) - 1) * b.width)
	}
	return open, nil
}

// read runs the model on the next chunk of the oldest prompt, and after the last one makes beams.
func (b *BeamBatcher) read(ctx context.Context, reply workload.Source) error {
	if b.started == len(b.active) {
		return nil
	}
	group := b.started
	g, first := &b.active[group], group*b.width
	at := b.decoder.Length(first)
	chunk := g.prompt[at:min(len(g.prompt), at+b.decoder.limits.Chunk)]
	if err := b.decoder.Prefill(ctx, first, chunk); err != nil {
		return fmt.Errorf("sample %d, reading the prompt: %w", g.item.Index, err)
	}
	if at+len(chunk) < len(g.prompt) {
		return nil
	}
	for k := range b.width {
		if g.slot[k] = k; k > 0 {
			b.decoder.Move(first+k, first)
		}
	}
	b.started++
	b.advance(group, reply)
	return nil
}

// step runs the model on the tokens of all beams, and chooses the next beams.
func (b *BeamBatcher) step(ctx context.Context, reply workload.Source) error {
	if b.started == 0 {
		return nil
	}
	if err := b.decoder.Step(ctx, b.started*b.width); err != nil {
		return fmt.Errorf("beams of %d answers, the first of sample %d: %w", b.started, b.active[0].item.Index, err)
	}
	for group := b.started - 1; group >= 0; group-- {
		b.advance(group, reply)
	}
	return nil
}

// advance chooses the next beams of a sample, or answers it.
func (b *BeamBatcher) advance(group int, reply workload.Source) {
	g, first := &b.active[group], group*b.width
	g.beams.Advance(func(beam int) []float32 { return b.decoder.Logits(first + g.slot[beam]) })
	if g.beams.Done() {
		b.finish(group, reply)
		return
	}
	b.arrange(g, first)
	for k := range g.beams.Open() {
		b.decoder.SetNext(first+g.slot[k], int(g.beams.Token(k)))
	}
}

// arrange gives each beam a slot with the cache of its parent: the first child stays in the parent's slot, others take the
// slots of beams without children. Where fewer beams than slots are open, the last slots are kept for later ones.
func (b *BeamBatcher) arrange(g *beamGroup, first int) {
	const none = -1
	for k := range g.kept {
		g.kept[k] = none
	}
	taken, open := uint64(0), g.beams.Open()
	for k := range open {
		if slot := g.slot[g.beams.Parent(k)]; taken&(1<<slot) == 0 {
			g.kept[k] = slot
			taken |= 1 << slot
		}
	}
	free := 0
	for k := range g.kept {
		if g.kept[k] != none {
			continue
		}
		for taken&(1<<free) != 0 {
			free++
		}
		if k < open {
			b.decoder.Fork(first+free, first+g.slot[g.beams.Parent(k)], len(g.prompt))
		}
		g.kept[k] = free
		taken |= 1 << free
	}
	g.slot, g.kept = g.kept, g.slot
}

// finish answers a sample. The last active one moves to its slots, and prompts being read move up.
func (b *BeamBatcher) finish(group int, reply workload.Source) {
	g := &b.active[group]
	b.answer = g.beams.Best(b.answer[:0])
	reply.Done(g.item.Ticket, b.encoder.encode(b.answer), len(b.answer))
	b.started--
	b.move(group, b.started, b.width)
	last := len(b.active) - 1
	for k := b.started; k < last; k++ {
		b.move(k, k+1, 1)
	}
	b.active = b.active[:last]
}

// move moves a sample to another group, with the caches of its first slots.
func (b *BeamBatcher) move(to, from, slots int) {
	if to == from {
		return
	}
	for k := range slots {
		b.decoder.Move(to*b.width+k, from*b.width+k)
	}
	b.active[to], b.active[from] = b.active[from], b.active[to]
}
