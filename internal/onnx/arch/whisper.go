package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A whisperNet is a file of Whisper while it is written.
type whisperNet struct {
	*Builder
	whisperSize
	knows *whisperKnowledge
	in    map[string]*onnx.Value
	kept  []*onnx.Value // what the decoder's caches become, in the order of its outputs
}

func newWhisperNet(b *Builder, s whisperSize, role string) *whisperNet {
	n := &whisperNet{Builder: b, whisperSize: s, in: map[string]*onnx.Value{}}
	if s.hidden == whisperSmall.hidden {
		n.knows = &whisperKnowledge{s}
	}
	in, _ := s.ports(role)
	for _, v := range in {
		n.in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
	}
	return n
}

func (n *whisperNet) build(role string) {
	if role == whisperEncoder {
		n.Output(n.rename(n.encoder(), "last_hidden_state"))
		return
	}
	x := n.embedded()
	for i := range int(n.layers) {
		x = n.decoderLayer(i, x)
	}
	x = n.LayerNorm("norm", x, whisperEpsilon, nil, nil)
	logits := n.MatMul("proj_out", x, n.Weight("proj_out/weights", n.knows.scores(), n.hidden, n.rows))
	n.Output(append([]*onnx.Value{n.rename(logits, "logits")}, n.kept...)...)
}

// encoder adds two convolutions, of which the second takes every other step, places, and layers of attention
// and a dense part.
func (n *whisperNet) encoder() *onnx.Value {
	conv := func(name string, x *onnx.Value, stride int64, knows func(int, []float32), bias func(int, []float32)) *onnx.Value {
		y := n.Conv(name, x, Conv{
			Filters: n.hidden, Kernel: Axes{3}, Strides: Axes{stride}, Pads: Pad(1),
			Weights: n.knows.with(n.noise(3*extentOf(x, 1), whisperLoud), knows), Bias: n.knows.with(Constant(0), bias),
		})
		return n.Gelu(name+"/gelu", y)
	}
	x := conv("conv1", n.in["input_features"], 1, n.knows.listen, n.knows.doubt)
	x = conv("conv2", x, 2, n.knows.pass, n.knows.steady)
	x = n.Add("embedded", n.Transpose("embedded/turned", x, 0, 2, 1), n.fill("positions", auxiliary, Patched{Constant(0), n.sinusoids},
		[]int64{whisperSteps, n.hidden}))
	for i := range int(n.layers) {
		name := fmt.Sprintf("layer%d", i)
		y := n.LayerNorm(name+"/attention/norm", x, whisperEpsilon, nil, nil)
		key, value := n.keyValue(name+"/attention", y, nil)
		x = n.Add(name+"/attended", x, n.attention(name+"/attention", y, key, value, nil, nil))
		x = n.dense(name, x)
	}
	return n.LayerNorm("norm", x, whisperEpsilon, nil, nil)
}

// sinusoids is what tells a step of the encoder by: sines of its place, and then cosines.
func (n *whisperNet) sinusoids(step int, w []float32) {
	half := len(w) / 2
	for i := range half {
		sin, cos := math.Sincos(float64(step) * n.frequency(i))
		w[i], w[half+i] = float32(sin), float32(cos)
	}
}

// frequency is that of a sine of the encoder's places.
func (s whisperSize) frequency(i int) float64 {
	return math.Pow(10000, -float64(i)/(float64(s.hidden)/2-1))
}

// noise is what fills weights without a meaning.
func (n *whisperNet) noise(inputs int64, strength float64) Filler {
	if n.knows == nil {
		strength = 1
	}
	return Bell{strength / math.Sqrt(float64(inputs))}
}

// linear adds x·W and, unless it is a key, a bias.
func (n *whisperNet) linear(name string, x *onnx.Value, units int64, strength float64, knows func(int, []float32)) *onnx.Value {
	inputs := width(x)
	w := n.knows.with(n.noise(inputs, strength), knows)
	return n.Linear(name, x, units, w, nil)
}

// keyValue adds the keys and values of an attention. Keys have no bias.
func (n *whisperNet) keyValue(name string, x *onnx.Value, part func(string) func(int, []float32)) (key, value *onnx.Value) {
	if part == nil {
		part = func(string) func(int, []float32) { return nil }
	}
	weights := n.Weight(name+"/key/weights", n.knows.with(n.noise(n.hidden, 1), part("key")), n.hidden, n.hidden)
	key = n.heads(name+"/key", n.MatMul(name+"/key", x, weights), n.queryHeads, whisperHeadSize)
	return key, n.heads(name+"/value", n.linear(name+"/value", x, n.hidden, 1, part("value")), n.queryHeads, whisperHeadSize)
}

// attention adds heads that look from x at keys and values.
func (n *whisperNet) attention(name string, x, key, value, mask *onnx.Value, part func(string) func(int, []float32)) *onnx.Value {
	if part == nil {
		part = func(string) func(int, []float32) { return nil }
	}
	q := n.linear(name+"/query", x, n.hidden, 1, part("query"))
	q = n.heads(name+"/query", n.Binary("Mul", name+"/query/scaled", q, n.scalar(1/float32(math.Sqrt(whisperHeadSize)))), n.queryHeads, whisperHeadSize)
	scores := n.MatMul(name+"/scores", q, n.Transpose(name+"/key/turned", key, 0, 1, 3, 2))
	if mask != nil {
		scores = n.Add(name+"/masked", scores, mask)
	}
	y := n.MatMul(name+"/seen", n.Softmax(name+"/weights", scores, -1), value)
	y = n.Reshape(name+"/joined", n.Transpose(name+"/back", y, 0, 2, 1, 3), 0, 0, n.hidden)
	return n.linear(name+"/out", y, n.hidden, whisperNoise, part("out"))
}

// dense adds the dense part of a layer.
func (n *whisperNet) dense(name string, x *onnx.Value) *onnx.Value {
	y := n.LayerNorm(name+"/dense/norm", x, whisperEpsilon, nil, nil)
	y = n.Gelu(name+"/gelu", n.linear(name+"/in", y, 4*n.hidden, 1, nil))
	return n.Add(name+"/fed", x, n.linear(name+"/out", y, n.hidden, whisperNoise, nil))
}

// embedded adds up tokens and places, of which those before are in the cache.
func (n *whisperNet) embedded() *onnx.Value {
	ids := n.in["input_ids"]
	length := n.extent("length", ids, 1)
	first, end := n.ints(0), length
	if past := n.in["past_key_values.0.decoder.key"]; past != nil {
		first = n.extent("past", past, 2)
		end = n.Add("end", first, length)
	}
	places := n.between("places", n.Weight("positions", n.knows.places(), whisperContext, n.hidden), first, end, ids.Type.Shape[1])
	tokens := n.Gather("tokens", n.Weight("embedding", n.knows.tokens(), n.rows, n.hidden), ids, 0)
	return n.Add("embedded", tokens, places)
}

// extent returns how long an axis is, when the model runs.
func (n *whisperNet) extent(name string, x *onnx.Value, axis int64) *onnx.Value {
	axes := int64(len(x.Type.Shape))
	shape := n.Node("Shape", name+"/shape", []*onnx.Value{x}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{axes})})[0]
	return n.Slice(name, shape, 0, axis, axis+1)
}

// between returns rows of a table, from one on up to another.
func (n *whisperNet) between(name string, table, first, end *onnx.Value, length onnx.Dim) *onnx.Value {
	if len(table.Type.Shape) == 0 {
		return n.fail("Slice", name, errNoAxis)
	}
	shape := append(onnx.Shape{length}, table.Type.Shape[1:]...)
	return n.layer("Slice", name, []*onnx.Value{table, first, end, n.ints(0)}, nil, onnx.Type{Elem: table.Type.Elem, Shape: shape}, 0)
}

// decoderLayer adds attention to what was written, attention to what is heard, and a dense part.
func (n *whisperNet) decoderLayer(i int, x *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("layer%d", i)
	part := func(of string) func(string) func(int, []float32) {
		return func(what string) func(int, []float32) { return n.knows.attention(i, of, what) }
	}
	y := n.LayerNorm(name+"/self/norm", x, whisperEpsilon, nil, nil)
	key, value := n.keyValue(name+"/self", y, part("decoder"))
	key, value = n.grown(name+"/self/keys", i, "key", key), n.grown(name+"/self/values", i, "value", value)
	x = n.Add(name+"/attended", x, n.attention(name+"/self", y, key, value, n.causal(), part("decoder")))

	y = n.LayerNorm(name+"/cross/norm", x, whisperEpsilon, nil, nil)
	key, value = n.in[fmt.Sprintf("past_key_values.%d.encoder.key", i)], n.in[fmt.Sprintf("past_key_values.%d.encoder.value", i)]
	if key == nil {
		key, value = n.keyValue(name+"/cross", n.in["encoder_hidden_states"], part("encoder"))
		key, value = n.rename(key, fmt.Sprintf("present.%d.encoder.key", i)), n.rename(value, fmt.Sprintf("present.%d.encoder.value", i))
		n.kept = append(n.kept, key, value)
	}
	x = n.Add(name+"/heard", x, n.attention(name+"/cross", y, key, value, nil, part("encoder")))
	return n.dense(name, x)
}

// grown puts new keys or values behind those of the cache, and gives all of them out.
func (n *whisperNet) grown(name string, layer int, kv string, now *onnx.Value) *onnx.Value {
	all := now
	if past := n.in[fmt.Sprintf("past_key_values.%d.decoder.%s", layer, kv)]; past != nil {
		shape := onnx.Shape{onnx.Free(axisBatch), onnx.Fixed(n.queryHeads), onnx.Free(axisGrown), onnx.Fixed(whisperHeadSize)}
		all = n.layer("Concat", name, []*onnx.Value{past, now}, []onnx.Attribute{onnx.Attr("axis", int64(2))},
			onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
	}
	all = n.rename(all, fmt.Sprintf("present.%d.decoder.%s", layer, kv))
	n.kept = append(n.kept, all)
	return all
}

// causal is 0 where a token may look at another, and far below elsewhere; nil where it may look at all.
func (n *whisperNet) causal() *onnx.Value {
	const name = "mask"
	if n.in["encoder_hidden_states"] == nil {
		return nil
	}
	if v := n.values[name+":0"]; v != nil {
		return v
	}
	places := make([]int64, whisperContext)
	for i := range places {
		places[i] = int64(i)
	}
	ids := n.in["input_ids"]
	own := n.between(name+"/places", n.Constant(onnx.TensorOf(name+"/all", places, whisperContext)), n.ints(0), n.extent(name+"/length", ids, 1),
		ids.Type.Shape[1])
	seen := n.Compare("LessOrEqual", name+"/seen", n.Unsqueeze(name+"/keys", own, 0), n.Unsqueeze(name+"/queries", own, 1))
	shape := onnx.Shape{ids.Type.Shape[1], ids.Type.Shape[1]}
	return n.layer("Where", name, []*onnx.Value{seen, n.scalar(0), n.scalar(-1e9)}, nil, onnx.Type{Elem: onnx.Float32, Shape: shape}, 0)
}

// attention returns the meaning of a part of an attention of the decoder, nil if it has none: of the first
// head of the first layer, which looks at the token before, and of the second, which listens.
func (k *whisperKnowledge) attention(layer int, of, part string) func(row int, w []float32) {
	if k == nil {
		return nil
	}
	fill := map[string]func(row int, w []float32){}
	switch {
	case layer == 0 && of == "decoder":
		fill = map[string]func(int, []float32){"query": k.askBefore, "key": k.keyOfPlace, "value": k.valueOfParity, "out": k.writeParity}
	case layer == 1 && of == "encoder":
		fill = map[string]func(int, []float32){"query": k.askTime, "key": k.keyOfTime, "value": k.valueOfTones, "out": k.writeTones}
	}
	f := fill[part]
	if f == nil || part == "out" {
		return f
	}
	return func(row int, w []float32) {
		clear(w[:whisperHeadSize])
		f(row, w)
	}
}

// askBefore makes a query of a place turned back by one.
func (k *whisperKnowledge) askBefore(row int, w []float32) {
	at := row - whisperPlaceAt
	if at < 0 || at >= 2*whisperTurns {
		return
	}
	sin, cos := math.Sincos(k.turn(at / 2))
	if at%2 == 1 {
		sin = -sin
	}
	w[at], w[at^1] = float32(whisperLookBack*cos), float32(whisperLookBack*sin)
}

func (k *whisperKnowledge) keyOfPlace(row int, w []float32) {
	if at := row - whisperPlaceAt; at >= 0 && at < 2*whisperTurns {
		w[at] = whisperLookBack
	}
}

func (k *whisperKnowledge) valueOfParity(row int, w []float32) {
	if row == whisperParityAt {
		w[0] = 1
	}
}

func (k *whisperKnowledge) writeParity(row int, w []float32) {
	if row >= whisperHeadSize {
		return
	}
	clear(w)
	if row == 0 {
		w[whisperBeforeAt] = 1
	}
}

// askTime makes a query of the time of the word to come.
func (k *whisperKnowledge) askTime(row int, w []float32) {
	if at := row - whisperTimeAt; at >= 0 && at < 2*whisperTimes {
		w[at] = whisperSearch
	}
}

// keyOfTime makes a key of a step of the encoder, by the sines and cosines of its place.
func (k *whisperKnowledge) keyOfTime(row int, w []float32) {
	for i := range whisperTimes {
		switch sine := k.time(i); row {
		case sine:
			w[2*i] = whisperTimeKey
		case sine + int(k.hidden)/2:
			w[2*i+1] = whisperTimeKey
		}
	}
}

func (k *whisperKnowledge) valueOfTones(row int, w []float32) {
	if tone := row - k.toneAt(0); tone >= 0 && tone < whisperTones {
		w[tone] = 1
	}
}

func (k *whisperKnowledge) writeTones(row int, w []float32) {
	if row >= whisperHeadSize {
		return
	}
	clear(w)
	if row < whisperTones {
		w[whisperHeardAt+row] = whisperHeard
	}
}

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

// A WhisperSet has the files of a Whisper.
type WhisperSet struct{ Encoder, First, Next Architecture }

// Whisper is Whisper large-v3.
func Whisper() WhisperSet {
	return newWhispers("whisper-large-v3", "Whisper large-v3", "https://huggingface.co/openai/whisper-large-v3", whisperLargeV3)
}

// SmallWhisper stands in for Whisper.
func SmallWhisper() WhisperSet {
	return newWhispers("whisper-small", "Whisper of 3 layers of 256", "", whisperSmall)
}

func newWhispers(name, title, official string, size whisperSize) WhisperSet {
	file := func(role string) Architecture {
		return newWhisper(name+"-"+role, title+", "+role, official, size, role)
	}
	return WhisperSet{file(whisperEncoder), file(whisperDecoder), file(whisperFollower)}
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
			*list = append(*list, value(fmt.Sprintf("%s.%d.%s.%s", kind, layer, of, kv), onnx.Float32, batch, onnx.Fixed(s.queryHeads), length,
				onnx.Fixed(whisperHeadSize)))
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

// whisperKnowledge are the weights by which the small Whisper hears words, each of which is a chord of two
// tones and begins at a time of its own. Two words have the same sound: which of them is meant
// follows from the last word but one.
//
// In the encoder some of the slowest sines have a meaning beside that of places: how loud each tone
// is; their cosines are large at all times, so that norms divide by about the same. In the decoder the first numbers have one:
//
//	time     when the word that is to come is said, as the encoder writes places
//	place    of a token in the text
//	parity   of the tones of a word
//	before   the parity of the token before it, which a head of the first layer copies
//	heard    the tones at that time, which a head of the second copies
//	constant the same for all
//
// All other weights are noise. Where the cache is not advanced the same word is heard again; where
// it has a hole the wrong one of two words is written.
//
// A nil whisperKnowledge knows nothing.
type whisperKnowledge struct{ whisperSize }

// What the built-in recordings have to know of Whisper.
const (
	// WhisperFirstWord is the token of the first word. Those before it mean, from 0 on, the end of a text, its
	// start, English, writing down what is said, and doing so without times.
	WhisperFirstWord = 16
	// WhisperStart and WhisperEach say, in seconds, when the first word begins, and how long each takes.
	WhisperStart, WhisperEach = 0.3, 0.4

	whisperLows, whisperHighs = 12, 12
	whisperPairs              = whisperLows * whisperHighs
	whisperTones              = whisperLows + whisperHighs
	whisperStepSeconds        = 0.02
	whisperForced             = 4 // tokens before the first word
)

// WhisperTones are the bands of frequency in which the built-in Whisper listens for the low and the high tone
// of a word. They are far enough from each other for windows of 25 ms.
func WhisperTones() (low, high []int) {
	return []int{10, 17, 24, 31, 38, 45, 52, 58, 64, 70, 75, 80}, []int{85, 89, 93, 97, 101, 104, 107, 110, 113, 116, 119, 122}
}

// How strong the meanings are.
const (
	whisperNoise    = 0.1 // of what a layer writes
	whisperLoud     = 0.3 // of the convolutions
	whisperOther    = 0.35
	whisperGain     = 30   // of a tone that is louder than its neighbours
	whisperDoubt    = 0.3  // by which it has to be
	whisperAside    = 3    // bands to these neighbours
	whisperSteady   = 8    // of what the encoder always says, so that norms hardly depend on what is heard
	whisperSearch   = 1.36 // of queries for times,
	whisperTimeKey  = 6    // and of keys
	whisperLookBack = 1.6  // and for places
	whisperParity   = 2
	whisperHeard    = 1
	whisperEnd      = 1.2 // of the score of the end, which silence has to keep below that of a tone
	whisperVariant  = 0.5
	whisperNever    = 3
)

// Where the meanings are.
const (
	whisperTimes = 32 // frequencies
	whisperTurns = 16

	whisperTimeAt     = 0
	whisperPlaceAt    = whisperTimeAt + 2*whisperTimes
	whisperParityAt   = whisperPlaceAt + 2*whisperTurns
	whisperBeforeAt   = whisperParityAt + 1
	whisperHeardAt    = whisperBeforeAt + 1
	whisperConstantAt = whisperHeardAt + whisperTones
	whisperOthersAt   = whisperConstantAt + 1
)

// toneAt is where the encoder says how loud a tone is: the slowest sine is that of the last.
func (k *whisperKnowledge) toneAt(tone int) int { return int(k.hidden)/2 - whisperTones + tone }

// time is the number of a sine by which times are told.
func (k *whisperKnowledge) time(i int) int { return 16 + 3*i/2 }

// turn is the frequency by which places are told.
func (k *whisperKnowledge) turn(i int) float64 { return 0.3 + 2.7*float64(i)/whisperTurns }

// with adds a meaning to a filler.
func (k *whisperKnowledge) with(f Filler, patch func(int, []float32)) Filler {
	if k == nil || patch == nil {
		return f
	}
	return Patched{f, patch}
}

// listen makes filters that hear tones, by bands and three frames each.
func (k *whisperKnowledge) listen(filter int, w []float32) {
	tone := filter - k.toneAt(0)
	if tone < 0 || tone >= whisperTones {
		return
	}
	low, high := WhisperTones()
	band := append(low, high...)[tone]
	for frame := range 3 {
		w[band*3+frame] += whisperGain / 3
		w[(band-whisperAside)*3+frame] -= whisperGain / 6
		w[(band+whisperAside)*3+frame] -= whisperGain / 6
	}
}

func (k *whisperKnowledge) doubt(filter int, w []float32) {
	if tone := filter - k.toneAt(0); tone >= 0 && tone < whisperTones {
		w[0] = -whisperGain * whisperDoubt
	}
}

// pass lets the second convolution pass on what is heard.
func (k *whisperKnowledge) pass(filter int, w []float32) {
	if tone := filter - k.toneAt(0); tone >= 0 && tone < whisperTones {
		for frame := range 3 {
			w[filter*3+frame] += 1.0 / 3
		}
	}
}

// steady makes the partners of the sines that say how loud tones are large, whatever is heard.
func (k *whisperKnowledge) steady(filter int, w []float32) {
	if tone := filter - int(k.hidden)/2 - k.toneAt(0); tone >= 0 && tone < whisperTones {
		w[0] = whisperSteady
	}
}

// places fills the table of the decoder's places.
func (k *whisperKnowledge) places() Filler {
	if k == nil {
		return Bell{0.02}
	}
	return Patched{Bell{whisperOther}, func(place int, x []float32) {
		clear(x[:whisperOthersAt])
		seconds := WhisperStart + WhisperEach*(float64(max(0, place+1-whisperForced))+0.5)
		for i := range whisperTimes {
			sin, cos := math.Sincos(seconds / whisperStepSeconds * k.frequency(k.time(i)))
			x[whisperTimeAt+2*i], x[whisperTimeAt+2*i+1] = float32(sin), float32(cos)
		}
		for i := range whisperTurns {
			sin, cos := math.Sincos(float64(place) * k.turn(i))
			x[whisperPlaceAt+2*i], x[whisperPlaceAt+2*i+1] = float32(sin), float32(cos)
		}
	}}
}

// tones are those of a word, false of other tokens.
func (k *whisperKnowledge) tones(token int) (low, high int, word bool) {
	pair := (token - WhisperFirstWord) / 2
	return pair / whisperHighs, pair % whisperHighs, token >= WhisperFirstWord
}

// tokens fills the table of tokens.
func (k *whisperKnowledge) tokens() Filler {
	if k == nil {
		return Bell{0.02}
	}
	return Patched{Bell{whisperOther}, func(token int, x []float32) {
		clear(x[:whisperOthersAt])
		x[whisperConstantAt], x[whisperParityAt] = whisperParity, whisperParity
		if low, high, word := k.tones(token); word && (low+high)%2 == 1 {
			x[whisperParityAt] = -whisperParity
		}
	}}
}

// scores fills the weights of the scores.
func (k *whisperKnowledge) scores() Filler {
	if k == nil {
		return Bell{0.02}
	}
	return Patched{Bell{whisperNoise / math.Sqrt(float64(k.hidden))}, func(row int, w []float32) {
		for token := range w {
			w[token] += k.score(row, token)
		}
	}}
}

// score is how much a number says for a token.
func (k *whisperKnowledge) score(row, token int) float32 {
	low, high, word := k.tones(token)
	switch {
	case word:
		return wordScore(row, token, low, high)
	case row == whisperConstantAt && token == 0:
		return whisperEnd
	case row == whisperConstantAt:
		return -whisperNever
	}
	return 0
}

// wordScore is how much a number says for a word of two tones. Of two words of the same tones it
// is the variant that follows what was written before.
func wordScore(row, token, low, high int) float32 {
	switch heard := row - whisperHeardAt; {
	case heard >= whisperTones:
		return 0
	case heard == low, heard == whisperLows+high:
		return 1
	case row == whisperBeforeAt && token%2 == 0:
		return whisperVariant
	case row == whisperBeforeAt:
		return -whisperVariant
	}
	return 0
}
