package accuracy

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func smallTruth() *GroundTruth {
	return &GroundTruth{
		Images:     []Image{{ID: 10, Width: 100, Height: 50}, {ID: 20, Width: 100, Height: 100}, {ID: 30, Width: 10, Height: 10}},
		Categories: []Category{{ID: 7}, {ID: 3}},
		Annotations: []Annotation{
			{ID: 1, ImageID: 10, CategoryID: 7, Box: Box{10, 10, 40, 20}, Area: 800},
			{ID: 2, ImageID: 30, CategoryID: 3, Box: Box{1, 1, 5, 5}, Area: 25},
		},
	}
}

func TestInverseMapIsAPythonList(t *testing.T) {
	// Labels 0, 1, 2, then -1 and -3 from the end of [0, 7, 3], in the order of the file.
	var payload []byte
	for _, label := range []float32{0, 1, 2, -1, -3, 1.9, -0.9} {
		payload = append(payload, float32s(0, 0, 0, 1, 1, 0.5, label)...)
	}
	got, err := readDetections(hexLog(payload), smallTruth(), DetectionOptions{InverseMap: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, d := range got.Detections {
		ids = append(ids, d.CategoryID)
	}
	if d := cmp.Diff([]int64{0, 7, 3, 3, 0, 7, 0}, ids); d != "" {
		t.Errorf("category ids (-want +got):\n%s", d)
	}
}

func TestRemovedEmptyImagesAreNotCounted(t *testing.T) {
	gt := smallTruth()
	gt.Annotations = append(gt.Annotations, Annotation{ID: 3, ImageID: 20, CategoryID: 99}) // a category that is not listed
	got, err := readDetections(hexLog(nil, nil), gt, DetectionOptions{RemoveEmptyImages: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{10, 30}, got.ImageIDs); d != "" {
		t.Errorf("image ids (-want +got):\n%s", d)
	}
}

func TestReadDetectionsFailsWhereTheScriptsDo(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		log  Input
		want string
	}{
		{"a sample too many", hexLog(nil, nil, nil, nil), "record 3 (qsl_idx 3): the ground truth has only 3 samples"},
		{"a payload of 3 bytes", hexLog([]byte{1, 2, 3}), "payload of 3 bytes"},
		{"half a detection", hexLog(float32s(0, 1, 2, 3, 4, 5, 6, 7)), "record 0 (qsl_idx 0): payload of 8 numbers does not consist of detections of 7"},
		{"a label beyond the categories", hexLog(float32s(0, 0, 0, 1, 1, 0.5, 3)), "detection 0: label 3: the ground truth has 2 categories"},
		{"a negative label beyond the categories", hexLog(float32s(0, 0, 0, 1, 1, 0.5, -4)), "label -4"},
		{"a label of NaN", hexLog(float32s(0, 0, 0, 1, 1, 0.5, nan)), "label: NaN is not a whole number"},
		{"an index of NaN", hexLog(float32s(nan, 0, 0, 1, 1, 0.5, 1)), "sample index: NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readDetections(c.log, smallTruth(), DetectionOptions{InverseMap: true})
			wantError(t, err, "mlperf_log_accuracy.json", c.want)
		})
	}
	_, err := readDetections(hexLog(), &GroundTruth{}, DetectionOptions{})
	wantError(t, err, "no image to score")
}

func TestScoreDetectionsFailsWithoutAnyDetection(t *testing.T) {
	for _, log := range []Input{hexLog(), hexLog(nil, nil), hexLog(float32s(0, 1, 2, 3, 4, 5))} {
		_, err := ScoreDetections(log, smallTruth(), DetectionOptions{})
		wantError(t, err, "no detection in")
	}
}

func TestLinesAboutMismatchesAreBounded(t *testing.T) {
	row := float32s(-0.5, 0.2, 0.1, 0.6, 0.5, 0.5, 7) // int(-0.5) is 0: no mismatch
	payload := append(row, bytes.Repeat(float32s(2, 0.2, 0.1, 0.6, 0.5, 0.5, 7), maxMismatchLines+5)...)
	got, err := ScoreDetections(hexLog(payload), smallTruth(), DetectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Lines[0] != "ERROR: loadgen(0) and payload(2) disagree on image_idx" || len(got.Lines) != maxMismatchLines+13 {
		t.Errorf("%d lines, the first %q", len(got.Lines), got.Lines[0])
	}
	want := []string{
		"10005 detections name another sample than their record; the record's was taken",
		"5 of the lines about that are left out",
	}
	if d := cmp.Diff(want, got.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestVerboseNamesImagesWithoutResults(t *testing.T) {
	gt, url := smallTruth(), "http://x/1.jpg"
	gt.Images[1].COCOURL = &url
	got, err := readDetections(hexLog(nil, nil), gt, DetectionOptions{Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"no results: None, idx=0", "no results: http://x/1.jpg, idx=1"}, got.Lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}

func TestStrayAnnotationsAreWarnedAbout(t *testing.T) {
	gt := smallTruth()
	gt.Annotations[1].ImageID = 99
	got, err := ScoreDetections(hexLog(float32s(0, 0.2, 0.1, 0.6, 0.5, 0.5, 7)), gt, DetectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "1 annotations refer to images that are not listed") {
		t.Errorf("warnings %q", got.Warnings)
	}
	if v, _ := got.Lookup("mAP"); math.Abs(v.Value-100) > 1e-9 || v.Unit != "%" {
		t.Errorf("mAP = %v, want 100 %%", v)
	}
	if _, ok := got.Lookup("F1"); ok {
		t.Error("Lookup found a value that is not there")
	}
}

// BenchmarkScoreDetections is the whole of scoring: reading both files, and evaluating.
func BenchmarkScoreDetections(b *testing.B) {
	gt, _ := scene{500, 80, 5000, 0}.make(1)
	annotations := formatCOCO(b, gt)
	rng := rand.New(rand.NewPCG(1, 2))
	var payloads [][]byte
	for i, image := range gt.Images {
		var p []byte
		for range 80 {
			a := gt.Annotations[rng.IntN(len(gt.Annotations))].Box
			x, y := float32(a.X/float64(image.Width)), float32(a.Y/float64(image.Height))
			p = append(p, float32s(float32(i), y, x, y+0.2, x+0.2, rng.Float32(), float32(rng.IntN(80)+1))...)
		}
		payloads = append(payloads, p)
	}
	log := new(bytes.Buffer)
	if _, err := log.ReadFrom(hexLog(payloads...)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		gt, err := ReadCOCO(Named("annotations", bytes.NewReader(annotations)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ScoreDetections(Named("log", bytes.NewReader(log.Bytes())), gt, DetectionOptions{InverseMap: true}); err != nil {
			b.Fatal(err)
		}
	}
}
