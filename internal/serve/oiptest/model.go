// Package oiptest has a model for tests of clients and servers of the Open Inference Protocol.
package oiptest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Doubler is a model that doubles rows of numbers: x FP32[? Width] becomes y of the same.
type Doubler struct {
	Name    string
	Version string
	Width   int64
	Room    int           // requests at once, at most; 0: any number
	Time    time.Duration // of an answer

	busy      atomic.Int64
	Most      atomic.Int64 // requests at once
	Inferred  atomic.Int64
	NotReady  atomic.Bool
	CacheHits atomic.Int64 // of its statistics
	newer     atomic.Pointer[string]
}

// Replace changes the version of the model while it is served.
func (d *Doubler) Replace(version string) { d.newer.Store(&version) }

func (d *Doubler) version() string {
	if v := d.newer.Load(); v != nil {
		return *v
	}
	return d.Version
}

// Metadata implements oipserver.Model.
func (d *Doubler) Metadata() *protocol.ModelMetadata {
	port := func(name string) []protocol.Port {
		return []protocol.Port{{Name: name, Datatype: "FP32", Shape: []int64{-1, d.Width}}}
	}
	m := &protocol.ModelMetadata{Name: d.Name, Platform: "test", Inputs: port("x"), Outputs: port("y")}
	if v := d.version(); v != "" {
		m.Versions = []string{v}
	}
	return m
}

// Busy is the number of requests under way.
func (d *Doubler) Busy() int64 { return d.busy.Load() }

// Ready implements oipserver.Model.
func (d *Doubler) Ready() bool { return !d.NotReady.Load() }

// Statistics implements oipserver.Model.
func (d *Doubler) Statistics() protocol.ModelStatistics {
	n := uint64(d.Inferred.Load())
	return protocol.ModelStatistics{Name: d.Name, Version: d.version(), InferenceCount: n, ExecutionCount: n,
		InferenceStats: protocol.InferenceSum{Success: protocol.Sum{Count: n, NS: 1000 * n}, CacheHit: protocol.Sum{Count: uint64(d.CacheHits.Load())}}}
}

// MaxBytes implements oipserver.Model.
func (d *Doubler) MaxBytes() int64 { return 8 * 4 * d.Width }

// Begin implements oipserver.Model.
func (d *Doubler) Begin(h *protocol.Head) (oipserver.Job, error) {
	if n := d.busy.Add(1); d.Room > 0 && n > int64(d.Room) {
		d.busy.Add(-1)
		return nil, protocol.Errorf(protocol.Unavailable, "%d requests are under way", d.Room)
	}
	for n := d.busy.Load(); n > d.Most.Load(); {
		d.Most.Store(n)
	}
	if len(h.Tensors) != 1 || h.Tensors[0].Name != "x" {
		d.busy.Add(-1)
		return nil, protocol.Errorf(protocol.InvalidArgument, "expected one input, x")
	}
	return &job{model: d}, nil
}

type job struct {
	model *Doubler
	in    tensor.Tensor
}

func (j *job) Place(_ int, s protocol.Spec) (tensor.Tensor, error) {
	if s.Type != tensor.Float32 || len(s.Shape) != 2 || s.Shape[1] != j.model.Width || s.Shape[0] > 8 {
		return tensor.Tensor{}, protocol.Errorf(protocol.InvalidArgument, "expected FP32[? %d], at most 8 rows", j.model.Width)
	}
	j.in = tensor.New(s.Type, s.Shape...)
	return j.in, nil
}

func (j *job) Run(ctx context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	if j.model.Time > 0 {
		select {
		case <-time.After(j.model.Time):
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	data := slices.Clone(tensor.Data[float32](j.in))
	for i := range data {
		data[i] *= 2
	}
	j.model.Inferred.Add(j.in.Shape[0])
	out := tensor.Of(data, j.in.Shape...)
	return []protocol.Spec{{Name: "y", Type: out.Type, Shape: out.Shape}}, []tensor.Tensor{out}, nil
}

func (j *job) End() { j.model.busy.Add(-1) }

// Lengths is a model that counts the bytes of texts: x BYTES[? 2] becomes n INT64[? 2].
type Lengths struct {
	Name string
	Rows atomic.Int64 // in the largest request
	Seen sync.Map     // rows that were asked, by their texts with a bar between
}

// Metadata implements oipserver.Model.
func (l *Lengths) Metadata() *protocol.ModelMetadata {
	return &protocol.ModelMetadata{Name: l.Name, Platform: "test", Inputs: []protocol.Port{{Name: "x", Datatype: "BYTES", Shape: []int64{-1, 2}}},
		Outputs: []protocol.Port{{Name: "n", Datatype: "INT64", Shape: []int64{-1, 2}}}}
}

// Ready implements oipserver.Model.
func (*Lengths) Ready() bool { return true }

// Statistics implements oipserver.Model.
func (l *Lengths) Statistics() protocol.ModelStatistics {
	return protocol.ModelStatistics{Name: l.Name}
}

// MaxBytes implements oipserver.Model.
func (*Lengths) MaxBytes() int64 { return 1 << 20 }

// Begin implements oipserver.Model.
func (l *Lengths) Begin(*protocol.Head) (oipserver.Job, error) { return &lengthsJob{model: l}, nil }

type lengthsJob struct {
	model *Lengths
	in    tensor.Tensor
}

func (j *lengthsJob) Place(_ int, s protocol.Spec) (tensor.Tensor, error) {
	if s.Type != tensor.String || len(s.Shape) != 2 || s.Shape[1] != 2 || s.Shape[0] > 8 {
		return tensor.Tensor{}, protocol.Errorf(protocol.InvalidArgument, "expected BYTES[? 2], at most 8 rows")
	}
	j.in = tensor.New(s.Type, s.Shape...)
	return j.in, nil
}

func (j *lengthsJob) Run(context.Context) ([]protocol.Spec, []tensor.Tensor, error) {
	rows := j.in.Shape[0]
	for n := j.model.Rows.Load(); rows > n && !j.model.Rows.CompareAndSwap(n, rows); {
		n = j.model.Rows.Load()
	}
	var counts []int64
	for row := range slices.Chunk(j.in.Strings(), 2) {
		j.model.Seen.Store(row[0]+"|"+row[1], true)
	}
	for _, text := range j.in.Strings() {
		counts = append(counts, int64(len(text)))
	}
	out := tensor.Of(counts, j.in.Shape...)
	return []protocol.Spec{{Name: "n", Type: out.Type, Shape: out.Shape}}, []tensor.Tensor{out}, nil
}

func (*lengthsJob) End() {}
