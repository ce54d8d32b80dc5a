package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// An Origin is a step by which a model file was made of another. The properties of the file name it. They can be
// forged: it is a statement, not a proof.
type Origin struct {
	File   string `json:"file"` // the name of the other
	SHA256 string `json:"sha256"`
	MD5    string `json:"md5,omitempty"` // of a file without data files
	By     string `json:"by"`            // the program, and what it did
}

// originKey and the number of a step, from 1, are the key of a property.
const originKey = "mlperf_origin_"

// Origins returns the steps that the properties of a model tell of, the first one first. What cannot be read ends the list.
func Origins(properties []onnx.Property) (steps []Origin) {
	told := map[string]string{}
	for _, p := range properties {
		told[p.Key] = p.Value
	}
	for {
		var o Origin
		if json.Unmarshal([]byte(told[fmt.Sprint(originKey, len(steps)+1)]), &o) != nil || o.SHA256 == "" {
			return steps
		}
		steps = append(steps, o)
	}
}

// addOrigin adds a step to the properties of a model.
func addOrigin(m *onnx.Model, o Origin) error {
	text, err := json.Marshal(o)
	m.Metadata = append(m.Metadata, onnx.Property{Key: fmt.Sprint(originKey, len(Origins(m.Metadata))+1), Value: string(text)})
	return err
}

// addOrigin adds the file that a model was made of.
func (c Converter) addOrigin(ctx context.Context, m *onnx.Model, source, precision string) error {
	print, err := onnx.FingerprintOf(ctx, source)
	if err != nil {
		return err
	}
	o := Origin{File: filepath.Base(source), SHA256: print.SHA256, By: strings.TrimSpace(c.Program + " quantize --precision " + precision)}
	if len(print.Data) == 0 {
		if o.MD5, err = fileio.MD5(ctx, source); err != nil {
			return err
		}
	}
	return addOrigin(m, o)
}

// checkpointOrigin is the origin of a model with the weights of a checkpoint, by the first file with elements.
func checkpointOrigin(ctx context.Context, c *tfcheckpoint.Checkpoint) (o Origin, err error) {
	path := c.DataFile(0)
	o = Origin{File: filepath.Base(path), By: "mlperf convert gnmt"}
	if o.SHA256, _, err = fileio.SHA256(ctx, path); err == nil {
		o.MD5, err = fileio.MD5(ctx, path)
	}
	return o, err
}
