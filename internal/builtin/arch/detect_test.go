package arch

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The expected numbers are those of ssd_anchor_generator and models/anchor_generator.py.
func TestMobileNetAnchorsAreTheOfficialOnes(t *testing.T) {
	centers, sizes := ssdMobileNet{}.anchors()
	if len(centers) != 2*1917 || len(sizes) != 2*1917 {
		t.Fatalf("there are %d anchors, want 1917", len(centers)/2)
	}
	for _, c := range []struct {
		anchor int
		want   string // y, x, height, width
	}{
		{0, "0.0263 0.0263 0.1000 0.1000"},
		{1, "0.0263 0.0263 0.1414 0.2828"},
		{2, "0.0263 0.0263 0.2828 0.1414"},
		{3, "0.0263 0.0789 0.1000 0.1000"}, // the next place of the row
		{1083, "0.0500 0.0500 0.3500 0.3500"},
		{1086, "0.0500 0.0500 0.2021 0.6062"}, // three times as wide as high
		{1088, "0.0500 0.0500 0.4183 0.4183"}, // between 0.35 and 0.5
		{1916, "0.5000 0.5000 0.9747 0.9747"},
	} {
		a := 2 * c.anchor
		if got := fmt.Sprintf("%.4f %.4f %.4f %.4f", centers[a], centers[a+1], sizes[a], sizes[a+1]); got != c.want {
			t.Errorf("anchor %d is %s, want %s", c.anchor, got, c.want)
		}
	}
}

// The expected numbers are those of dboxes_R34_coco in models/ssd_r34.py.
func TestResNet34BoxesAreTheOfficialOnes(t *testing.T) {
	centers, sizes := ssdResNet{}.defaultBoxes()
	if len(centers) != 2*15_130 {
		t.Fatalf("there are %d boxes, want 15130", len(centers)/2)
	}
	for _, c := range []struct {
		box  int
		want string // x, y, width, height
	}{
		{0, "0.0100 0.0100 0.0700 0.0700"},
		{1, "0.0300 0.0100 0.0700 0.0700"}, // the next place of the row
		{2500, "0.0100 0.0100 0.1025 0.1025"},
		{5000, "0.0100 0.0100 0.0990 0.0495"},
		{7500, "0.0100 0.0100 0.0495 0.0990"},
		{10_000, "0.0200 0.0200 0.1500 0.1500"},
		{15_129, "0.8333 0.8333 0.6152 1.0000"}, // cut off at the size of the image
	} {
		b := 2 * c.box
		if got := fmt.Sprintf("%.4f %.4f %.4f %.4f", centers[b], centers[b+1], sizes[b], sizes[b+1]); got != c.want {
			t.Errorf("box %d is %s, want %s", c.box, got, c.want)
		}
	}
}

// The expected corners are those of torchvision's AnchorGenerator.
func TestRetinaNetAnchorsAreTheOfficialOnes(t *testing.T) {
	total := 0
	for level, grid := range []int64{100, 50, 25, 13, 7} {
		total += len(retinaNetBoxes(level, grid)) / 4
	}
	if total != 120_087 {
		t.Errorf("there are %d anchors, want 120087", total)
	}
	corners := func(level int, grid int64, anchor int) []float32 {
		b := retinaNetBoxes(level, grid)[4*anchor:][:4]
		return []float32{b[0] - b[2]/2, b[1] - b[3]/2, b[0] + b[2]/2, b[1] + b[3]/2}
	}
	for _, c := range []struct {
		level  int
		grid   int64
		anchor int
		want   []float32
	}{
		{0, 100, 0, []float32{-23, -11, 23, 11}},
		{0, 100, 4, []float32{-20, -20, 20, 20}},
		{0, 100, 8, []float32{-18, -35, 18, 35}},
		{0, 100, 9, []float32{-15, -11, 31, 11}},
		{0, 100, 900, []float32{-23, -3, 23, 19}},
		{3, 13, 9*13*13 - 1, []float32{732 - 144, 732 - 287, 732 + 144, 732 + 287}},
		{4, 7, 4, []float32{-322, -322, 322, 322}},
	} {
		if got := corners(c.level, c.grid, c.anchor); !slices.Equal(got, c.want) {
			t.Errorf("anchor %d of level %d is %v, want %v", c.anchor, c.level, got, c.want)
		}
	}
}

func TestOnlyListedScoresAreAwake(t *testing.T) {
	table := scoreTable{{0, 1, 2, -3}, {1, 0, 0, -4}, {0, 0, 1, -5}}
	const d = dormant
	if diff := cmp.Diff(Given{d, -5, d, d, d, -3}, table.biases(0, 2, 3, anchorMajor)); diff != "" {
		t.Errorf("anchor by anchor (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Given{d, d, -5, d, d, -3}, table.biases(0, 2, 3, classMajor)); diff != "" {
		t.Errorf("class by class (-want +got):\n%s", diff)
	}
}

func TestCalibrationsWakeEveryClassOfTheirDetector(t *testing.T) {
	for _, c := range []struct {
		name           string
		calibration    calibration
		anchors        []int
		first, classes int
	}{
		{"ssd-mobilenet", ssdMobileNetV1Calibration, []int{3, 6, 6, 6, 6, 6}, 1, 91},
		{"ssd-mobilenet-v2", ssdMobileNetV2Calibration, []int{3, 6, 6, 6, 6, 6}, 1, 91},
		{"ssd-resnet34", ssdResNet34Calibration, []int{4, 6, 6, 6, 4, 4}, 1, 81},
		{"retinanet", retinaNetCalibration, []int{9}, 0, 264},
	} {
		awake := make(map[int]bool)
		seen := make(map[[3]int]bool)
		for _, s := range c.calibration.scores {
			if int(s.grid) >= len(c.anchors) || int(s.anchor) >= c.anchors[s.grid] || int(s.class) >= c.classes || s.bias > -dormant || s.bias < dormant {
				t.Errorf("%s has no score %v", c.name, s)
			}
			at := [3]int{int(s.grid), int(s.anchor), int(s.class)}
			if seen[at] {
				t.Errorf("%s lists a score twice: %v", c.name, s)
			}
			seen[at], awake[int(s.class)] = true, true
		}
		if want := c.classes - c.first; len(awake) != want || c.first == 1 && awake[0] {
			t.Errorf("%s wakes %d classes, want %d", c.name, len(awake), want)
		}
		if len(c.calibration.gains) != len(c.anchors) || slices.Min(c.calibration.gains) <= 0 {
			t.Errorf("%s has the gains %v", c.name, c.calibration.gains)
		}
	}
}

func TestDeepLabHasABiasForEachClass(t *testing.T) {
	if n := len(deepLabBiases()); n != deepLabClasses {
		t.Errorf("there are %d biases, want %d", n, deepLabClasses)
	}
}
