package quantize

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Report describes how a model was quantised, for the description from which MLPerf's rules want the
// numbers to be reproducible (inference_policies §Quantization).
type Report struct {
	Model   string  `json:"model"`
	Method  Method  `json:"calibration_method"`
	Bits    int     `json:"weight_bits"` // 8 or 4
	Samples int     `json:"calibration_samples"`
	Options Options `json:"options"`

	Ranges   map[string]QuantizedRange `json:"activations"` // of the values that became integers
	Layers   []QuantizedLayer          `json:"layers"`      // with weights
	Excluded []ExcludedLayer           `json:"excluded"`    // layers with weights that stayed in FP32
	Others   map[string]int            `json:"other_nodes"` // quantised nodes without weights, by operator

	Search *SearchRecord `json:"search,omitempty"` // if layers were left out to reach a target

	EqualizedLayers int   `json:"equalized_layers"` // by Equalize
	ClampedBiases   int   `json:"clamped_biases"`   // elements that did not fit into 32 bits
	BytesBefore     int64 `json:"bytes_before"`     // of all constants
	BytesAfter      int64 `json:"bytes_after"`
}

// A QuantizedLayer is a layer with integer weights.
type QuantizedLayer struct {
	Layer    string `json:"layer"`
	Op       string `json:"op"`
	Channels int    `json:"channels"`
	Fused    string `json:"fused,omitempty"` // the activation function that the integers contain
}

// A QuantizedRange is the range of an activation, and the parameters for it.
type QuantizedRange struct {
	Range
	Parameters
}

// report describes what was done to the original model.
func (q *quantizer) report(original *onnx.Model) Report {
	r := Report{
		Model: original.Graph.Name, Method: q.ranges.Method, Bits: 8, Samples: q.ranges.Samples, Options: q.options,
		Ranges: q.parameters, Excluded: q.plan.excluded, Others: make(map[string]int), ClampedBiases: q.clamped,
		BytesBefore: weightBytes(original), BytesAfter: weightBytes(q.model),
	}
	r.Options.Activations = q.options.activations()
	for _, p := range original.Metadata {
		if p.Key == equalizedKey {
			n, _ := strconv.Atoi(p.Value) // 0 if another program wrote it
			r.EqualizedLayers += n
		}
	}
	for _, l := range q.plan.layers {
		if l.kind != weighted {
			r.Others[l.node.Op]++
			continue
		}
		described := QuantizedLayer{Layer: layerName(l.node), Op: l.node.Op, Channels: q.channels[l]}
		if l.fused != nil {
			described.Fused = l.fused.Op
		}
		r.Layers = append(r.Layers, described)
	}
	return r
}

// Part is how many layers have integer weights, and of how many that could: products of two activations have none.
func (r Report) Part() (layers, of int) {
	of = len(r.Layers)
	for _, l := range r.Excluded {
		if l.Reason != notConstant {
			of++
		}
	}
	return len(r.Layers), of
}

// WriteMarkdown writes the description that a submission contains as calibration.md.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	atRunTime := r.Method == AtRunTime
	fmt.Fprintf(&b, "# Quantisation of %s\n\n", cmp.Or(r.Model, "the model"))
	computes := "compute with 8-bit integers"
	if r.Bits == 4 {
		computes = "have 4-bit weights"
	}
	fmt.Fprintf(&b, "The model was quantised after training, without training it further: "+
		"%d layers %s, %d stay in FP32.\n\n", len(r.Layers), computes, len(r.Excluded))

	b.WriteString("## Activations\n\n")
	if r.Bits == 4 {
		b.WriteString("- Activations and sums are FP32: weights become FP32 again while a product runs (MatMulNBits of ONNX Runtime). " +
			"Nothing was calibrated.\n\n")
	} else if atRunTime {
		b.WriteString("- Nothing was calibrated: the input of a layer becomes unsigned bytes while the model runs, asymmetric, one scale for " +
			"all elements, " +
			"scale = (max - min) / 255 of its values and 0 (DynamicQuantizeMatMul, DynamicQuantizeLSTM of ONNX Runtime).\n\n")
	} else {
		fmt.Fprintf(&b, "- Calibration: %d samples of the calibration set went through the FP32 model; the ranges of %d activations were set "+
			"to the smallest and the largest value seen.\n",
			r.Samples, len(r.Ranges))
		if r.Options.Activations == S8 {
			b.WriteString("- Integers: signed, symmetric: q = round(x / scale), -127 to 127, one scale for each activation, scale = " +
				"max(|min|, |max|) / 127.\n")
		} else {
			b.WriteString("- Integers: unsigned, asymmetric: q = round(x / scale) + zero point, 0 to 255, one scale and zero point for each activation, " +
				"scale = (max - min) / 255, or up to 1/254 larger, so that 0, which the range always contains, and both ends are represented.\n")
		}
		b.WriteString("- Of values that only a Sigmoid reads, the range is cut at ±16, beyond which that is 0 or 1.\n")
		b.WriteString("- Rounding is to nearest, ties to even. Values outside the range become its nearest end.\n\n")
	}

	limit := r.Options.weightLimit()
	granularity := "for each output channel"
	if r.Options.PerTensor {
		granularity = "for each tensor"
	}
	b.WriteString("## Weights\n\n")
	if r.Bits == 4 {
		limit, granularity = 7, fmt.Sprintf("for each %d inputs of an output", blockSize)
	}
	fmt.Fprintf(&b, "- Weights: signed, symmetric, %d to %d, one scale %s: scale = max|w| / %d.\n", -limit, limit, granularity, limit)
	if atRunTime {
		b.WriteString("- Biases stay in FP32.\n")
	} else {
		b.WriteString("- Biases: 32-bit integers, scale = scale of the input × scale of the weights.\n")
		b.WriteString("- Biases are corrected: less Σ error of the weight × mean of the input channel over the calibration samples, " +
			"the shift that rounding the weights gives the mean of an output channel.\n")
		if r.ClampedBiases > 0 {
			fmt.Fprintf(&b, "- %d biases exceeded 32 bits and were limited.\n", r.ClampedBiases)
		}
		if r.EqualizedLayers > 0 {
			fmt.Fprintf(&b, "- %d depthwise convolutions were equalised before: each filter was divided by the square root of the range of its channel "+
				"over the calibration samples but the first %d, relative to the largest, and the weights that read the channel were "+
				"multiplied with it.\n", r.EqualizedLayers, judged)
		}
		b.WriteString("- Batch norms were folded into the convolutions before them, in FP64, rounded to FP32.\n")
	}
	fmt.Fprintf(&b, "- Constants take %s, in FP32 %s.\n\n", units.Bytes(r.BytesAfter), units.Bytes(r.BytesBefore))

	if s := r.Search; s != nil {
		b.WriteString("## Search\n\n")
		fmt.Fprintf(&b, "The %d most sensitive layers stay in FP32, so that the score reaches %.6g: it is %.6g. "+
			"Layers were ranked by the score of the model with only that layer quantised.\n\n", len(s.Excluded), s.Target, s.Score)
		b.WriteString("| layers left in FP32 | score |\n|--:|--:|\n")
		for _, step := range s.Steps {
			fmt.Fprintf(&b, "| %d | %.6g |\n", step.Excluded, step.Score)
		}
		if len(s.Sensitivity) > 0 {
			b.WriteString("\n| only this layer quantised | score |\n|---|--:|\n")
		}
		for _, l := range s.Sensitivity {
			fmt.Fprintf(&b, "| %s | %.6g |\n", cell(l.Layer), l.Score)
		}
		b.WriteString("\n")
	}

	b.WriteString("## Layers\n\n| layer | operator | channels | precision |\n|---|---|--:|---|\n")
	for _, l := range r.Layers {
		op := l.Op
		if l.Fused != "" {
			op += " + " + l.Fused
		}
		fmt.Fprintf(&b, "| %s | %s | %d | INT%d |\n", cell(l.Layer), op, l.Channels, r.Bits)
	}
	for _, l := range r.Excluded {
		fmt.Fprintf(&b, "| %s | %s | | FP32: %s |\n", cell(l.Layer), l.Op, cell(l.Reason))
	}
	if len(r.Others) > 0 {
		var counts []string
		for _, op := range slices.Sorted(maps.Keys(r.Others)) {
			counts = append(counts, fmt.Sprintf("%d %s", r.Others[op], op))
		}
		fmt.Fprintf(&b, "\nNodes without weights that compute with 8-bit integers too: %s.\n", strings.Join(counts, ", "))
	}

	if !atRunTime {
		b.WriteString("\n## Ranges\n\n| activation | from | to | scale | zero point |\n|---|--:|--:|--:|--:|\n")
		for _, name := range slices.Sorted(maps.Keys(r.Ranges)) {
			v := r.Ranges[name]
			fmt.Fprintf(&b, "| %s | %.6g | %.6g | %.6g | %d |\n", cell(name), v.Min, v.Max, v.Scale, v.ZeroPoint)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell escapes text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(text)
}
