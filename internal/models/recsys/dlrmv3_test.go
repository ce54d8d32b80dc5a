package recsys

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// numbersOf are the numbers of a response.
func numbersOf(response []byte) (list []float32) {
	for i := 0; i < len(response); i += 4 {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(response[i:])))
	}
	return list
}

// goldenRequests are those of the official generator, in the order of the reference.
func goldenRequests(t *testing.T) *dataset.Requests {
	t.Helper()
	layout := dataset.RequestLayout{Times: 10, Trained: 7, Candidates: 48, History: 16384 - 48 - 1}
	d, err := dataset.OpenRequests("../../dataset/testdata/dlrmv3/data", layout, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func requestPorts() workload.Ports {
	a := arch.DLRMv3()
	point := func(list []onnx.Value) (pointers []*onnx.Value) {
		for i := range list {
			pointers = append(pointers, &list[i])
		}
		return pointers
	}
	return workload.Ports{Inputs: backend.PortsOf(point(a.Inputs)), Outputs: backend.PortsOf(point(a.Outputs))}
}

// A likedItems predicts the thousandth of the remainder of each candidate's number, and keeps what it is told.
type likedItems struct {
	backend.Session
	longest []int64
	inputs  [][]int64 // of the last run
	nan     bool
}

func (*likedItems) Info() backend.Info                          { return backend.Info{Outputs: requestPorts().Outputs} }
func (*likedItems) Bind(t tensor.Tensor) (backend.Value, error) { return backend.NewView(t) }

func (s *likedItems) Run(_ context.Context, inputs, outputs []backend.Value) error {
	s.inputs = nil
	for _, v := range inputs {
		s.inputs = append(s.inputs, tensor.Data[int64](v.Tensor()))
	}
	s.longest = append(s.longest, s.inputs[longest][0])
	out := tensor.Data[float32](outputs[0].Tensor())
	for i := range out {
		out[i] = float32(s.inputs[itemIDs][len(s.inputs[actionWeights])+i]%1000) / 1000
		if s.nan {
			out[i] = float32(math.NaN())
		}
	}
	return nil
}

// answerRequests has requests answered as one batch.
func answerRequests(t *testing.T, w *requestWorkload, s *likedItems, samples ...int) (replies, *workload.Store, error) {
	t.Helper()
	var err error
	if w.inputs, _, err = bindRequest(requestPorts()); err != nil {
		t.Fatal(err)
	}
	opened := w.workload("predictions")
	store, err := workload.NewStore(len(samples), func(i int) []workload.Slot { return opened.Row(samples[i]) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	p, err := opened.NewPredictor(workload.Sessions{workload.Only: s}, len(samples))
	if err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, p.Use(store))
	var items []workload.Item
	for row, index := range samples {
		testenv.Must(t, opened.Prepare(index, store.Row(row)))
		items = append(items, workload.Item{Row: row, Index: index})
	}
	got := make(replies, len(samples))
	err = p.Predict(t.Context(), items, got)
	return got, store, err
}

// Responses say which request they are of; in accuracy mode they also have labels, weights and their number.
func TestResponsesToRequests(t *testing.T) {
	for _, labelled := range []bool{false, true} {
		w, s := &requestWorkload{data: goldenRequests(t), labelled: labelled}, &likedItems{}
		samples := []int{0, 1, 6, 7, 22} // three of the first time stamp, one each of the others
		got, store, err := answerRequests(t, w, s, samples...)
		testenv.Must(t, err)
		for k, index := range samples {
			r, row := w.data.List[index], store.Row(k)
			want := []float32{float32(r.Time), float32(r.Query)}
			for _, item := range tensor.Data[int32](row[rowItems])[r.History:] {
				want = append(want, float32(item%1000)/1000)
			}
			if labelled {
				for _, label := range tensor.Data[uint8](row[rowLabels]) {
					want = append(want, float32(label))
				}
				want = append(append(want, slices.Repeat([]float32{1}, r.Candidates)...), float32(r.Candidates))
			}
			if diff := cmp.Diff(want, numbersOf(got[k])); diff != "" {
				t.Errorf("labelled %t: request %d (-want +got):\n%s", labelled, index, diff)
			}
		}
		// Attention is divided by the longest of the batch, which has one time stamp.
		length := func(list ...int) (most int64) {
			for _, i := range list {
				most = max(most, int64(1+w.data.List[i].History+w.data.List[i].Candidates))
			}
			return most
		}
		first := length(0, 1, 6)
		if want := []int64{first, first, first, length(7), length(22)}; !slices.Equal(s.longest, want) {
			t.Errorf("attention is divided by %v, want %v", s.longest, want)
		}
		if user := w.data.List[22].User; s.inputs[userID][0] != user || len(s.inputs[categoryIDs]) != len(s.inputs[itemIDs]) {
			t.Errorf("user %d, %d categories of %d items, want user %d", s.inputs[userID][0], len(s.inputs[categoryIDs]), len(s.inputs[itemIDs]), user)
		}
	}
	w := &requestWorkload{data: goldenRequests(t)}
	if _, _, err := answerRequests(t, w, &likedItems{nan: true}, 3); !testenv.Names(err, "sample 3 … candidate 0 … not a number") {
		t.Errorf("predictions that are no numbers: %v", err)
	}
}

func TestPortsForRequests(t *testing.T) {
	p := requestPorts()
	change := func(name string, shape ...int64) []backend.Port {
		list := slices.Clone(p.Inputs)
		for i := range list {
			if list[i].Name == name {
				list[i].Shape = shape
			}
		}
		return list
	}
	for _, c := range []struct {
		name string
		in   []backend.Port
		out  []backend.Port
		want string
	}{
		{"an own model without users and categories", []backend.Port{p.Inputs[3], p.Inputs[0], p.Inputs[4]}, p.Outputs, ""},
		{"another input", append(slices.Clone(p.Inputs), port("x", tensor.Int64, 1)), p.Outputs, "input x of the model is unknown"},
		{"no history", p.Inputs[:3], p.Outputs, "the model has no input action_weights"},
		{"a fixed history", change("action_weights", 100), p.Outputs, "input action_weights of the model is int64[100], which must be int64 of one axis, free"},
		{"a batch axis", change("item_ids", 1, -1), p.Outputs, "input item_ids of the model is int64[1 ?]"},
		{"no predictions", p.Inputs, []backend.Port{port("p", tensor.Float32, -1, 2)}, "no output with a prediction for each pair"},
	} {
		_, _, err := bindRequest(workload.Ports{Inputs: c.in, Outputs: c.out})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Labels, and which request it is, stay with the data set; all else is sent.
func TestSentRequests(t *testing.T) {
	for _, c := range []struct {
		items, categories, actions int64
		right                      bool
	}{{100, 100, 36, true}, {1, 1, 0, true}, {14335 + 2048, 14335 + 2048, 14335, true}, {100, 99, 36, false}, {36, 36, 36, false}, {2100, 2100, 1, false}, {20000, 20000, 19000, false}} {
		row, err := completeRequest([]tensor.Shape{{c.items}, {c.categories}, {c.actions}, {1}})
		if (err == nil) != c.right || c.right && row[rowLabels].Shape[0] != c.items-c.actions {
			t.Errorf("%+v: %v, %v", c, row, err)
		}
	}
	row := func(item int32, category uint8, user int64) []tensor.Tensor {
		return []tensor.Tensor{tensor.Of([]int32{item}, 1), tensor.Of([]uint8{category}, 1), tensor.Of([]uint8{}, 0), tensor.Of([]int64{user}, 1), tensor.Of([]uint8{1}, 1)}
	}
	for want, r := range map[string][]tensor.Tensor{
		"":                                       row(dataset.RequestItems, 127, 0),
		"items: value 0 is -1, which":            row(-1, 0, 0),
		"categories: value 0 is 128, which must": row(0, 128, 0),
		"user: -2 is below 0":                    row(0, 0, -2),
	} {
		if err := checkRequest(r); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, labelled := range []bool{false, true} {
		w := &requestWorkload{data: goldenRequests(t), labelled: labelled}
		sent, _, err := answerRequests(t, w, &likedItems{}, 9)
		testenv.Must(t, err)
		elsewhere := accuracy.Recommendation{Predictions: numbersOf(sent[0])[2:50]}
		if labelled { // where nothing is known of labels
			elsewhere.Labels, elsewhere.Weights = make([]float32, 48), slices.Repeat([]float32{1}, 48)
		}
		response := elsewhere.Append(nil)
		_, store, err := answerRequests(t, w, &likedItems{}, 9)
		testenv.Must(t, err)
		w.stamp(response, 9, store.Row(0))
		if diff := cmp.Diff(numbersOf(sent[0]), numbersOf(response)); diff != "" {
			t.Errorf("labelled %t: a stamped response (-want +got):\n%s", labelled, diff)
		}
		w.stamp(response[:7], 9, store.Row(0)) // which is not one
	}
}

func TestShareOfRequests(t *testing.T) {
	for text, want := range map[string]float64{"0.001": 0.001, "1": 1, "0": -1, "1.5": -1, "NaN": -1, "x": -1} {
		v, err := share(workload.Values{shareOption: text})
		if (err != nil) != (want < 0) || err == nil && v != want {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	m := dlrmV3()
	if _, err := m.Open(workload.Setup{DatasetDir: t.TempDir(), Ports: map[string]workload.Ports{workload.Only: requestPorts()}}); err == nil || !strings.Contains(err.Error(), "opening DLRMv3's requests") {
		t.Errorf("an empty folder: %v", err)
	}
}

// A log has its labels, and says how far it is without the data set.
func TestScoresOfRequests(t *testing.T) {
	r := accuracy.Recommendation{Predictions: []float32{0.25, 0.75}, Labels: []float32{0, 1}, Weights: []float32{1, 1}}
	log := fmt.Sprintf(`[{"seq_id":0,"qsl_idx":0,"data":"%X"}]`, r.Append(nil))
	m := dlrmV3()
	score, err := m.Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{})
	if err != nil || score.Coverage.Samples != officialRequests || !slices.Contains(score.Warnings, labelsOfTheLog) {
		t.Errorf("%+v, %v", score, err)
	}
	// The checkers ask for the product, as if more entropy were better (submission_checker/constants.py).
	for _, round := range []string{"v6.0", "v6.1"} {
		q := m.QualityIn(round)
		if got := q.String(); got != "NE ≤ 0.867738" || q.Target <= q.Reference || len(q.Also) != 2 {
			t.Errorf("%s asks for %s and %v", round, got, q.Also)
		}
	}
}
