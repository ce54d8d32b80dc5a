package accuracy

import (
	"errors"
	"slices"
	"testing"
)

// A log of 40 of 128 samples, some of them twice, scores as if it were whole. So it has to
// be said how many there were.
func TestCoverageCountsDistinctSamples(t *testing.T) {
	truth := slices.Repeat([]LabeledImage{{"a.JPEG", 1}}, 128)
	var records []Record
	for i := range 50 {
		records = append(records, Record{QSLIndex: uint64(i % 40), Data: float32s(1)})
	}
	score, err := ScoreImageNet(text(formatLog(records)), truth, ImageNetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Coverage{Samples: 128, Scored: 40, Repeated: 10}); score.Coverage != want || score.Percent() != 100 {
		t.Errorf("coverage %+v at %v %%, want %+v at 100", score.Coverage, score.Percent(), want)
	}
}

func TestCoverageOfDetectionsAndVolumes(t *testing.T) {
	gt, err := ReadCOCO(text(cocoFile(goodImage, goodCategory, goodAnnotation)))
	if err != nil {
		t.Fatal(err)
	}
	found := Record{Data: float32s(0, 0, 0, 0.5, 0.5, 0.9, 1)}
	detections, err := ScoreDetections(text(formatLog([]Record{found, found, found})), gt, DetectionOptions{})
	if want := (Coverage{Samples: 1, Scored: 1, Repeated: 2}); err != nil || detections.Coverage != want {
		t.Errorf("coverage of detections %+v, %v, want %+v", detections.Coverage, err, want)
	}
	cases := []KiTSCase{{"case_00000", []int{1, 1, 2}, EncodeRuns([]uint8{1, 2})}}
	volumes, err := ScoreKiTS(text(formatLog([]Record{{Data: []byte{1, 2}}})), cases, KiTSOptions{})
	if want := (Coverage{Samples: 1, Scored: 1}); err != nil || volumes.Coverage != want {
		t.Errorf("coverage of volumes %+v, %v, want %+v", volumes.Coverage, err, want)
	}
}

func TestFirstRecordsEndsWithTheFirstError(t *testing.T) {
	c := Coverage{Samples: 2}
	seen := 0
	var last error
	for rec, err := range FirstRecords(text(formatLog([]Record{{QSLIndex: 1}, {QSLIndex: 1}, {QSLIndex: 2}, {QSLIndex: 0}})), &c) {
		seen++
		if last = err; err == nil && rec.QSLIndex != 1 {
			t.Errorf("record of sample %d", rec.QSLIndex)
		}
	}
	wantError(t, last, "record 2 (qsl_idx 2): the ground truth has only 2 samples")
	if want := (Coverage{2, 1, 1}); seen != 2 || c != want {
		t.Errorf("%d records, %+v, want 2, %+v", seen, c, want)
	}
	for range FirstRecords(text(formatLog([]Record{{QSLIndex: 1}, {QSLIndex: 0}})), &c) {
		break // and it may be left early
	}
	for _, err := range FirstRecords(text("[{"), &Coverage{}) {
		var syntax *syntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("error %v, want one about the syntax", err)
		}
	}
}

// FuzzPayload has payloads of any bytes scored by all who read payloads.
func FuzzPayload(f *testing.F) {
	f.Add(float32s(0, 0, 0, 0.5, 0.5, 0.9, 1), uint8(0))
	f.Add(float32s(-7.9, 1), uint8(2))
	f.Add([]byte{1, 2, 0, 255}, uint8(4))
	gt, err := ReadCOCO(text(cocoFile(goodImage, goodCategory, goodAnnotation)))
	if err != nil {
		f.Fatal(err)
	}
	types := []DType{Float32, Int32, Int64, Uint8, Int8, Int16, Float64}
	f.Fuzz(func(t *testing.T, data []byte, dtype uint8) {
		d := types[int(dtype)%len(types)]
		log := formatLog([]Record{{Data: data}})
		if score, err := ScoreImageNet(text(log), []LabeledImage{{"a", 1}}, ImageNetOptions{DType: d}); err == nil && score.Total != 1 {
			t.Errorf("%d samples were scored", score.Total)
		}
		for _, o := range []DetectionOptions{{}, {InverseMap: true, Float32Boxes: true}} {
			logged, err := readDetections(text(log), gt, o)
			if err == nil && len(logged.Detections) != len(data)/4/rowLength {
				t.Errorf("%d bytes hold %d detections", len(data), len(logged.Detections))
			}
		}
		cases := []KiTSCase{{"c", []int{len(data)}, EncodeRuns(make([]uint8, len(data)))}}
		if score, err := ScoreKiTS(text(log), cases, KiTSOptions{DType: d}); err == nil {
			if v := score.Values[0].Value; v < 0 || v > 1 {
				t.Errorf("the score is %v", v)
			}
		}
	})
}
