package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A decoderSize is what a decoder of the Llama family consists of (Touvron et al.,
// arXiv:2302.13971).
type decoderSize struct {
	layers, hidden, queryHeads, kvHeads, headSize, inner, rows, context int64

	theta   float64 // base of the rotary frequencies
	experts int64   // of each feed-forward part, of which two are asked for each token; 0: one that is always used

	// parallel is the form of GPT-J (Wang and Komatsuzaki, 2021): attention and dense part read the same,
	// norms have means, the dense part has no gates, and pairs of numbers that turn are neighbours.
	parallel bool
	turning  int64 // numbers of a head that turn; 0: all
}

// A decoderForm is how a decoder is written down.
type decoderForm uint8

const (
	// fusedDecoder uses GroupQueryAttention, which writes keys and values into the memory that it reads
	// them from, and gives out the next token.
	fusedDecoder decoderForm = iota
	// fusedInt4 is that with the matrices in 4 bits (MatMulNBits).
	fusedInt4
	// exportedDecoder is that with the names that onnxruntime-genai exports: lengths follow from a mask,
	// and what it gives out are all logits.
	exportedDecoder
	// plainDecoder has ONNX's own operators and the names that Optimum exports: what it gives
	// out are all logits, and caches that are longer than those that went in.
	plainDecoder
)

// The axes of decoders.
const (
	axisBatch    = "batch"
	axisSequence = "sequence"
	axisPast     = "past_sequence"
	axisTotal    = "total_sequence"
)

// Sizes of decoders: those of the real ones, and one that is small enough to be made without being
// asked for, of which all parts are there (60 M parameters).
var (
	llama8B     = decoderSize{layers: 32, hidden: 4096, queryHeads: 32, kvHeads: 8, headSize: 128, inner: 14336, rows: 128256, context: 8192, theta: 500000}
	llama70B    = decoderSize{layers: 80, hidden: 8192, queryHeads: 64, kvHeads: 8, headSize: 128, inner: 28672, rows: 32000, context: 4096, theta: 10000}
	mixtral8x7B = decoderSize{layers: 32, hidden: 4096, queryHeads: 32, kvHeads: 8, headSize: 128, inner: 14336, rows: 32000, context: 4096, theta: 1e6, experts: 8}
	mixtral70M  = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 4, headSize: 64, inner: 256, rows: 32000, context: 2048, theta: 5e6, experts: 8}
	gptj6B      = decoderSize{layers: 28, hidden: 4096, queryHeads: 16, kvHeads: 16, headSize: 256, inner: 16384, rows: 50400, context: 2048, theta: 10000, parallel: true, turning: 64}
	gptj60M     = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 8, headSize: 64, inner: 2048, rows: 32000, context: 2048, theta: 5e6, parallel: true}
	llama60M    = decoderSize{layers: 8, hidden: 512, queryHeads: 8, kvHeads: 4, headSize: 64, inner: 1536, rows: 32000, context: 2048, theta: 5e6}
)

// decoders are the architectures of the Llama family.
func decoders() []Architecture {
	return []Architecture{
		newDecoder("llama3.1-8b", "Llama 3.1 8B", "https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct", llama8B, fusedInt4),
		newDecoder("llama2-70b", "Llama 2 70B", "https://huggingface.co/meta-llama/Llama-2-70b-chat-hf", llama70B, fusedInt4),
		newDecoder("mixtral-8x7b", "Mixtral 8x7B", "https://huggingface.co/mistralai/Mixtral-8x7B-Instruct-v0.1", mixtral8x7B, fusedInt4),
		newDecoder("mixtral-70m", "decoder of the Mixtral family with 8 experts and 70 M parameters", "", mixtral70M, fusedDecoder),
		newDecoder("gpt-j-6b", "GPT-J 6B", "https://huggingface.co/EleutherAI/gpt-j-6b", gptj6B, fusedInt4),
		newDecoder("gpt-j-60m", "decoder of the GPT-J family with 60 M parameters", "", gptj60M, fusedDecoder),
		newDecoder("llama-60m", "decoder of the Llama family with 60 M parameters", "", llama60M, fusedDecoder),
		newDecoder("llama-60m-int4", "decoder of the Llama family with 60 M parameters in 4 bits", "", llama60M, fusedInt4),
		newDecoder("llama-60m-export", "decoder of the Llama family with 60 M parameters as onnxruntime-genai exports it", "", llama60M, exportedDecoder),
		newDecoder("llama-60m-plain", "decoder of the Llama family with 60 M parameters in ONNX's own operators", "", llama60M, plainDecoder),
	}
}

func newDecoder(name, title, official string, size decoderSize, form decoderForm) Architecture {
	in, out := size.ports(form)
	return Architecture{
		Name: name, Title: title, Official: official, Inputs: in, Outputs: out,
		Layers: size.layers, Rows: size.rows, Seed: 21,
		Metadata: func(o Options) []onnx.Property {
			return []onnx.Property{
				{Key: "context_length", Value: fmt.Sprint(size.context)}, {Key: "vocab_size", Value: fmt.Sprint(o.Rows)}, {Key: "eos_token_id", Value: fmt.Sprint(decoderEnd)},
			}
		},
		layers: func(b *Builder, o Options) {
			s := size
			s.layers, s.rows = o.Layers, o.Rows
			newDecoderNet(b, s, form).build()
		},
	}
}

// What the built-in data sets have to know of decoders: the tokens that begin and end a text, and the
// first one that is a word.
const (
	decoderStart     = 1
	decoderEnd       = 2
	DecoderFirstWord = 16
)

// ports are the inputs and outputs.
func (s decoderSize) ports(form decoderForm) (in, out []onnx.Value) {
	batch, sequence, total := onnx.Free(axisBatch), onnx.Free(axisSequence), onnx.Free(axisTotal)
	value := func(name string, elem onnx.ElemType, shape ...onnx.Dim) onnx.Value {
		return onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: shape}}
	}
	in = append(in, value("input_ids", onnx.Int64, batch, sequence))
	if form == plainDecoder || form == exportedDecoder {
		in = append(in, value("attention_mask", onnx.Int64, batch, total))
		if form == plainDecoder {
			in = append(in, value("position_ids", onnx.Int64, batch, sequence))
		}
		out = append(out, value("logits", onnx.Float32, batch, sequence, onnx.Fixed(s.rows)))
	} else {
		in = append(in, value("last_rows", onnx.Int64, batch), value("seqlens_k", onnx.Int32, batch), value("total_sequence_length", onnx.Int32, onnx.Fixed(1)))
		out = append(out, value("next_token", onnx.Int64, batch), value("logits", onnx.Float32, batch, onnx.Fixed(s.rows)))
	}
	for i := range s.layers {
		for _, kv := range []string{"key", "value"} {
			in = append(in, value(fmt.Sprintf("past_key_values.%d.%s", i, kv), onnx.Float32, batch, onnx.Fixed(s.kvHeads), onnx.Free(axisPast), onnx.Fixed(s.headSize)))
			out = append(out, value(fmt.Sprintf("present.%d.%s", i, kv), onnx.Float32, batch, onnx.Fixed(s.kvHeads), total, onnx.Fixed(s.headSize)))
		}
	}
	return in, out
}
