package decode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// The files of a model that listens and writes, by role.
const (
	EncoderRole = "encoder"           // listens
	FirstRole   = "decoder"           // reads the first tokens
	NextRole    = "decoder_with_past" // reads one token after those that are in its cache
)

// The inputs and outputs of such files, as Optimum exports them.
const (
	featuresPort = "input_features"
	heardPort    = "last_hidden_state"     // what the encoder gives out,
	hearingPort  = "encoder_hidden_states" // and the decoder reads
	writtenPort  = "input_ids"
	placePort    = "cache_position" // of the token, where it does not follow from the cache
	scoresPort   = "logits"
	branchPort   = "use_cache_branch" // of a file that is both decoders

	pastPort    = "past_key_values.%d."
	presentPort = "present.%d."
)

// A cachePart is one of the four caches of a layer.
type cachePart struct {
	name  string
	heard bool // made once of what is heard, not of what is written
}

var cacheParts = [4]cachePart{{"decoder.key", false}, {"decoder.value", false}, {"encoder.key", true}, {"encoder.value", true}}

func (p cachePart) past(layer int) string    { return numbered(pastPort, layer) + p.name }
func (p cachePart) present(layer int) string { return numbered(presentPort, layer) + p.name }

// A ListenLayout is how the files of a model that listens and writes are fed and read.
type ListenLayout struct {
	Bands, Frames   int64 // of the features
	Steps, Hidden   int64 // of what is heard
	Layers          int
	Heads, HeadSize int64
	Rows            int64 // tokens that it knows

	names map[string]string // the model's own, by the usual ones
}

// ListenNames are the usual names of the ports, those of Optimum's exports.
func ListenNames() []string {
	names := []string{featuresPort, heardPort, hearingPort, writtenPort, placePort, scoresPort}
	for _, part := range cacheParts {
		names = append(names, pastPort+part.name, presentPort+part.name)
	}
	return names
}

// ReadListenLayout finds out how the files are fed by their ports. Names are those of ports that have not the usual ones.
func ReadListenLayout(ports map[string]workload.Ports, names map[string]string) (ListenLayout, error) {
	l := ListenLayout{names: everyLayer(names)}
	r := &listenReader{ports: renamed(ports, swapped(l.names))}
	r.extents(EncoderRole, true, featuresPort, nil, &l.Bands, &l.Frames)
	r.extents(EncoderRole, false, heardPort, nil, &l.Steps, &l.Hidden)
	r.extents(FirstRole, true, hearingPort, nil, &l.Steps, &l.Hidden)
	for _, role := range []string{FirstRole, NextRole} {
		r.whole(role, writtenPort)
		r.extents(role, false, scoresPort, nil, nil, &l.Rows)
	}
	for r.find(NextRole, true, cacheParts[0].past(l.Layers)) != nil {
		l.Layers++
	}
	if l.Layers == 0 {
		r.fail(NextRole, "has no input %q: it keeps nothing of what it has written", cacheParts[0].past(0))
	}
	r.caches(&l)
	r.unknown(l.Layers)
	return l, errors.Join(r.errs...)
}

// A listenReader looks at ports and gathers what is wrong with them.
type listenReader struct {
	ports map[string]workload.Ports
	errs  []error
}

func (r *listenReader) fail(role, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("the model's %s "+format, append([]any{role}, args...)...))
}

func (r *listenReader) find(role string, input bool, name string) *backend.Port {
	list := r.ports[role].Outputs
	if input {
		list = r.ports[role].Inputs
	}
	if i := slices.IndexFunc(list, func(p backend.Port) bool { return p.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// extents wants a port of numbers with an axis more than extents, the first of which is the batch. An extent
// that is known already has to be the same; nil stands for one that may be anything.
func (r *listenReader) extents(role string, input bool, name string, extents ...*int64) {
	p := r.find(role, input, name)
	switch {
	case p == nil && input:
		r.fail(role, "has no input %q", name)
	case p == nil:
		r.fail(role, "has no output %q", name)
	case p.Type != tensor.Float32 || len(p.Shape) != len(extents):
		r.fail(role, "has %s as %v%v, want float32 along %d axes", name, p.Type, p.Shape, len(extents))
	default:
		for axis, extent := range extents {
			r.extent(role, p, axis, extent)
		}
	}
}

func (r *listenReader) extent(role string, p *backend.Port, axis int, want *int64) {
	switch got := p.Shape[axis]; {
	case want == nil, got < 1 && *want > 0, got == *want:
	case got < 1:
		r.fail(role, "does not say how long axis %d of %s %v is", axis, p.Name, p.Shape)
	case *want > 0:
		r.fail(role, "has %s as %v, want %d along axis %d as elsewhere", p.Name, p.Shape, *want, axis)
	default:
		*want = got
	}
}

// whole wants an input of whole numbers.
func (r *listenReader) whole(role, name string) {
	p := r.find(role, true, name)
	switch {
	case p == nil:
		r.fail(role, "has no input %q", name)
	case p.Type != tensor.Int64 && p.Type != tensor.Int32 || len(p.Shape) != 2:
		r.fail(role, "has %s as %v%v, want whole numbers along 2 axes", name, p.Type, p.Shape)
	}
}

// caches wants the caches of each layer where they are made, read and made longer.
func (r *listenReader) caches(l *ListenLayout) {
	for layer := range l.Layers {
		for _, part := range cacheParts {
			length := (*int64)(nil)
			if part.heard {
				length = &l.Steps
			}
			before := len(r.errs)
			r.extents(NextRole, true, part.past(layer), nil, &l.Heads, length, &l.HeadSize)
			r.extents(FirstRole, false, part.present(layer), nil, &l.Heads, length, &l.HeadSize)
			if !part.heard {
				r.extents(NextRole, false, part.present(layer), nil, &l.Heads, nil, &l.HeadSize)
			}
			if len(r.errs) > before {
				return // the others are as wrong
			}
		}
	}
}

// unknown finds inputs that nobody would feed.
func (r *listenReader) unknown(layers int) {
	known := map[string]bool{featuresPort: true, hearingPort: true, writtenPort: true, placePort: true}
	for layer := range layers {
		for _, part := range cacheParts {
			known[part.past(layer)] = true
		}
	}
	for _, role := range []string{EncoderRole, FirstRole, NextRole} {
		for _, p := range r.ports[role].Inputs {
			switch {
			case p.Name == branchPort:
				r.fail(role, "has %s: it is both decoders in one file; export them one by one (optimum-cli export onnx --no-post-process)", branchPort)
			case !known[p.Name]:
				r.fail(role, "has input %s %v%v, into which nothing is known to go", p.Name, p.Type, p.Shape)
			}
		}
	}
}

// own is the model's name of a port.
func (l ListenLayout) own(usual string) string { return nameOf(l.names, usual) }

// Outputs are the outputs of a role's file that a Listener reads, in the order in which it wants them.
func (l ListenLayout) Outputs(role string) []string {
	if role == EncoderRole {
		return []string{l.own(heardPort)}
	}
	names := []string{l.own(scoresPort)}
	for layer := range l.Layers {
		for _, part := range cacheParts {
			if role == FirstRole || !part.heard {
				names = append(names, l.own(part.present(layer)))
			}
		}
	}
	return names
}

// String says in words how the files are fed and read.
func (l ListenLayout) String() string {
	return fmt.Sprintf("%d bands over %d frames go into %s and come out as %d steps of %d; the decoder keeps %d layers of %d×%d of these and of what it has written (%s, %s); the next of %d tokens is chosen here by %s",
		l.Bands, l.Frames, l.own(featuresPort), l.Steps, l.Hidden, l.Layers, l.Heads, l.HeadSize, l.own(cacheParts[0].past(0)), l.own(cacheParts[2].past(0)), l.Rows, l.own(scoresPort))
}

// Bytes is the memory that a Listener takes for so many recordings and tokens of each.
func (l ListenLayout) Bytes(slots, context int) int64 {
	width := l.Heads * l.HeadSize
	heard := l.Steps*l.Hidden + 2*int64(l.Layers)*l.Steps*width
	written := 2 * 2 * int64(l.Layers) * int64(context) * width // what goes in, and what comes out
	return 4 * int64(slots) * (heard + written)
}
