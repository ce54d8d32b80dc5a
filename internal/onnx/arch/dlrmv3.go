package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// An HSTUSize is the size of a DLRMv3.
type HSTUSize struct {
	Width              int64 // of an embedding, and of a token
	Layers, Heads      int64
	Key, Value         int64 // of a head: numbers of queries and keys, and of values
	Preprocessor       int64 // units of the hidden layers that make tokens
	Items, Users       int64 // rows of the tables
	Categories, Within int64 // rows of the table of categories; items below this number have a row, or share one
}

// The rest of the size, which the golden values of the official modules have too.
const (
	hstuHidden    = 512  // units of the hidden layers of candidates and predictions
	hstuPositions = 8192 // rows of the table of positions
	hstuTimes     = 2049 // rows of the table of ages, of which the data need the first
	hstuActions   = 5    // kinds of actions, each with a bit of an action's weight
	hstuAction    = 8    // numbers of each kind
	hstuLeast     = 20   // items with which a user's own row counts
	hstuNorm      = 1e-5 // epsilon of the norms, and of those in attention layers:
	hstuLayerNorm = 1e-6
)

// DLRMv3 is DLRMv3 (recommendation/dlrm_v3, generative_recommenders/modules/dlrm_hstu.py): five layers of HSTU attention (Zhai et
// al., arXiv:2402.17152) over what a user did and over candidates, and for each candidate the chance that the user likes it. Names
// of weights are those of the official module. There is no official ONNX file. This one takes a request:
//
//	item_ids       int64[sequence]   of the history, the oldest first, and of the candidates behind it
//	category_ids   int64[sequence]   of the same items
//	user_id        int64[1]
//	action_weights int64[history]    what the user did: sums of 1, 2, 4, 8 and 16
//	max_seq_len    int64[1]          1 + sequence, or the largest of the batch that the request is in: attention is divided by it
//	predictions    float32[candidates 1]
//
// Time stamps are those of the data, which are all the same. Tables are of 16 bits, as the official ones; those of fewer rows than
// there are ids give several ids one row. Of the official attention, which has a column for each token, those of the candidates are
// left out but for the diagonal: the mask makes them 0. Options.Rows limits the tables of items and users.
func DLRMv3() Architecture {
	return DLRMv3Of(HSTUSize{Width: 512, Layers: 5, Heads: 4, Key: 128, Value: 128, Preprocessor: 256, Items: 1_000_000_000, Users: 10_000_000,
		Categories: 128, Within: 1_000_000_000})
}

// DLRMv3Of is DLRMv3 of another size.
func DLRMv3Of(size HSTUSize) Architecture {
	ids := func(axis onnx.Dim) onnx.Type { return onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{axis}} }
	return Architecture{
		Name:     "dlrm-v3",
		Title:    "DLRMv3, HSTU",
		Official: "https://github.com/mlcommons/inference/tree/master/recommendation/dlrm_v3",
		Inputs: []onnx.Value{
			{Name: "item_ids", Type: ids(hstuSequence)}, {Name: "category_ids", Type: ids(hstuSequence)}, {Name: "user_id", Type: ids(onnx.Fixed(1))},
			{Name: "action_weights", Type: ids(hstuHistory)}, {Name: "max_seq_len", Type: ids(onnx.Fixed(1))},
		},
		Outputs: []onnx.Value{{Name: "predictions", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{hstuCandidates, onnx.Fixed(1)}}}},
		Rows:    size.Items,
		Seed:    53,
		layers:  func(b *Builder, o Options) { (&hstu{b, size}).network(o) },
	}
}

// The axes of a request: one token in front, which is the user, the history and the candidates.
var (
	hstuHistory, hstuCandidates, hstuSequence = onnx.Free("history"), onnx.Free("candidates"), onnx.Free("sequence")
	hstuFront, hstuTokens                     = onnx.Free("front"), onnx.Free("tokens") // user and history; all
)

// A hstu writes the network.
type hstu struct {
	*Builder
	HSTUSize
}

// The parts of the official module.
const (
	hstuTransducer = "_hstu_transducer."
	hstuInput      = hstuTransducer + "_input_preprocessor."
	hstuOutput     = hstuTransducer + "_output_postprocessor."
)

func (h *hstu) network(o Options) {
	var in []*onnx.Value
	for _, v := range DLRMv3Of(h.HSTUSize).Inputs {
		in = append(in, h.Input(v.Name, v.Type.Elem, v.Type.Shape))
	}
	items := h.table("item_id", in[0], min(o.Rows, h.Items))
	categories := h.table("item_category_id", in[1], h.Categories)
	user := h.table("user_id", in[2], min(o.Rows, h.Users))
	actions, longest := in[3], in[4]

	sequence, history := h.length("sequence", in[0]), h.length("history", actions)
	front, tokens := h.Add("front", history, h.ints(1)), h.Add("tokens", sequence, h.ints(1))
	places := h.places(tokens)                         // 0, 1, …
	waits := h.Binary("Min", "waits", places, history) // the candidates come all at once, behind the history

	x := h.Add("content", h.mlp(hstuInput+"_content_embedding_mlp", items, h.Preprocessor, h.Width),
		h.mlp(hstuInput+"_additional_embedding_mlp", categories, h.Preprocessor, h.Width))
	x = h.Add("content.actions", x, h.Gather("actions", h.actions(actions), h.rows("waits.sequence", waits, h.ints(0), sequence, hstuSequence), 0))
	x = h.Join("content.user", "tokens", h.user(user, sequence), x)
	x = h.Binary("Mul", "content.scaled", x, h.scalar(float32(math.Sqrt(float64(h.Width)))))
	x = h.Add("content.places", x, h.positions(places, front))

	// A token sees itself, and of user and history those before it.
	sees := h.Compare("GreaterOrEqual", "sees", h.Unsqueeze("sees.by", places, 1),
		h.Unsqueeze("sees.of", h.rows("places.front", places, h.ints(0), front, hstuFront), 0))
	divided := h.Cast("longest", longest, onnx.Float32)
	mask := h.Binary("Div", "mask", h.Cast("sees.float", sees, onnx.Float32), divided)
	for layer := range h.Layers {
		x = h.attention(fmt.Sprintf("%s_stu_module._stu_layers.%d._", hstuTransducer, layer), x, front, tokens, mask, divided)
	}

	candidates := func(name string, x, from, to *onnx.Value) *onnx.Value {
		return h.rows(name, x, from, to, hstuCandidates)
	}
	x = candidates("candidates", x, front, tokens)
	offers := h.Concat("offers", 1, candidates("offers.items", items, history, sequence), candidates("offers.categories", categories, history, sequence))
	// The hour and the day of time stamp 1, as cosine and sine.
	clock := h.layer("Expand", "clock", []*onnx.Value{h.Constant(onnx.TensorOf("clock.at", []float32{1, 0, 1, 0}, 1, 4)),
		h.Concat("clock.shape", 0, h.Binary("Sub", "candidates.count", sequence, history), h.ints(4))}, nil,
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{hstuCandidates, onnx.Fixed(4)}}, 0)
	x = h.norm(hstuOutput+"_layer_norm.", h.linear(hstuOutput+"_time_feature_combiner", h.Concat("candidates.clock", 1, x, clock), h.Width), hstuNorm)
	x = h.Binary("Mul", "matches", x, h.mlp("_item_embedding_mlp", offers, hstuHidden, h.Width))
	const predictor = "_multitask_module._prediction_module"
	h.Output(h.rename(h.Unary("Sigmoid", "chances", h.affine(predictor+".2", h.swish(predictor+".1", h.linear(predictor+".0", x, hstuHidden)), 1,
		hstuSure, hstuBias)), "predictions"))
}

// table looks ids up.
func (h *hstu) table(name string, ids *onnx.Value, rows int64) *onnx.Value {
	weights := "_embedding_collection.embeddings." + name + ".weight"
	known := h.Binary("Min", name+".known", ids, h.ints(h.Within-1)) // ids are rounded to 24 bits: the last ones may be one too high
	ids = h.Binary("Mod", name+".row", known, h.ints(rows))
	if h.given != nil {
		return h.Gather(name, h.Weight(weights, nil, rows, h.Width), ids, 0)
	}
	return h.Cast(name, h.Gather(name+".half", h.halfTable(weights, rows, h.Width), ids, 0), onnx.Float32)
}

// length is the extent of a list.
func (h *hstu) length(name string, x *onnx.Value) *onnx.Value {
	return h.Node("Shape", name+".length", []*onnx.Value{x}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{1})})[0]
}

// places lists 0 to n-1.
func (h *hstu) places(n *onnx.Value) *onnx.Value {
	number := func(v int64) *onnx.Value { return h.Constant(onnx.TensorOf(fmt.Sprintf("number/%d", v), []int64{v})) }
	return h.layer("Range", "places", []*onnx.Value{number(0), h.Squeeze("places.end", n, 0), number(1)}, nil,
		onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{hstuTokens}}, 0)
}

// rows keeps some rows of x.
func (h *hstu) rows(name string, x, from, to *onnx.Value, axis onnx.Dim) *onnx.Value {
	out := onnx.Type{Elem: x.Type.Elem, Shape: append(onnx.Shape{axis}, x.Type.Shape[min(1, len(x.Type.Shape)):]...)}
	return h.layer("Slice", name, []*onnx.Value{x, from, to, h.ints(0)}, nil, out, 0)
}

// linear adds a layer whose outputs vary about as its inputs do.
func (h *hstu) linear(name string, x *onnx.Value, units int64) *onnx.Value {
	return h.affine(name, x, units, math.Sqrt2/2, 0)
}

func (h *hstu) affine(name string, x *onnx.Value, units int64, gain float64, bias float32) *onnx.Value {
	weights := h.Weight(name+".weight", He{Gain: gain, ZeroMean: true}, units, width(x))
	return gemm(h.Builder, name, x, weights, h.Weight(name+".bias", Constant(bias), units))
}

// norm adds a layer norm whose weights have names that begin so.
func (h *hstu) norm(name string, x *onnx.Value, epsilon float32) *onnx.Value {
	inputs := []*onnx.Value{x, h.Weight(name+"weight", Uniform{0.8, 1.2}, width(x)), h.Weight(name+"bias", Uniform{-0.1, 0.1}, width(x))}
	return h.layer("LayerNormalization", name, inputs, []onnx.Attribute{onnx.Attr("axis", int64(-1)), onnx.Attr("epsilon", epsilon)}, x.Type, 0)
}

// swish adds x·σ(norm(x)).
func (h *hstu) swish(name string, x *onnx.Value) *onnx.Value {
	return h.Binary("Mul", name, x, h.Unary("Sigmoid", name+".gate", h.norm(name+".", x, hstuNorm)))
}

// mlp adds two layers and a norm.
func (h *hstu) mlp(name string, x *onnx.Value, hidden, units int64) *onnx.Value {
	return h.norm(name+".3.", h.linear(name+".2", h.swish(name+".1", h.linear(name+".0", x, hidden)), units), hstuNorm)
}

// actions makes a vector of each action of the history, and one for the candidates, on which the user has not acted yet.
func (h *hstu) actions(weights *onnx.Value) *onnx.Value {
	const name, numbers = hstuInput + "_action_encoder.", hstuActions * hstuAction
	shifted := h.Binary("Div", name+"shifted", h.Unsqueeze(name+"weights", weights, 1), h.ints(1, 2, 4, 8, 16))
	bits := h.Cast(name+"bits", h.Binary("Mod", name+"odd", shifted, h.ints(2)), onnx.Float32)
	kinds := h.Binary("Mul", name+"kinds", h.Unsqueeze(name+"bits.each", bits, 2), h.Weight(name+"_action_embedding_table", Bell{1}, hstuActions,
		hstuAction))
	all := h.Join(name+"all", "front", h.Reshape(name+"history", kinds, 0, numbers),
		h.Weight(name+"_target_action_embedding_table", Bell{1}, 1, numbers))
	return h.mlp(hstuInput+"_action_embedding_mlp", all, h.Preprocessor, h.Width)
}

// user makes the token in front. A user with few items is like any other.
func (h *hstu) user(row, sequence *onnx.Value) *onnx.Value {
	enough := h.Cast("user.enough.float", h.Compare("GreaterOrEqual", "user.enough", sequence, h.ints(hstuLeast)), onnx.Float32)
	weights := h.Reshape("user.weights", h.Weight(hstuInput+"_batched_contextual_linear_weights", Bell{1 / math.Sqrt(float64(h.Width))}, 1, h.Width,
		h.Width), h.Width, h.Width)
	product := h.MatMul("user.product", h.Binary("Mul", "user.row", row, enough), weights)
	return h.Add("user", product, h.Weight(hstuInput+"_batched_contextual_linear_bias", Bell{hstuSmall}, 1, h.Width))
}

// positions are vectors of how long ago things were: the candidates 1, the history before them 2, 3, …, and the user 0.
func (h *hstu) positions(places, front *onnx.Value) *onnx.Value {
	ago := h.Add("ago", h.Binary("Sub", "ago.history", front, h.Binary("Min", "ago.known", places, front)), h.ints(1))
	ago = h.Binary("Min", "ago.most", ago, h.ints(hstuPositions-1))
	ago = h.Binary("Mul", "ago.user", ago, h.Cast("ago.other", h.Compare("Greater", "ago.behind", places, h.ints(0)), onnx.Int64))
	const name = hstuTransducer + "_positional_encoder."
	age := h.Weight(name+"_timestamp_embeddings_weight", Bell{hstuSmall}, hstuTimes, h.Width)
	position := h.Gather("positions.ago", h.Weight(name+"_position_embeddings_weight", Bell{hstuSmall}, hstuPositions, h.Width), ago, 0)
	return h.Add("positions", position, h.Gather("positions.age", age, h.ints(0), 0))
}

// attention adds a layer: tokens gather values of others by SiLU(query·key), which needs no softmax, gated by themselves.
func (h *hstu) attention(name string, x, front, tokens, mask, longest *onnx.Value) *onnx.Value {
	keys, values := h.Heads*h.Key, h.Heads*h.Value
	y := h.MatMul(name+"uvqk.product", h.norm(name+"input_norm_", x, hstuLayerNorm),
		h.Weight(name+"uvqk_weight", Bell{1 / math.Sqrt(float64(h.Width))}, h.Width, 2*(keys+values)))
	y = h.Add(name+"uvqk", y, h.Weight(name+"uvqk_beta", Bell{hstuSmall}, 2*(keys+values)))
	part := func(n int64) onnx.Type {
		return onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{hstuTokens, onnx.Fixed(n)}}
	}
	parts := h.Node("Split", name+"parts", []*onnx.Value{y, h.ints(values, values, keys, keys)}, []onnx.Attribute{onnx.Attr("axis", int64(1))},
		part(values), part(values), part(keys), part(keys))
	gate, value, key := h.silu(name+"u", parts[0], 1), parts[1], parts[3]
	query := h.Binary("Mul", name+"q", parts[2], h.scalar(float32(1/math.Sqrt(float64(h.Key)))))

	seen := func(what string, x *onnx.Value) *onnx.Value {
		return h.rows(name+what+".front", x, h.ints(0), front, hstuFront)
	}
	turned := func(what string, x *onnx.Value, each int64, axes ...int64) *onnx.Value {
		return h.Transpose(name+what+".heads", h.Reshape(name+what+".each", x, 0, h.Heads, each), axes...)
	}
	scores := h.MatMul(name+"scores", turned("q", query, h.Key, 1, 0, 2), turned("k", seen("k", key), h.Key, 1, 2, 0))
	scores = h.Binary("Mul", name+"masked", h.silu(name+"silu", scores, 1), mask)
	sums := h.Transpose(name+"sums", h.MatMul(name+"sums.heads", scores, turned("v", seen("v", value), h.Value, 1, 0, 2)), 1, 0, 2)
	sums = h.Reshape(name+"sums.joined", sums, 0, values)

	// Candidates see themselves, which is not among user and history.
	own := func(what string, x *onnx.Value, each int64) *onnx.Value {
		return h.Reshape(name+what+".own.each", h.rows(name+what+".own", x, front, tokens, hstuCandidates), 0, h.Heads, each)
	}
	score := h.Reduce("ReduceSum", name+"own.score", h.Binary("Mul", name+"own.products", own("q", query, h.Key), own("k", key, h.Key)), 2)
	score = h.Binary("Div", name+"own.divided", h.silu(name+"own.silu", score, 1), longest)
	itself := h.Reshape(name+"own.joined", h.Binary("Mul", name+"own", h.Unsqueeze(name+"own.heads", score, 2), own("v", value, h.Value)), 0, values)
	offers := h.Add(name+"sums.candidates", h.rows(name+"sums.offers", sums, front, tokens, hstuCandidates), itself)
	sums = h.Join(name+"attended", "tokens", h.rows(name+"sums.front", sums, h.ints(0), front, hstuFront), offers)

	gated := h.Binary("Mul", name+"gated", gate, h.norm(name+"output_norm_", sums, hstuLayerNorm))
	out := h.MatMul(name+"output", h.Concat(name+"joined", 1, gate, sums, gated), h.Weight(name+"output_weight", Bell{hstuSteps}, 3*values, h.Width))
	return h.Add(name+"x", x, out)
}

// How the weights are spread, so that predictions vary and depend on the history about as much as on the candidate.
const (
	hstuSmall = 0.1
	hstuSteps = 1.0
	hstuSure  = 1.8
	hstuBias  = -0.2
)
