package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// ceilingPath is the file of what this machine was measured to do at most, by device.
func ceilingPath(device string) (string, error) {
	s := profile.Subject{Model: "ceiling", Scenario: "product", Device: cmp.Or(device, "cpu"), Machine: profile.Machine{
		CPU: machine.Describe("").CPU.Model, Cores: runtime.GOMAXPROCS(0),
	}}
	return home.DataDir("ceilings", s.FileName())
}

// ceilingOf is the ceiling of a device for models of a precision; nil: none was measured, or the machine has another one for it.
func ceilingOf(device, precision string) *report.Ceiling {
	path, err := ceilingPath(device)
	if err != nil {
		return nil
	}
	const most = 1 << 16
	data, err := fileio.ReadFile(path, most)
	if err != nil {
		return nil
	}
	var c report.Ceiling
	if json.Unmarshal(data, &c) != nil || c.GFLOPS <= 0 || c.Precision != precision {
		return nil
	}
	return &c
}

// MeasureCeiling measures the product of large matrices in FP32 on a device, and of the CPU the speed of memory, for about two seconds, and
// keeps them for later runs on this machine.
func MeasureCeiling(ctx context.Context, e backend.Engine, device string) (*report.Ceiling, error) {
	c := &report.Ceiling{Precision: convert.FP32}
	var err error
	if c.GFLOPS, err = measureProduct(ctx, e, device); err != nil {
		return nil, fmt.Errorf("measuring a matrix product: %w", err)
	}
	if !ort.Accelerates(device) {
		c.GBytesPerSecond = measureCopy()
	}
	path, err := ceilingPath(device)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return c, fileio.WriteAtomic(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// The measured product: some matrices one after the other, so that what a run costs beside them hardly counts.
const (
	productSide  = 1024
	productCount = 4
	productTime  = time.Second
)

// measureProduct returns 10⁹ operations per second, in the quickest run.
func measureProduct(ctx context.Context, e backend.Engine, device string) (best float64, err error) {
	folder, err := os.MkdirTemp("", "mlperf-ceiling-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "product.onnx")
	if err := productModel().WriteFile(ctx, path); err != nil {
		return 0, err
	}
	session, err := e.Open(ctx, backend.Options{ModelPath: path, Device: device, IntraThreads: runtime.GOMAXPROCS(0)})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	in := tensor.New(tensor.Float32, productSide, productSide)
	for i := range tensor.Data[float32](in) {
		tensor.Data[float32](in)[i] = 1 / float32(1+i%7)
	}
	out := tensor.New(tensor.Float32, productSide, productSide)
	var values []backend.Value
	for _, t := range []tensor.Tensor{in, out} {
		v, err := session.Bind(t)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, v.Close()) }()
		values = append(values, v)
	}
	const operations = 2 * productCount * productSide * productSide * productSide
	for began := clock.Now(); clock.Since(began) < productTime; {
		start := clock.Now()
		if err := session.Run(ctx, values[:1], values[1:]); err != nil {
			return 0, err
		}
		best = max(best, operations/1e9/clock.Since(start).Seconds())
	}
	return best, nil
}

func productModel() *onnx.Model {
	shape := onnx.FixedShape([]int64{productSide, productSide})
	g := &onnx.Graph{
		Name:    "product",
		Inputs:  []*onnx.Value{{Name: "x0", Type: onnx.Type{Elem: onnx.Float32, Shape: shape}}},
		Outputs: []*onnx.Value{{Name: fmt.Sprintf("x%d", productCount), Type: onnx.Type{Elem: onnx.Float32, Shape: shape}}},
	}
	weights := make([]float32, productSide*productSide)
	for i := range weights {
		weights[i] = float32(i%5-2) / productSide
	}
	for i := range productCount {
		w := fmt.Sprintf("w%d", i)
		g.Initializers = append(g.Initializers, onnx.TensorOf(w, weights, productSide, productSide))
		g.Nodes = append(g.Nodes, &onnx.Node{Op: "MatMul", Inputs: []string{fmt.Sprintf("x%d", i), w}, Outputs: []string{fmt.Sprintf("x%d", i+1)}})
	}
	return &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: g}
}

// measureCopy returns 10⁹ bytes per second, read and written, in the quickest of some copies by all processors at once.
func measureCopy() (best float64) {
	const size, copies, page = 64 << 20, 8, 4 << 10
	workers := runtime.GOMAXPROCS(0)
	from, to := make([][]byte, workers), make([][]byte, workers)
	for i := range workers {
		from[i], to[i] = make([]byte, size), make([]byte, size)
		for at := 0; at < size; at += page {
			from[i][at] = 1 // until then all pages are one in memory, the empty one
		}
	}
	for range copies {
		var done sync.WaitGroup
		start := clock.Now()
		for i := range workers {
			done.Go(func() { copy(to[i], from[i]) })
		}
		done.Wait()
		best = max(best, 2*size*float64(workers)/1e9/clock.Since(start).Seconds())
	}
	return best
}
