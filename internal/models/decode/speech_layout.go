package decode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// The files of an encoder-decoder for speech, by role.
const (
	EncoderRole = "encoder"           // features to hidden states
	FirstRole   = "decoder"           // the first tokens
	NextRole    = "decoder_with_past" // one token after those in its cache
)

// The inputs and outputs of such files, as Optimum exports them.
const (
	featuresPort = "input_features"
	encodedPort  = "last_hidden_state"     // output of the encoder,
	crossPort    = "encoder_hidden_states" // and input of the decoder
	tokensPort   = "input_ids"
	positionPort = "cache_position" // of the token, where it does not follow from the cache
	scoresPort   = "logits"
	branchPort   = "use_cache_branch" // of a file that is both decoders

	pastPort    = "past_key_values.%d."
	presentPort = "present.%d."
)

// A cachePart is one of the four caches of a layer.
type cachePart struct {
	name  string
	cross bool // of cross-attention, which depends on the recording only
}

var cacheParts = [4]cachePart{{"decoder.key", false}, {"decoder.value", false}, {"encoder.key", true}, {"encoder.value", true}}

func (p cachePart) past(layer int) string    { return numbered(pastPort, layer) + p.name }
func (p cachePart) present(layer int) string { return numbered(presentPort, layer) + p.name }

// A SpeechLayout describes the ports of an encoder-decoder's files.
type SpeechLayout struct {
	Bands, Frames   int64 // of the features
	Steps, Hidden   int64 // of the encoder's states
	Layers          int
	Heads, HeadSize int64
	Rows            int64 // tokens of the vocabulary

	names map[string]string // the model's own, by the usual ones
}

// SpeechNames are the usual names of the ports, those of Optimum's exports.
func SpeechNames() []string {
	names := []string{featuresPort, encodedPort, crossPort, tokensPort, positionPort, scoresPort}
	for _, part := range cacheParts {
		names = append(names, pastPort+part.name, presentPort+part.name)
	}
	return names
}

// ReadSpeechLayout reads the layout from the ports of the files. Names are the model's own names of ports.
func ReadSpeechLayout(ports map[string]workload.Ports, names map[string]string) (SpeechLayout, error) {
	l := SpeechLayout{names: everyLayer(names)}
	r := &speechReader{ports: renamed(ports, swapped(l.names))}
	r.extents(EncoderRole, true, featuresPort, nil, &l.Bands, &l.Frames)
	r.extents(EncoderRole, false, encodedPort, nil, &l.Steps, &l.Hidden)
	r.extents(FirstRole, true, crossPort, nil, &l.Steps, &l.Hidden)
	for _, role := range []string{FirstRole, NextRole} {
		r.integers(role, tokensPort)
		r.extents(role, false, scoresPort, nil, nil, &l.Rows)
	}
	for r.find(NextRole, true, cacheParts[0].past(l.Layers)) != nil {
		l.Layers++
	}
	if l.Layers == 0 {
		r.fail(NextRole, "has no input %q: it has no cache", cacheParts[0].past(0))
	}
	r.caches(&l)
	r.unknown(l.Layers)
	return l, errors.Join(r.errs...)
}

// A speechReader checks ports and gathers errors.
type speechReader struct {
	ports map[string]workload.Ports
	errs  []error
}

func (r *speechReader) fail(role, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("the model's %s "+format, append([]any{role}, args...)...))
}

func (r *speechReader) find(role string, input bool, name string) *backend.Port {
	list := r.ports[role].Outputs
	if input {
		list = r.ports[role].Inputs
	}
	if i := slices.IndexFunc(list, func(p backend.Port) bool { return p.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// extents checks a port of float32 with an axis for each of extents. An extent that is known already has to be the same;
// nil stands for any.
func (r *speechReader) extents(role string, input bool, name string, extents ...*int64) {
	p := r.find(role, input, name)
	switch {
	case p == nil && input:
		r.fail(role, "has no input %q", name)
	case p == nil:
		r.fail(role, "has no output %q", name)
	case p.Type != tensor.Float32 || len(p.Shape) != len(extents):
		r.fail(role, "has %s as %v%v, expected float32 along %d axes", name, p.Type, p.Shape, len(extents))
	default:
		for axis, extent := range extents {
			r.extent(role, p, axis, extent)
		}
	}
}

func (r *speechReader) extent(role string, p *backend.Port, axis int, want *int64) {
	switch got := p.Shape[axis]; {
	case want == nil, got < 1 && *want > 0, got == *want:
	case got < 1:
		r.fail(role, "has no known size along axis %d of %s %v", axis, p.Name, p.Shape)
	case *want > 0:
		r.fail(role, "has %s as %v, expected %d along axis %d as in other ports", p.Name, p.Shape, *want, axis)
	default:
		*want = got
	}
}

// integers checks an input of integers.
func (r *speechReader) integers(role, name string) {
	p := r.find(role, true, name)
	switch {
	case p == nil:
		r.fail(role, "has no input %q", name)
	case p.Type != tensor.Int64 && p.Type != tensor.Int32 || len(p.Shape) != 2:
		r.fail(role, "has %s as %v%v, expected int64 or int32 along 2 axes", name, p.Type, p.Shape)
	}
}

// caches checks the caches of each layer: outputs of the first decoder, inputs of the next, and its longer outputs.
func (r *speechReader) caches(l *SpeechLayout) {
	for layer := range l.Layers {
		for _, part := range cacheParts {
			length := (*int64)(nil)
			if part.cross {
				length = &l.Steps
			}
			before := len(r.errs)
			r.extents(NextRole, true, part.past(layer), nil, &l.Heads, length, &l.HeadSize)
			r.extents(FirstRole, false, part.present(layer), nil, &l.Heads, length, &l.HeadSize)
			if !part.cross {
				r.extents(NextRole, false, part.present(layer), nil, &l.Heads, nil, &l.HeadSize)
			}
			if len(r.errs) > before {
				return // other layers have the same errors
			}
		}
	}
}

// unknown finds inputs that are not known.
func (r *speechReader) unknown(layers int) {
	known := map[string]bool{featuresPort: true, crossPort: true, tokensPort: true, positionPort: true}
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
				r.fail(role, "has an unknown input %s %v%v", p.Name, p.Type, p.Shape)
			}
		}
	}
}

// own is the model's name of a port.
func (l SpeechLayout) own(usual string) string { return nameOf(l.names, usual) }

// Outputs are the outputs of a role's file that a SpeechDecoder reads, in its order.
func (l SpeechLayout) Outputs(role string) []string {
	if role == EncoderRole {
		return []string{l.own(encodedPort)}
	}
	names := []string{l.own(scoresPort)}
	for layer := range l.Layers {
		for _, part := range cacheParts {
			if role == FirstRole || !part.cross {
				names = append(names, l.own(part.present(layer)))
			}
		}
	}
	return names
}

// String describes the layout in one sentence.
func (l SpeechLayout) String() string {
	return fmt.Sprintf("%d bands over %d frames go into %s and come out as %d steps of %d; the decoder caches %d layers of %d×%d of its own "+
		"tokens (%s) and of these (%s); the next of %d tokens is chosen here by %s",
		l.Bands, l.Frames, l.own(featuresPort), l.Steps, l.Hidden, l.Layers, l.Heads, l.HeadSize, l.own(cacheParts[0].past(0)),
		l.own(cacheParts[2].past(0)), l.Rows, l.own(scoresPort))
}

// Bytes is the memory of a SpeechDecoder for slots recordings of context tokens each.
func (l SpeechLayout) Bytes(slots, context int) int64 {
	width := l.Heads * l.HeadSize
	cross := l.Steps*l.Hidden + 2*int64(l.Layers)*l.Steps*width
	self := 2 * 2 * int64(l.Layers) * int64(context) * width // input and output
	return 4 * int64(slots) * (cross + self)
}
