//go:build ort

package arch

import (
	"fmt"
	"math"
	"slices"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
)

const waymoGolden = "../../dataset/waymo/testdata/tensors.npz"

// The encoder of the official module, with its weights, on 32×32 pillars.
func TestORTPillarsAreThoseOfTheOfficialModule(t *testing.T) {
	useRuntime(t)
	golden := npytest.Archive(t, waymoGolden)
	floats := func(name string) []float32 { return tensor.Data[float32](golden[name]) }
	names := map[string]string{"conv/weights": "enc_conv", "bn/gamma": "enc_w", "bn/beta": "enc_b", "bn/mean": "enc_m", "bn/variance": "enc_v"}
	used := 0
	m, _, err := paintingDetectionOf(32, -5.12).Build(Options{Outputs: []string{"pillar_encoder:0"}, Weights: func(name string, dims []int64) (onnx.Source, error) {
		for end, from := range names {
			if name == "pillar_encoder."+end {
				used++
				return given(floats(from)), nil
			}
		}
		return Constant(0).fill(0, name, dims)
	}})
	if err != nil || used != len(names) {
		t.Fatalf("%d weights used, %v", used, err)
	}
	counts, places := tensor.Data[int32](golden["enc_npoints"]), tensor.Data[int32](golden["enc_coors"])
	p := len(counts)
	pillars, coors := make([]float32, p*pillarPoints*paintedFeatures), make([]int64, 4*p)
	for i, v := range places {
		coors[i] = int64(v)
	}
	filled := make([]int, p)
	for point := range slices.Chunk(floats("enc_in"), paintedFeatures) {
		cell := func(v float32) int64 { return int64(math.Floor(float64((v + 5.12) / 0.32))) }
		for i := range p {
			if coors[4*i+1] == cell(point[0]) && coors[4*i+2] == cell(point[1]) && filled[i] < pillarPoints {
				copy(pillars[(i*pillarPoints+filled[i])*paintedFeatures:], point)
				filled[i]++
			}
		}
	}
	canvas := runAll(t, m, newTensor(t, pillars, int64(p), pillarPoints, paintedFeatures), newTensor(t, coors, int64(p), 4), newTensor(t, counts, int64(p)))[0]
	want, worst := floats("enc_canvas_at_pillars"), 0.0
	for i := range p {
		for channel := range 64 {
			got := canvas[(channel*32+int(coors[4*i+2]))*32+int(coors[4*i+1])]
			worst = max(worst, math.Abs(float64(got-want[64*i+channel])))
		}
	}
	if worst > 2e-6 {
		t.Errorf("the largest difference is %v", worst)
	}
	if n := 64 * 32 * 32; len(canvas) != n {
		t.Errorf("the canvas has %d numbers, want %d", len(canvas), n)
	}
	t.Logf("%d pillars, largest difference %.1e", p, worst)
}

// The candidates of the official module for scores, boxes and directions at 32×32 places of the whole square.
func TestORTCandidatesAreThoseOfTheOfficialModule(t *testing.T) {
	useRuntime(t)
	golden := npytest.Archive(t, waymoGolden)
	b := NewBuilder("candidates", 1)
	var inputs []*onnx.Value
	var given []ort.Value
	for _, name := range []string{"head_cls", "head_reg", "head_dir"} {
		g := golden[name]
		dims := []int64{1, g.Shape[0], 32, 32}
		inputs = append(inputs, b.Input(name, onnx.Float32, onnx.FixedShape(dims)))
		given = append(given, newTensor(t, tensor.Data[float32](g), dims...))
	}
	pillarNet{b, 32, pillarLow}.candidates(inputs[0], inputs[1], inputs[2])
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	got, want := runAll(t, m, given...)[0], tensor.Data[float32](golden["candidates_first200"])
	if len(got) != PillarCandidates*PillarRow {
		t.Fatalf("%d numbers", len(got))
	}
	worst := 0.0
	for i, v := range want {
		worst = max(worst, math.Abs(float64(got[i]-v)))
	}
	if worst > 2e-5 { // metres, of up to 75
		t.Errorf("the largest difference is %v", worst)
	}
	var sums [PillarRow]float64
	for i, v := range got {
		sums[i%PillarRow] += float64(v)
	}
	for i, v := range []float64{-606.9720456600189, -719.2524679899216, -265.8878045678139, 5185.867702186108, 10300.945498883724, 7296.33456993103, 3215.258346557617, 134.61493697532205, 133.36377218744747, 138.9098578132398, 2052} {
		if math.Abs(sums[i]-v) > 0.01 {
			t.Errorf("the sum of column %d is %v, want %v", i, sums[i], v)
		}
	}
	t.Logf("largest difference %.1e", worst)
}

// The segmentation takes pictures of any size, and its classes follow from them.
func TestORTSegmentationTakesAnySize(t *testing.T) {
	useRuntime(t)
	m, _ := build(t, PaintingSegmentation(), Options{})
	for _, size := range [][2]int{{160, 240}, {112, 240}, {65, 97}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			h, w := size[0], size[1]
			picture := make([]float32, 3*h*w)
			for i, p := range pixels(7, max(h, w))[:3*h*w] {
				picture[i%3*h*w+i/3] = normalised(i%3, float32(p)/255)
			}
			scores := runAll(t, m, newTensor(t, picture, 1, 3, int64(h), int64(w)))[0]
			if len(scores) != PaintingClasses*h*w {
				t.Fatalf("%d scores", len(scores))
			}
			checkFinite(t, "scores", scores)
			counts := countLabels(argMax(scores, PaintingClasses))
			if len(counts) < 4 || largest(counts) > 9*h*w/10 {
				t.Errorf("classes %v", counts)
			}
		})
	}
}

// runAll runs a model of several inputs once.
func runAll(t *testing.T, m *onnx.Model, inputs ...ort.Value) (outputs [][]float32) {
	t.Helper()
	session := openSession(t, m)
	defer session.Destroy()
	made := make([]ort.Value, len(m.Graph.Outputs))
	if err := session.Run(inputs, made); err != nil {
		t.Fatal(err)
	}
	for _, v := range made {
		outputs = append(outputs, floatsOf(v))
		defer v.Destroy()
	}
	for _, v := range inputs {
		v.Destroy()
	}
	return outputs
}
