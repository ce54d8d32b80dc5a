//go:build ort

package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// goldenModel writes the network with the golden weights, and opens it with the golden data and all neighbours.
func goldenModel(t *testing.T, checkpoint map[string]tensor.Tensor) (*graphWorkload, backend.Session) {
	t.Helper()
	var used int64
	graph, stats, err := arch.RGATOf(arch.GATSize{Features: 16, Hidden: 32, Heads: 4, Classes: 23}).Build(arch.Options{Weights: func(name string, dims []int64) (onnx.Source, error) {
		v, ok := checkpoint["w/"+name]
		if !ok || !slices.Equal(v.Shape, dims) {
			return nil, fmt.Errorf("%s is %v in the checkpoint", name, v)
		}
		used += int64(v.Len())
		return onnx.TensorOf(name, tensor.Data[float32](v), dims...).Data, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Parameters != used {
		t.Errorf("%d parameters are left of %d", stats.Parameters, used)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	testenv.Must(t, graph.WriteFile(t.Context(), path))
	engine := orttest.Engine(t)
	ports, err := workload.PortsOf(t.Context(), engine, []workload.File{{Role: workload.Only, Path: path}}, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &graphWorkload{fanOuts: all()}
	w.data, w.graph = goldenGraph(t)
	var output backend.Port
	if w.inputs, output, err = bind(ports[workload.Only], 3, 16); err != nil {
		t.Fatal(err)
	}
	session, err := engine.Open(t.Context(), backend.Options{ModelPath: path, Outputs: []string{output.Name}, IntraThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return w, session
}

// logits runs the model.
func logits(t *testing.T, s backend.Session, tensors []tensor.Tensor) []float32 {
	t.Helper()
	inputs, err := backend.BindAll(s, tensors)
	if err != nil {
		t.Fatal(err)
	}
	outputs := make([]backend.Value, 1)
	testenv.Must(t, s.Run(t.Context(), inputs, outputs))
	got := slices.Clone(tensor.Data[float32](outputs[0].Tensor()))
	testenv.Must(t, backend.CloseAll(inputs, outputs))
	return got
}

// apart is the largest difference of two lists.
func apart(a, b []float32) (most float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most
}

// With all neighbours nothing is left to chance: scores are those of the official module, and so are those of its drawn neighbours.
func TestORTScoresAreThoseOfTheOfficialModule(t *testing.T) {
	const tolerance = 1e-4 // absolute; scores go up to 54
	values := npytest.Archive(t, golden+"/tensors.npz")
	w, session := goldenModel(t, values)
	for name, samples := range map[string]int{"all_neighbours": 8, "all_neighbours_val": 48} {
		want := tensor.Data[float32](values[name+"/logits"])
		for _, batch := range []int{1, samples} {
			made, err := w.predictor(session)
			testenv.Must(t, err)
			p := made.(*predictor)
			t.Cleanup(func() { p.Close() })
			var got []float32
			for papers := range slices.Chunk(w.data.Papers[:samples], batch) {
				p.papers = papers
				testenv.Must(t, p.gather())
				got = append(got, logits(t, session, p.tensors)...)
			}
			if d := apart(got, want); d > tolerance {
				t.Errorf("%s in batches of %d: scores differ by %g, want at most %g", name, batch, d, tolerance)
			} else {
				t.Logf("%s in batches of %d: %d scores differ by at most %.2g", name, batch, len(want), d)
			}
		}
	}
	if d := apart(logits(t, session, sampledTensors(t, w, values)), tensor.Data[float32](values["sampled/logits"])); d > tolerance {
		t.Errorf("the official drawing: scores differ by %g, want at most %g", d, tolerance)
	} else {
		t.Logf("the official drawing: scores differ by at most %.2g", d)
	}
}

// sampledTensors are the model's inputs for the neighbours that DGL drew.
func sampledTensors(t *testing.T, w *graphWorkload, values map[string]tensor.Tensor) (list []tensor.Tensor) {
	t.Helper()
	nodes := func(layer int, kind igbh.Kind) []int32 {
		switch {
		case layer == 3 && kind == igbh.Paper:
			return make([]int32, 4) // the samples: only their number counts
		case layer == 3:
			return nil
		}
		return tensor.Data[int32](values[fmt.Sprintf("sampled/b%d/src/%v", layer, kind)])
	}
	for _, in := range w.inputs {
		if in.what == features {
			var ids []uint32
			for _, id := range nodes(0, in.kind) {
				ids = append(ids, uint32(id))
			}
			rows := make([]float32, (1+len(ids))*16)
			r, err := w.data.Reader()
			testenv.Must(t, err, r.Read(in.kind, ids, rows[16:]), r.Close())
			list = append(list, tensor.Of(rows, int64(1+len(ids)), 16))
			continue
		}
		r := igbh.Relations()[in.relation]
		edges := tensor.Data[int32](values[fmt.Sprintf("sampled/b%d/edges/%v/%s/%v", in.layer, r.From, r.Name, r.To)])
		from, to := edges[:len(edges)/2], edges[len(edges)/2:]
		from64, places := []int64{0}, map[int32]int64{}
		into := make([][]int64, 1+len(nodes(in.layer+1, r.To)))
		width := 1
		for i, source := range from {
			if places[source] == 0 {
				places[source] = int64(len(from64))
				from64 = append(from64, int64(source)+1)
			}
			row := to[i] + 1
			into[row] = append(into[row], places[source])
			width = max(width, len(into[row]))
		}
		if in.what == sources {
			list = append(list, tensor.Of(from64, int64(len(from64))))
			continue
		}
		table := make([]int64, len(into)*width)
		for row, list := range into {
			copy(table[row*width:], list)
		}
		list = append(list, tensor.Of(table, int64(len(into)), int64(width)))
	}
	return list
}

// answers collects responses by ticket.
type answers map[int][]byte

func (answers) FirstToken(int, []byte) {}
func (a answers) Done(ticket int, response []byte, _ int) {
	a[ticket] = slices.Clone(response)
}

// Responses are int64, and the same whatever the batch.
func TestORTResponses(t *testing.T) {
	want := testenv.JSON[struct {
		Val struct{ Argmax []uint64 } `json:"all_neighbours_val"`
	}](t, golden+"/expected.json").Val.Argmax
	w, session := goldenModel(t, npytest.Archive(t, golden+"/tensors.npz"))
	all := w.workload("logits")
	store, err := workload.NewStore(all.Samples, all.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range all.Samples {
		testenv.Must(t, all.Prepare(i, store.Row(i)))
	}
	for _, batch := range []int{1, 5, all.Samples} {
		p, err := all.NewPredictor(workload.Sessions{workload.Only: session}, batch)
		if err != nil {
			t.Fatal(err)
		}
		testenv.Must(t, p.Use(store))
		for first := 0; first < all.Samples; first += batch {
			var items []workload.Item
			for i := first; i < min(first+batch, all.Samples); i++ {
				items = append(items, workload.Item{Row: i, Index: i})
			}
			got := answers{}
			testenv.Must(t, p.Predict(t.Context(), items, got))
			for k, item := range items {
				if len(got[k]) != 8 || binary.LittleEndian.Uint64(got[k]) != want[item.Index] {
					t.Errorf("batches of %d: sample %d is answered %x, want %d", batch, item.Index, got[k], want[item.Index])
				}
			}
		}
		testenv.Must(t, p.Close())
	}
}
