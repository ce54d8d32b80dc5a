package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
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

// addOrigin adds the file that a model was made of, and how.
func (c Converter) addOrigin(ctx context.Context, m *onnx.Model, source string, made report.Conversion) error {
	print, err := onnx.FingerprintOf(ctx, source)
	if err != nil {
		return err
	}
	o := Origin{File: filepath.Base(source), SHA256: print.SHA256, By: strings.TrimSpace(c.Program + " quantize --precision " + made.Precision)}
	if len(print.Data) == 0 {
		if o.MD5, err = fileio.MD5(ctx, source); err != nil {
			return err
		}
	}
	text, err := json.Marshal(made)
	if err != nil {
		return err
	}
	m.Metadata = slices.DeleteFunc(m.Metadata, func(p onnx.Property) bool { return p.Key == conversionKey })
	m.Metadata = append(m.Metadata, onnx.Property{Key: conversionKey, Value: string(text)})
	return addOrigin(m, o)
}

// conversionKey is the key of the property that says how a model was converted.
const conversionKey = "mlperf_conversion"

// ConversionOf returns how the files of a model were converted, as they tell it; nil: one of them tells nothing. It adds up the nodes.
func ConversionOf(paths ...string) (all *report.Conversion) {
	for _, path := range paths {
		head, err := onnx.ReadHead(path)
		if err != nil {
			return nil
		}
		i := slices.IndexFunc(head.Metadata, func(p onnx.Property) bool { return p.Key == conversionKey })
		var c report.Conversion
		if i < 0 || json.Unmarshal([]byte(head.Metadata[i].Value), &c) != nil || !slices.Contains(Precisions(), c.Precision) {
			return nil
		}
		if all == nil {
			all = &c
			continue
		}
		all.Nodes += c.Nodes
		all.Of += c.Of
	}
	return all
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
