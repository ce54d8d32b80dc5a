package quantize_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

// Convert a model whose Exp could exceed what float16 holds.
func ExampleToFloat16() {
	b := networks.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 8, 8))
	x = b.Conv("conv", x, networks.Conv{Filters: 16, Kernel: networks.Axes{3}})
	b.Output(b.Unary("Exp", "exp", b.Relu("relu", x)))
	m, _, err := b.Model()
	if err != nil {
		fmt.Println(err)
		return
	}
	h, report, err := quantize.ToFloat16(m, quantize.Float16Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range h.Graph.Nodes {
		fmt.Println(n.Op, n.Inputs[0], "→", n.Outputs[0])
	}
	fmt.Println(report.BytesBefore, "bytes became", report.BytesAfter)
	for _, k := range report.Kept {
		fmt.Println(k.Op, "stays in FP32:", k.Reason)
	}
	// Output:
	// Cast image → image_fp16
	// Conv image_fp16 → conv:0_fp16
	// Relu conv:0_fp16 → relu:0_fp16
	// Cast relu:0_fp16 → relu:0
	// Exp relu:0 → exp:0
	// 1728 bytes became 864
	// Exp stays in FP32: results soon exceed 65504 or vanish
}
