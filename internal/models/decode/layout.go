package decode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Names are those of a decoder's inputs and outputs. A %d stands for the number of a layer.
type Names struct {
	Tokens    string // the new tokens
	Mask      string // 1 for each token, those of the cache too
	Positions string // of the new tokens
	PastKey   string
	PastValue string

	// Inputs of fused attention, if the graph does not compute them:
	LastRows string // the row of each sequence's last token, whose scores are returned
	Lengths  string // tokens of each sequence, minus 1
	Total    string // tokens of the longest sequence

	Next         string // the likeliest next token
	Logits       string
	PresentKey   string
	PresentValue string
}

// UsualNames are those of onnxruntime-genai and Optimum, and where they have none, of the built-in decoders.
func UsualNames() Names {
	return Names{
		Tokens: "input_ids", Mask: "attention_mask", Positions: "position_ids",
		PastKey: "past_key_values.%d.key", PastValue: "past_key_values.%d.value",
		LastRows: "last_rows", Lengths: "seqlens_k", Total: "total_sequence_length",
		Next: "next_token", Logits: "logits",
		PresentKey: "present.%d.key", PresentValue: "present.%d.value",
	}
}

// A Cache is a kind of key-value cache.
type Cache string

// The ways to keep a cache.
const (
	// SharedCache is memory for the longest sequence that the model reads and writes in place.
	SharedCache Cache = "shared"
	// GrowingCache is an input, and an output that is longer.
	GrowingCache Cache = "growing"
)

// A Layout describes the ports of a decoder's file.
type Layout struct {
	Names
	Cache Cache

	Layers   int
	KVHeads  int64
	HeadSize int64
	Element  tensor.DType // of the cache
	Rows     int64        // tokens of the vocabulary
	RowAxis  bool         // logits have an axis for new tokens
	AllRows  bool         // and are of all, not only of the last
}

// ReadLayout reads a decoder's layout from its ports. Given has the names of the ports, and perhaps the cache and the head size.
// Names of missing ports become empty. An empty cache is inferred: shared if the model has an input for lengths, growing otherwise.
// The given head size counts where the ports leave it open, as in exports of onnxruntime-genai, whose caches may be compressed.
func ReadLayout(inputs, outputs []backend.Port, given Layout) (Layout, error) {
	l := Layout{Names: given.Names, Cache: given.Cache, HeadSize: given.HeadSize}
	r := layoutReader{ports: map[string]backend.Port{}, layout: &l}
	for _, p := range inputs {
		r.ports[p.Name] = p
	}
	for {
		if _, ok := r.ports[numbered(l.PastKey, l.Layers)]; !ok {
			break
		}
		l.Layers++
	}
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

// A layoutReader checks ports and gathers errors.
type layoutReader struct {
	ports  map[string]backend.Port
	layout *Layout
	errs   []error
}

func (r *layoutReader) fail(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

// numbered puts the number of a layer into a name.
func numbered(pattern string, layer int) string {
	return strings.Replace(pattern, "%d", fmt.Sprint(layer), 1)
}

// optional clears the name of a missing port of integers.
func (r *layoutReader) optional(name *string, least, most int) {
	p, ok := r.ports[*name]
	switch {
	case !ok:
		*name = ""
	case p.Type != tensor.Int64 && p.Type != tensor.Int32 || len(p.Shape) < least || len(p.Shape) > most:
		r.fail("%s is %v%v: must be int64 or int32 along %d axes", p.Name, p.Type, p.Shape, most)
	}
}

// wants returns a required port.
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
		r.fail("%s %s is %v%v: must be %v along %d axes", what, name, p.Type, p.Shape, types[0], axes)
	}
	return p
}

// caches checks a key and a value of each layer, all of one shape.
func (r *layoutReader) caches(what string, patterns ...string) {
	l := r.layout
	if l.Layers == 0 {
		r.fail("the model has no %s %q: it has no cache", what, numbered(patterns[0], 0))
		return
	}
	for layer := range l.Layers {
		for _, pattern := range patterns {
			before := len(r.errs)
			p := r.wants(what, numbered(pattern, layer), 4, tensor.Float32, tensor.Float16, tensor.BFloat16)
			if len(r.errs) == before && !l.sameCache(p) {
				r.fail("%s %s is %v%v: must be %v[batch %d length %d] as the first", what, p.Name, p.Type, p.Shape, l.Element, l.KVHeads, l.HeadSize)
			}
			if len(r.errs) > before {
				return
			}
		}
	}
}

// sameCache reports whether a cache is like the first one.
func (l *Layout) sameCache(p backend.Port) bool {
	if l.KVHeads == 0 {
		l.KVHeads, l.Element = p.Shape[1], p.Type
		if p.Shape[3] >= 0 {
			l.HeadSize = p.Shape[3]
		}
	}
	fits := func(got, want int64) bool { return want >= 1 && (got == want || got < 0) }
	return p.Type == l.Element && fits(p.Shape[1], l.KVHeads) && fits(p.Shape[3], l.HeadSize)
}

// scores checks the logits.
func (r *layoutReader) scores() {
	p, ok := r.ports[r.layout.Logits]
	if !ok || p.Type != tensor.Float32 || len(p.Shape) != 2 && len(p.Shape) != 3 {
		r.fail("the model's output %q is %v%v: must be float32[batch tokens vocabulary] or float32[batch vocabulary]", r.layout.Logits, p.Type, p.Shape)
		return
	}
	r.layout.RowAxis = len(p.Shape) == 3
	r.layout.AllRows = r.layout.RowAxis && p.Shape[1] != 1
	r.layout.Rows = p.Shape[len(p.Shape)-1]
	if r.layout.Rows < 2 {
		r.fail("output %s is %v%v: the size of the vocabulary is unknown", p.Name, p.Type, p.Shape)
	}
}

// unknownInputs finds inputs that are not known.
func (r *layoutReader) unknownInputs(inputs []backend.Port) {
	l := r.layout
	known := map[string]bool{l.Tokens: true, l.Mask: true, l.Positions: true, l.LastRows: true, l.Lengths: true, l.Total: true}
	for layer := range l.Layers {
		known[numbered(l.PastKey, layer)], known[numbered(l.PastValue, layer)] = true, true
	}
	for _, p := range inputs {
		if !known[p.Name] {
			r.fail("the model has an unknown input %s %v%v", p.Name, p.Type, p.Shape)
		}
	}
}

// Outputs are the outputs that a Decoder reads, in its order.
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

// String describes the layout in one sentence.
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

// lastScores are scores of each sequence's last token, as the model returns them.
func (l Layout) lastScores(scores []float32, sequences int64) tensor.Tensor {
	if l.RowAxis {
		return tensor.Of(scores, sequences, 1, l.Rows)
	}
	return tensor.Of(scores, sequences, l.Rows)
}

// TokenBytes is the size of a token in the cache.
func (l Layout) TokenBytes() int64 {
	return 2 * int64(l.Layers) * l.KVHeads * l.HeadSize * int64(l.Element.Size())
}

// Bytes is the memory of a Decoder's cache.
func (l Layout) Bytes(slots, context int) int64 {
	n := l.TokenBytes() * int64(slots) * int64(context)
	if l.Cache == GrowingCache {
		n *= 2 // input and output
	}
	return n
}

// ParseNames reads a model's own names of ports: usual=own, separated by commas. A %d stands for the number of a layer. Known
// are the usual names.
func ParseNames(text string, known []string) (map[string]string, error) {
	names := map[string]string{}
	if text == "" {
		return names, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		usual, own, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || own == "" {
			return nil, fmt.Errorf("%q: must be usual=own", part)
		}
		if !slices.Contains(known, usual) {
			return nil, fmt.Errorf("%q is not one of %s", usual, strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		if strings.Contains(usual, "%d") != strings.Contains(own, "%d") {
			return nil, fmt.Errorf("%s=%s: %%d stands for the number of a layer, on both sides or none", usual, own)
		}
		names[usual] = own
	}
	return names, nil
}

// maxLayers bounds the layers with own names.
const maxLayers = 256

// everyLayer replaces names with %d by those of each layer.
func everyLayer(names map[string]string) map[string]string {
	all := map[string]string{}
	for usual, own := range names {
		if !strings.Contains(usual, "%d") {
			all[usual] = own
			continue
		}
		for layer := range maxLayers {
			all[numbered(usual, layer)] = numbered(own, layer)
		}
	}
	return all
}

// swapped are the usual names by the model's own.
func swapped(names map[string]string) map[string]string {
	usual := make(map[string]string, len(names))
	for of, own := range names {
		usual[own] = of
	}
	return usual
}

// renamed returns ports with other names, where they have any.
func renamed(ports map[string]workload.Ports, names map[string]string) map[string]workload.Ports {
	list := func(ports []backend.Port) []backend.Port {
		ports = slices.Clone(ports)
		for i := range ports {
			ports[i].Name = nameOf(names, ports[i].Name)
		}
		return ports
	}
	all := map[string]workload.Ports{}
	for role, p := range ports {
		all[role] = workload.Ports{Inputs: list(p.Inputs), Outputs: list(p.Outputs)}
	}
	return all
}

// nameOf is another name, or else the same.
func nameOf(names map[string]string, name string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return name
}
