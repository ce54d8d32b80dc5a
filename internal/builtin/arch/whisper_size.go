package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A whisperSize is what Whisper consists of (Radford et al., arXiv:2212.04356): an encoder and a decoder of
// as many layers each.
type whisperSize struct{ layers, hidden, queryHeads, rows int64 }

// What all of them have (openai-whisper, whisper/audio.py and model.py).
const (
	whisperBands    = 128 // of frequency, from large-v3 on
	whisperFrames   = 3000
	whisperSteps    = whisperFrames / 2
	whisperContext  = 448
	whisperHeadSize = 64
	whisperEpsilon  = float32(1e-5)
)

// The real one, and one that is small enough to be made without being asked for, of which all parts are
// there. Its vocabulary are the words of the built-in recordings.
var (
	whisperLargeV3 = whisperSize{layers: 32, hidden: 1280, queryHeads: 20, rows: 51866}
	whisperSmall   = whisperSize{layers: 3, hidden: 256, queryHeads: 4, rows: WhisperFirstWord + 2*whisperPairs}
)

// The files of Whisper, by what Optimum calls them in its exports.
const (
	whisperEncoder  = "encoder"
	whisperDecoder  = "decoder"           // reads the first tokens
	whisperFollower = "decoder_with_past" // reads one token after those that are in its cache
)

// whispers are the architectures of Whisper.
func whispers() []Architecture {
	var all []Architecture
	for _, v := range []struct {
		name, title, official string
		size                  whisperSize
	}{
		{"whisper-small", "Whisper of 3 layers of 256", "", whisperSmall},
		{"whisper-large-v3", "Whisper large-v3", "https://huggingface.co/openai/whisper-large-v3", whisperLargeV3},
	} {
		for _, role := range []string{whisperEncoder, whisperDecoder, whisperFollower} {
			all = append(all, newWhisper(v.name+"-"+role, v.title+", "+role, v.official, v.size, role))
		}
	}
	return all
}

func newWhisper(name, title, official string, size whisperSize, role string) Architecture {
	in, out := size.ports(role)
	return Architecture{
		Name: name, Title: title, Official: official, Inputs: in, Outputs: out,
		Layers: size.layers, Seed: 22,
		layers: func(b *Builder, o Options) {
			s := size
			s.layers = o.Layers
			newWhisperNet(b, s, role).build(role)
		},
	}
}

// The axes of Whisper.
const (
	axisDecoded = "decoder_sequence"
	axisKept    = "past_decoder_sequence"
	axisGrown   = "past_decoder_sequence + 1"
)

// ports are the inputs and outputs of a file, as Optimum exports them.
func (s whisperSize) ports(role string) (in, out []onnx.Value) {
	value := func(name string, elem onnx.ElemType, shape ...onnx.Dim) onnx.Value {
		return onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: shape}}
	}
	batch, sequence := onnx.Free(axisBatch), onnx.Free(axisDecoded)
	heard := []onnx.Dim{batch, onnx.Fixed(whisperSteps), onnx.Fixed(s.hidden)}
	cache := func(list *[]onnx.Value, kind, of string, layer int64, length onnx.Dim) {
		for _, kv := range []string{"key", "value"} {
			*list = append(*list, value(fmt.Sprintf("%s.%d.%s.%s", kind, layer, of, kv), onnx.Float32, batch, onnx.Fixed(s.queryHeads), length, onnx.Fixed(whisperHeadSize)))
		}
	}
	switch role {
	case whisperEncoder:
		in = append(in, value("input_features", onnx.Float32, batch, onnx.Fixed(whisperBands), onnx.Fixed(whisperFrames)))
		return in, append(out, value("last_hidden_state", onnx.Float32, heard...))
	case whisperDecoder:
		in = append(in, value("input_ids", onnx.Int64, batch, sequence), value("encoder_hidden_states", onnx.Float32, heard...))
	default:
		sequence = onnx.Fixed(1)
		in = append(in, value("input_ids", onnx.Int64, batch, sequence))
	}
	out = append(out, value("logits", onnx.Float32, batch, sequence, onnx.Fixed(s.rows)))
	for layer := range s.layers {
		if role == whisperDecoder {
			cache(&out, "present", "decoder", layer, sequence)
			cache(&out, "present", "encoder", layer, onnx.Fixed(whisperSteps))
			continue
		}
		cache(&in, "past_key_values", "decoder", layer, onnx.Free(axisKept))
		cache(&in, "past_key_values", "encoder", layer, onnx.Fixed(whisperSteps))
		cache(&out, "present", "decoder", layer, onnx.Free(axisGrown))
	}
	return in, out
}
