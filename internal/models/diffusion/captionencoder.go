package diffusion

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
)

// A captionEncoder has CLIP's features of captions: from its text tower, or from a table computed before.
type captionEncoder struct {
	table     tensor.Tensor // [captions features]; if there is no session
	session   backend.Session
	tokenizer *clip.Tokenizer
	ids       []int64
	in, out   backend.Value
}

// openCaptionEncoder opens an ONNX file with the tokenizer in a folder, or a table of NumPy's.
func openCaptionEncoder(ctx context.Context, engine backend.Engine, path, tokenizer string, captions int) (*captionEncoder, error) {
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		t, err := readTable(path, captions)
		return &captionEncoder{table: t}, err
	}
	own, err := clip.Open(tokenizer, clip.OpenCLIP)
	if err != nil {
		return nil, err
	}
	t := &captionEncoder{tokenizer: own, ids: make([]int64, clip.Length)}
	if err := t.open(ctx, engine, path); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), t.Close())
	}
	return t, nil
}

// readTable reads the features of all captions.
func readTable(path string, captions int) (t tensor.Tensor, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	r, err := npy.NewReader(f)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	const maxFeatures = 1 << 14
	if r.Type != tensor.Float32 || len(r.Shape) != 2 || r.Shape[0] != int64(captions) || r.Shape[1] < 1 || r.Shape[1] > maxFeatures {
		return t, fmt.Errorf("%s has %v%v, expected float32[%d n]: a row for each caption", path, r.Type, r.Shape, captions)
	}
	t = tensor.New(r.Type, r.Shape...)
	if err := r.Read(t); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// open opens the text tower.
func (t *captionEncoder) open(ctx context.Context, engine backend.Engine, path string) error {
	inputs, outputs, err := engine.Ports(ctx, backend.Options{ModelPath: path})
	if err != nil {
		return err
	}
	out, err := textPorts(inputs, outputs)
	if err != nil {
		return err
	}
	if t.session, err = engine.Open(ctx, backend.Options{ModelPath: path, Outputs: []string{out.Name}}); err != nil {
		return err
	}
	if t.in, err = t.session.Bind(tensor.New(inputs[0].Type, 1, clip.Length)); err != nil {
		return err
	}
	t.out, err = t.session.Bind(tensor.New(tensor.Float32, 1, out.Shape[1]))
	return err
}

// textPorts wants one input of token numbers, and an output of features, which it returns.
func textPorts(inputs, outputs []backend.Port) (out backend.Port, err error) {
	if len(inputs) != 1 || !slices.Contains(integers, inputs[0].Type) || len(inputs[0].Shape) != 2 {
		return out, fmt.Errorf("the inputs are %v: must be one, int64[N %d]", inputs, clip.Length)
	}
	if out, err = featuresOf(outputs, "text_embeds"); err != nil {
		return out, err
	}
	if len(out.Shape) != 2 || out.Shape[1] < 1 {
		return out, fmt.Errorf("the output %s has the shape %v, expected a known number of features", out.Name, out.Shape)
	}
	return out, nil
}

// encode returns the features of a caption. The next call overwrites them.
func (t *captionEncoder) encode(ctx context.Context, index int, caption string) ([]float32, error) {
	if t.session == nil {
		return tensor.Data[float32](t.table.Rows(index, 1)), nil
	}
	if _, err := t.tokenizer.Encode(t.ids, caption); err != nil {
		return nil, err
	}
	setIntegers(t.in.Tensor(), t.ids)
	err := t.session.Run(ctx, []backend.Value{t.in}, []backend.Value{t.out})
	return tensor.Data[float32](t.out.Tensor()), err
}

// Close closes the network.
func (t *captionEncoder) Close() error {
	var errs []error
	for _, v := range []backend.Value{t.in, t.out} {
		if v != nil {
			errs = append(errs, v.Close())
		}
	}
	if t.session != nil {
		errs = append(errs, t.session.Close())
	}
	return errors.Join(errs...)
}
