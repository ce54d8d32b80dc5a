package decode

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Names are those of a decoder's inputs and outputs. A %d stands for the number of a layer.
type Names struct {
	Tokens    string // the tokens that are new
	Mask      string // 1 for each token that is there, those of the cache too
	Positions string // the places of the new tokens
	PastKey   string
	PastValue string

	// Inputs of fused attention, where the graph does not work them out:
	LastRows string // the row of each sequence's last token, of which the scores are wanted
	Lengths  string // tokens of each sequence, less one
	Total    string // tokens of the longest sequence

	Next         string // the likeliest next token
	Logits       string
	PresentKey   string
	PresentValue string
}

// UsualNames are those that onnxruntime-genai and Optimum give, and for what these do not
// have, those of the built-in decoders.
func UsualNames() Names {
	return Names{
		Tokens: "input_ids", Mask: "attention_mask", Positions: "position_ids",
		PastKey: "past_key_values.%d.key", PastValue: "past_key_values.%d.value",
		LastRows: "last_rows", Lengths: "seqlens_k", Total: "total_sequence_length",
		Next: "next_token", Logits: "logits",
		PresentKey: "present.%d.key", PresentValue: "present.%d.value",
	}
}

// A Cache says how a decoder keeps what it has read.
type Cache string

// The ways to keep a cache.
const (
	// SharedCache is memory for the longest sequence that the model reads and writes in place.
	SharedCache Cache = "shared"
	// GrowingCache is one that goes in and comes out longer.
	GrowingCache Cache = "growing"
)

// A Layout is how a decoder's file is fed and read.
type Layout struct {
	Names
	Cache Cache

	Layers   int
	KVHeads  int64
	HeadSize int64
	Element  tensor.DType // of the cache
	Rows     int64        // tokens that it knows
	AllRows  bool         // logits are those of all new tokens, not only of the last
}

// ReadLayout finds out how a decoder is fed by its ports. Names that it does not have are left out.
// An empty cache is chosen: shared if the lengths go in, growing otherwise.
func ReadLayout(inputs, outputs []backend.Port, names Names, cache Cache) (Layout, error) {
	l := Layout{Names: names, Cache: cache}
	r := layoutReader{ports: map[string]backend.Port{}, layout: &l}
	for _, p := range inputs {
		r.ports[p.Name] = p
	}
	l.Layers = r.layers(names.PastKey)
	for _, name := range []*string{&l.Mask, &l.Positions, &l.LastRows, &l.Lengths, &l.Total} {
		r.optional(name, 1, 2)
	}
	r.wants("input", l.Tokens, 2, tensor.Int64, tensor.Int32)
	r.caches("input", l.PastKey, l.PastValue)
	r.unknownInputs(inputs)
	clear(r.ports)
	for _, p := range outputs {
		r.ports[p.Name] = p
	}
	r.optional(&l.Next, 1, 1)
	r.scores()
	r.caches("output", l.PresentKey, l.PresentValue)
	if l.Cache == "" {
		l.Cache = GrowingCache
		if l.Lengths != "" {
			l.Cache = SharedCache
		}
	}
	return l, errors.Join(r.errs...)
}

// A layoutReader looks at ports and gathers what is wrong with them.
type layoutReader struct {
	ports  map[string]backend.Port
	layout *Layout
	errs   []error
}

func (r *layoutReader) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// layers counts the caches.
func (r *layoutReader) layers(pattern string) int {
	for n := 0; ; n++ {
		if _, ok := r.ports[numbered(pattern, n)]; !ok {
			return n
		}
	}
}

// numbered puts the number of a layer into a name.
func numbered(pattern string, layer int) string {
	return strings.Replace(pattern, "%d", fmt.Sprint(layer), 1)
}

// optional clears the name of a port of integers that is not there.
func (r *layoutReader) optional(name *string, least, most int) {
	p, ok := r.ports[*name]
	switch {
	case !ok:
		*name = ""
	case p.Type != tensor.Int64 && p.Type != tensor.Int32 || len(p.Shape) < least || len(p.Shape) > most:
		r.fail("%s is %v%v, want whole numbers along %d axes", p.Name, p.Type, p.Shape, most)
	}
}

// wants returns a port that has to be there.
func (r *layoutReader) wants(what, name string, axes int, types ...tensor.DType) backend.Port {
	p, ok := r.ports[name]
	if !ok {
		r.fail("the model has no %s %q", what, name)
		return p
	}
	known := false
	for _, t := range types {
		known = known || p.Type == t
	}
	if !known || len(p.Shape) != axes {
		r.fail("%s %s is %v%v, want %v along %d axes", what, name, p.Type, p.Shape, types[0], axes)
	}
	return p
}

// caches wants a key and a value of each layer, all alike.
func (r *layoutReader) caches(what string, patterns ...string) {
	l := r.layout
	if l.Layers == 0 {
		r.fail("the model has no %s %q: it keeps nothing of what it has read", what, numbered(patterns[0], 0))
		return
	}
	for layer := range l.Layers {
		for _, pattern := range patterns {
			before := len(r.errs)
			p := r.wants(what, numbered(pattern, layer), 4, tensor.Float32, tensor.Float16, tensor.BFloat16)
			if len(r.errs) == before && !l.sameCache(p) {
				r.fail("%s %s is %v%v, want %v[batch %d length %d] as the first", what, p.Name, p.Type, p.Shape, l.Element, l.KVHeads, l.HeadSize)
			}
			if len(r.errs) > before {
				return
			}
		}
	}
}

// sameCache reports whether a cache is as the first one, which it may be.
func (l *Layout) sameCache(p backend.Port) bool {
	if l.KVHeads == 0 {
		l.KVHeads, l.HeadSize, l.Element = p.Shape[1], p.Shape[3], p.Type
	}
	fits := func(got, want int64) bool { return want >= 1 && (got == want || got < 0) }
	return p.Type == l.Element && fits(p.Shape[1], l.KVHeads) && fits(p.Shape[3], l.HeadSize)
}

// scores looks at the logits.
func (r *layoutReader) scores() {
	p, ok := r.ports[r.layout.Logits]
	if !ok || p.Type != tensor.Float32 || len(p.Shape) != 2 && len(p.Shape) != 3 {
		r.fail("the model's output %q is %v%v, want float32[batch tokens vocabulary] or float32[batch vocabulary]", r.layout.Logits, p.Type, p.Shape)
		return
	}
	r.layout.AllRows = len(p.Shape) == 3
	r.layout.Rows = p.Shape[len(p.Shape)-1]
	if r.layout.Rows < 2 {
		r.fail("output %s is %v%v: the number of tokens that the model knows is missing", p.Name, p.Type, p.Shape)
	}
}

// unknownInputs finds inputs that nobody would feed.
func (r *layoutReader) unknownInputs(inputs []backend.Port) {
	l := r.layout
	known := map[string]bool{l.Tokens: true, l.Mask: true, l.Positions: true, l.LastRows: true, l.Lengths: true, l.Total: true}
	for layer := range l.Layers {
		known[numbered(l.PastKey, layer)], known[numbered(l.PastValue, layer)] = true, true
	}
	for _, p := range inputs {
		if !known[p.Name] {
			r.fail("nothing is known to go into input %s %v%v", p.Name, p.Type, p.Shape)
		}
	}
}

// Outputs are the outputs that a Decoder reads, in the order in which it wants them.
func (l Layout) Outputs() []string {
	var names []string
	if l.Next != "" {
		names = append(names, l.Next)
	}
	names = append(names, l.Logits)
	for layer := range l.Layers {
		names = append(names, numbered(l.PresentKey, layer), numbered(l.PresentValue, layer))
	}
	return names
}

// String says in words how the model is fed and read.
func (l Layout) String() string {
	cache := "the cache is written where it is read"
	if l.Cache == GrowingCache {
		cache = "the cache goes in and comes out longer"
	}
	chosen := "the next token is chosen by the model (" + l.Next + ")"
	if l.Next == "" {
		chosen = "the next token is chosen here by " + l.Logits
	}
	return fmt.Sprintf("tokens go into %s, %s; %d layers of %d×%d %v (%s, %s); %s of %d",
		l.Tokens, cache, l.Layers, l.KVHeads, l.HeadSize, l.Element, l.PastKey, l.PresentKey, chosen, l.Rows)
}

// TokenBytes is the memory that a token takes in the cache.
func (l Layout) TokenBytes() int64 {
	return 2 * int64(l.Layers) * l.KVHeads * l.HeadSize * int64(l.Element.Size())
}

// Bytes is the memory that a Decoder takes for its cache.
func (l Layout) Bytes(slots, context int) int64 {
	n := l.TokenBytes() * int64(slots) * int64(context)
	if l.Cache == GrowingCache {
		n *= 2 // what goes in, and what comes out
	}
	return n
}
