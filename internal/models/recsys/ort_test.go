//go:build ort

package recsys

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// golden has the weights of a small model, embeddings, and the predictions of the official modules
// (generative_recommenders.modules.dlrm_hstu, PyTorch kernels, float32).
const golden = "testdata/dlrmv3/network.npz"

// goldenWeights are the weights of the official modules. The golden embeddings are rows of one table, at (31·id + salt) mod 997.
func goldenWeights(t *testing.T, values map[string]tensor.Tensor) func(name string, dims []int64) (onnx.Source, error) {
	salts := map[string]int64{"item_id": 0, "user_id": 5, "item_category_id": 9}
	return func(name string, dims []int64) (onnx.Source, error) {
		var list []float32
		table, embedded := strings.CutPrefix(name, "_embedding_collection.embeddings.")
		switch {
		case embedded:
			all, width := tensor.Data[float32](values["emb"]), dims[1]
			for row := range dims[0] {
				from := (31*row + salts[strings.TrimSuffix(table, ".weight")]) % 997
				list = append(list, all[from*width:][:width]...)
			}
		case strings.HasSuffix(name, "position_embeddings_weight"), strings.HasSuffix(name, "timestamp_embeddings_weight"):
			for row := range dims[0] {
				for column := range dims[1] {
					list = append(list, float32(math.Sin(0.013*float64(row+1)*float64(column+1))*0.3))
				}
			}
		default:
			v, ok := values["w/"+name]
			if !ok || !slices.Equal(v.Shape, dims) {
				return nil, fmt.Errorf("%s%v is %v among the golden weights", name, dims, v)
			}
			list = tensor.Data[float32](v)
		}
		return onnx.TensorOf(name, list, dims...).Data, nil
	}
}

// The golden requests are the first two of the official generator's data; one by one, and together, where attention is divided by the longer.
func TestORTPredictionsAreThoseOfTheOfficialModules(t *testing.T) {
	const tolerance = 2e-6 // absolute
	values := npytest.Archive(t, golden)
	a := arch.DLRMv3Of(arch.HSTUSize{Width: 32, Layers: 2, Heads: 2, Key: 16, Value: 16, Preprocessor: 24, Items: 997, Users: 997, Categories: 997, Within: dataset.RequestItems})
	graph, _, err := a.Build(arch.Options{Weights: goldenWeights(t, values)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	testenv.Must(t, graph.WriteFile(t.Context(), path))
	engine := orttest.Engine(t)
	ports, err := workload.PortsOf(t.Context(), engine, []workload.File{{Role: workload.Only, Path: path}}, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &requestWorkload{}
	var output string
	if w.inputs, output, err = bindRequest(ports[workload.Only]); err != nil {
		t.Fatal(err)
	}
	layout := dataset.RequestLayout{Times: 10, Trained: 7, Candidates: 48, History: 16384 - 48 - 1}
	if w.data, err = dataset.OpenRequests("../../dataset/testdata/dlrmv3/data", layout, 0, 0); err != nil {
		t.Fatal(err)
	}
	session, err := engine.Open(t.Context(), backend.Options{ModelPath: path, Outputs: []string{output}, IntraThreads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	of := func(query int) int {
		return slices.IndexFunc(w.data.List, func(r dataset.Request) bool { return r.Time == 0 && r.Query == query })
	}
	opened := w.workload(output)
	store, err := workload.NewStore(2, func(i int) []workload.Slot { return opened.Row(of(i)) })
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range 2 {
		testenv.Must(t, opened.Prepare(of(i), store.Row(i)))
	}
	p, err := opened.NewPredictor(workload.Sessions{workload.Only: session}, 2)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, p.Use(store))
	for name, queries := range map[string][]int{"one": {0}, "two": {1}, "batch": {0, 1}} {
		var items []workload.Item
		for _, q := range queries {
			items = append(items, workload.Item{Row: q, Index: of(q)})
		}
		got := make(replies, len(items))
		testenv.Must(t, p.Predict(t.Context(), items, got))
		want := tensor.Data[float32](values[name+"/predictions"])
		most := 0.0
		for k, response := range got {
			predictions := numbersOf(response)[2:]
			if len(predictions) != 48 {
				t.Fatalf("%s: %d predictions, want 48", name, len(predictions))
			}
			for i, v := range predictions {
				most = max(most, math.Abs(float64(v-want[48*k+i])))
			}
		}
		if most > tolerance {
			t.Errorf("%s: predictions differ by %g, want at most %g", name, most, tolerance)
		} else {
			t.Logf("%s: %d predictions differ by at most %.2g", name, len(want), most)
		}
	}
}
