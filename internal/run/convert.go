package run

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A ConvertRequest asks for ONNX files of a checkpoint.
type ConvertRequest struct {
	Model      string // gnmt
	Checkpoint string // its folder
	Output     string // folder to write to; empty: chosen, and noted here
}

// Convert makes the ONNX files.
func Convert(ctx context.Context, r *ConvertRequest) error {
	if r.Model != "gnmt" {
		return userinput.Invalid("model", r.Model, "gnmt: checkpoints of others are not converted")
	}
	if r.Output == "" {
		r.Output = fmt.Sprintf("%s-onnx", r.Model)
	}
	return convert.GNMT(ctx, r.Checkpoint, r.Output)
}
