package arch

import (
	"fmt"
	"math"
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

// checkBoxes compares all boxes with those of a second implementation.
func checkBoxes(t *testing.T, centers, sizes []float32, want [][4]float64) {
	t.Helper()
	if len(centers) != 2*len(want) || len(sizes) != 2*len(want) {
		t.Fatalf("%d centres and %d sizes, want %d", len(centers)/2, len(sizes)/2, len(want))
	}
	for i, w := range want {
		got := [4]float64{float64(centers[2*i]), float64(centers[2*i+1]), float64(sizes[2*i]), float64(sizes[2*i+1])}
		for k := range w {
			if math.Abs(got[k]-w[k]) > 1e-6 {
				t.Fatalf("box %d is %v, want %v", i, got, w)
			}
		}
	}
}

// DefaultBoxes and dboxes_R34_coco of models/ssd_r34.py, step by step.
func TestAllBoxesOfResNet34AreThoseOfTheReference(t *testing.T) {
	const figure = 1200
	features, scales := []int{50, 25, 13, 7, 3, 3}, []int{21, 45, 99, 153, 207, 261, 315}
	ratios := [][]float64{{2}, {2, 3}, {2, 3}, {2, 3}, {2}, {2}}
	scaled := func(i int) float64 { return float64(scales[i]*figure/300) / figure }
	var want [][4]float64 // x, y, width, height
	for idx, size := range features {
		step := figure / size
		fk := float64(figure / step)
		sk1, sk2 := scaled(idx), scaled(idx+1)
		all := [][2]float64{{sk1, sk1}, {math.Sqrt(sk1 * sk2), math.Sqrt(sk1 * sk2)}}
		for _, alpha := range ratios[idx] {
			w, h := sk1*math.Sqrt(alpha), sk1/math.Sqrt(alpha)
			all = append(all, [2]float64{w, h}, [2]float64{h, w})
		}
		for _, wh := range all {
			for i := range size {
				for j := range size {
					want = append(want, [4]float64{(float64(j) + 0.5) / fk, (float64(i) + 0.5) / fk, min(1, wh[0]), min(1, wh[1])})
				}
			}
		}
	}
	centers, sizes := ssdResNet{}.defaultBoxes()
	checkBoxes(t, centers, sizes, want)
}

// create_ssd_anchors and grid_anchor_generator of TensorFlow's object detection library, with the numbers of the official
// pipeline.config.
func TestAllAnchorsOfMobileNetAreThoseOfTensorFlow(t *testing.T) {
	const lowest, highest = 0.2, 0.95
	grids := []int{19, 10, 5, 3, 2, 1}
	scale := func(i int) float64 {
		if i == len(grids) {
			return 1
		}
		return lowest + (highest-lowest)*float64(i)/float64(len(grids)-1)
	}
	var want [][4]float64 // y, x, height, width
	for layer, grid := range grids {
		specs := [][2]float64{{0.1, 1}, {scale(0), 2}, {scale(0), 0.5}} // scale and aspect
		if layer > 0 {
			specs = nil
			for _, aspect := range []float64{1, 2, 0.5, 3, 0.3333} {
				specs = append(specs, [2]float64{scale(layer), aspect})
			}
			specs = append(specs, [2]float64{math.Sqrt(scale(layer) * scale(layer+1)), 1})
		}
		stride := 1 / float64(grid)
		for y := range grid {
			for x := range grid {
				for _, s := range specs {
					root := math.Sqrt(s[1])
					want = append(want, [4]float64{stride/2 + float64(y)*stride, stride/2 + float64(x)*stride, s[0] / root, s[0] * root})
				}
			}
		}
	}
	centers, sizes := ssdMobileNet{}.anchors()
	checkBoxes(t, centers, sizes, want)
}

// AnchorGenerator of torchvision, with the sizes that the reference gives it: (x, int(x·2^(1/3)), int(x·2^(2/3))) for each level.
func TestAllAnchorsOfRetinaNetAreThoseOfTorchvision(t *testing.T) {
	for level, grid := range []int64{100, 50, 25, 13, 7} {
		base := 32 << level
		sizes := []float64{float64(base), math.Floor(float64(base) * math.Pow(2, 1.0/3)), math.Floor(float64(base) * math.Pow(2, 2.0/3))}
		boxes := retinaNetBoxes(level, grid)
		at := 0
		stride := 800 / grid
		for y := range grid {
			for x := range grid {
				for _, ratio := range []float64{0.5, 1, 2} {
					for _, size := range sizes {
						h := math.Sqrt(ratio)
						w := 1 / h
						x1, x2 := math.RoundToEven(-w*size/2), math.RoundToEven(w*size/2)
						y1, y2 := math.RoundToEven(-h*size/2), math.RoundToEven(h*size/2)
						want := [4]float64{float64(x*stride) + (x1+x2)/2, float64(y*stride) + (y1+y2)/2, x2 - x1, y2 - y1}
						for k, v := range want {
							if float64(boxes[at+k]) != v {
								t.Fatalf("level %d, box %d is %v, want %v", level, at/4, boxes[at:at+4], want)
							}
						}
						at += 4
					}
				}
			}
		}
		if at != len(boxes) {
			t.Errorf("level %d has %d numbers, want %d", level, len(boxes), at)
		}
	}
}

// Below the diagonal of a matrix is every pair once, as torch.tril_indices lists them without the diagonal.
func TestPairsOfVectorsAreListedOnce(t *testing.T) {
	const n = dlrmBags + 1
	places := lowerTriangle(n)
	if len(places) != n*(n-1)/2 {
		t.Fatalf("%d pairs of %d vectors", len(places), n)
	}
	at := 0
	for i := int64(1); i < n; i++ {
		for j := range i {
			if places[at] != i*n+j {
				t.Fatalf("pair %d is at %d, want row %d and column %d", at, places[at], i, j)
			}
			at++
		}
	}
}

// Rows of the tables of DLRM are those of the reference's counts for the Terabyte data with 40 million as their limit, and of a
// smaller limit where one is asked for.
func TestTablesOfDLRMEndAtTheirLimit(t *testing.T) {
	for name, rows := range map[string]func(int64) []int64{"dlrm": DLRMRows, "dlrm-v2": DLRMv2Rows} {
		whole, cut := rows(40_000_000), rows(100)
		if len(whole) != 26 || len(cut) != 26 {
			t.Fatalf("%s has %d tables", name, len(whole))
		}
		small := 0
		for i, n := range whole {
			if cut[i] != min(n, 100) || n < 3 || n > 40_000_000 {
				t.Errorf("%s: table %d has %d rows, with a limit of 100 %d", name, i, n, cut[i])
			}
			if n <= 100 {
				small++
			}
		}
		if small != 6 {
			t.Errorf("%s has %d tables of up to 100 rows, want 6", name, small)
		}
		whole[0] = 1
		if rows(40_000_000)[0] == 1 {
			t.Errorf("%s: a caller changes the tables of all", name)
		}
	}
}

// The published model has 214 categories of a pair and 204,184,588 rows.
func TestDLRMv2HasThePublishedTables(t *testing.T) {
	hot, rows := int64(0), int64(0)
	for i, n := range DLRMv2Rows(dlrmLargest) {
		hot, rows = hot+DLRMv2Hot()[i], rows+n
	}
	if hot != 214 || rows != 204184588 {
		t.Errorf("%d categories and %d rows", hot, rows)
	}
	small := DLRMv2Rows(50)
	if small[0] != 50 || small[5] != 3 {
		t.Errorf("limited to 50 rows: %v", small)
	}
}
