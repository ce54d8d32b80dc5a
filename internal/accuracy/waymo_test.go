package accuracy

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
)

// box is a row of a response: a car of 4 by 2 metres and 1.5 high.
func waymoBox(frame, class, score float32, change ...float32) []float32 {
	row := []float32{4, 1.5, 2, 10, 1, 20, 0.3, 0, 0, 10, 10, class, score, frame}
	for i, v := range change {
		row[i] += v
	}
	return row
}

func waymoCar(difficulty int, name string) WaymoObject {
	row := waymoBox(0, 0, 0)
	return WaymoObject{Name: name, Difficulty: difficulty, WaymoBox: WaymoBox{Dimensions: [3]float32(row), Location: [3]float32(row[3:]), Rotation: row[6]}}
}

func TestScoreWaymo(t *testing.T) {
	frame := func(id int64, objects ...WaymoObject) WaymoFrame { return WaymoFrame{id, objects} }
	car, none := waymoCar(0, "Car"), append(slices.Repeat([]float32{-1}, 13), 7)
	for _, c := range []struct {
		name   string
		frames []WaymoFrame
		log    Input
		want   string // the precision of cars, or an error
	}{
		{"found", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 2, 0.9)...)), "'Car': [9.090909090909092]"},
		{"nothing found", []WaymoFrame{frame(7, car)}, logOf(floats(none...)), "'Car': [0.0]"},
		{"another class", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 1, 0.9)...)), "'Car': [0.0]"},
		{"a turned box", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 2, 0.9, 0, 0, 0, 0, 0, 0, 1.5)...)), "'Car': [0.0]"},
		{"a box in the air", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 2, 0.9, 0, 0, 0, 0, -1)...)), "'Car': [0.0]"},
		{"a better wrong box", []WaymoFrame{frame(7, car)}, logOf(floats(slices.Concat(waymoBox(7, 2, 0.9), waymoBox(7, 2, 0.95, 0, 0, 0, 30))...)), "'Car': [4.545454545454546]"},
		{"low in the last picture", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 2, 0.9, 0, 0, 0, 0, 0, 0, 0, 0, 12)...)), "'Car': [0.0]"},
		{"of another frame", []WaymoFrame{frame(7), frame(8, car)}, logOf(floats(slices.Concat(none, waymoBox(8, 2, 0.9))...), floats(waymoBox(8, 2, 0.1, 0, 0, 0, 30)...)), "'Car': [9.090909090909092]"},
		// A box on a hard object is neither right nor wrong; with no other box there is no precision.
		{"a hard object", []WaymoFrame{frame(7, waymoCar(1, "Car"), waymoCar(0, "Car"))}, logOf(floats(waymoBox(7, 2, 0.9)...)), "'Car': [0.0]"},
		{"a van", []WaymoFrame{frame(7, waymoCar(0, "Van"), car)}, logOf(floats(slices.Concat(waymoBox(7, 2, 0.9), waymoBox(7, 2, 0.8))...)), "'Car': [9.090909090909092]"},
		{"a frame without a record", []WaymoFrame{frame(7, car), frame(8)}, logOf(floats(waymoBox(7, 2, 0.9)...)), "frame 8 of sample 1 is not in the log"},
		{"an empty response", []WaymoFrame{frame(7, car)}, logOf(nil), "frame 7 of sample 0 is not in the log"},
		{"a part of a row", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 2, 0.9)[:13]...)), "record 0 (qsl_idx 0): 13 numbers are not rows of 14"},
		{"no class", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 3, 0.9)...)), "record 0 (qsl_idx 0): box 0: class 3"},
		{"no number", []WaymoFrame{frame(7, car)}, logOf(floats(waymoBox(7, 2, float32(zero/zero))...)), "box 0: number 12 is NaN"},
		{"another sample", []WaymoFrame{frame(7, car)}, logOf(floats(none...), floats(none...)), "the ground truth has only 1 samples"},
		{"an empty log", []WaymoFrame{frame(7, car)}, text("[]"), "the log has no record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			score, err := ScoreWaymo(c.log, c.frames, false)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = score.Lines[0]
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if warned := err == nil && len(score.Warnings) > 0; warned != (c.name == "of another frame") {
				t.Errorf("warnings %q", score.Warnings)
			}
		})
	}
}

var zero = 0.0

// The overlaps are those of iou3d_camera of the reference.
func TestWaymoOverlaps(t *testing.T) {
	all := npytest.Archive(t, "../dataset/waymo/testdata/tensors.npz")
	boxes := func(name string) (list []WaymoBox) {
		for row := range slices.Chunk(tensor.Data[float32](all[name]), 7) {
			list = append(list, WaymoBox{[3]float32(row), [3]float32(row[3:]), row[6]})
		}
		return list
	}
	truth, found, want := boxes("iou_gt"), boxes("iou_det"), tensor.Data[float32](all["iou3d"])
	right := 0
	for i, a := range truth {
		for k, b := range found {
			ground, other := a.ground(), b.ground()
			if got := a.overlap(&b, &ground, &other); got == want[i*len(found)+k] {
				right++
			} else {
				t.Errorf("overlap of %d and %d is %v, want %v", i, k, got, want[i*len(found)+k])
			}
		}
	}
	if right != 36 {
		t.Errorf("%d of %d are equal", right, len(want))
	}
}

func TestPythonFloat(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 100: "100.0", 34.821453056747174: "34.821453056747174", 1e-5: "1e-05", zero / zero: "nan"} {
		if got := pythonFloat(v); got != want {
			t.Errorf("pythonFloat(%v) = %s, want %s", v, got, want)
		}
	}
}
