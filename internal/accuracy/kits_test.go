package accuracy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadKiTSCasesErrors(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"no targets", `{"file_list":["a"],"image_shape":[[1]]}`, `no "target_rle"`},
		{"a name too many", `{"file_list":["a","b"],"image_shape":[[1]],"target_rle":[[0,1]]}`, "2 names, 1 shapes and 1 targets"},
		{"no case", `{"file_list":[],"image_shape":[],"target_rle":[]}`, "0 names"},
		{"a name twice", `{"file_list":["a","a"],"image_shape":[[1],[1]],"target_rle":[[0,1],[0,1]]}`, "file 1 has the id a of file 0"},
		{"a target that is too short", `{"file_list":["a"],"image_shape":[[2,2]],"target_rle":[[0,1]]}`, "a: the target has 1 voxels, the shape [2 2] has 4"},
		{"label 3", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[3,1]]}`, "a: the target has label 3, expected 0, 1 or 2"},
		{"half a run", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[0,1,2]]}`, "ends with a label"},
		{"an empty shape", `{"file_list":["a"],"image_shape":[[]],"target_rle":[[0,1]]}`, "the shape []"},
		{"something after the end", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[0,1]]}]`, "line 1, offset 60: invalid character ']'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadKiTSCases(text(c.file))
			wantError(t, err, "test.json: ", c.want)
		})
	}
}

func TestScoreKiTSErrors(t *testing.T) {
	truth := []KiTSCase{{"case_00000", []int{2}, LabelRuns{{1, 2}}}, {"case_00003", []int{1}, LabelRuns{{2, 1}}}}
	record := func(i uint64, data ...byte) Record { return Record{QSLIndex: i, Data: data} }
	for _, c := range []struct {
		name    string
		records []Record
		dtype   DType
		want    string
	}{
		{"no record", nil, "", "0 records for 2 cases"},
		{"a case is missing", []Record{record(0, 1, 1)}, "", "1 records for 2 cases, expected one per case"},
		{"a case twice", []Record{record(0, 1, 1), record(0, 1, 1)}, "", "record 1 (qsl_idx 0): second record of case_00000"},
		{"a case too many", []Record{record(0, 1, 1), record(1, 2), record(2, 1)}, "", "record 2 (qsl_idx 2): the ground truth has only 2 cases"},
		{"a voxel too many", []Record{record(0, 1, 1, 1)}, "", "case_00000: prediction has 3 voxels, the ground truth 2"},
		{"label 3", []Record{record(0, 1, 3)}, "", "case_00000: voxel 1 has label 3, expected 0, 1 or 2"},
		{"label -1", []Record{record(0, 1, 255)}, int8s, "voxel 1 has label -1"},
		{"a label of NaN", []Record{{Data: floats(1, float32(math.NaN()))}}, float32s, "voxel 1 has label NaN"},
		{"half a number", []Record{record(0, 1, 1, 1)}, int16s, "payload of 3 bytes"},
		{"an unknown type", nil, "uint32", `output_dtype "uint32" is not one of`},
		{"a type that NIfTI has not", nil, Int64, "cannot store such volumes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ScoreKiTS(text(formatLog(c.records)), truth, c.dtype)
			wantError(t, err, c.want)
		})
	}
}

// A payload has the same numbers as in NumPy, for each type.
func TestNumbersOfAllTypes(t *testing.T) {
	for dtype, values := range map[DType]any{
		uint8s: []uint8{0, 1, 200}, int8s: []int8{0, 1, -100}, int16s: []int16{0, 1, -1000}, Int32: []int32{0, 1, -100000}, Int64: []int64{0, 1, -1 << 40},
		float32s: []float32{0, 1, -0.4}, float64s: []float64{0, 1, -0.1}, Float16: []uint16{0, 0x3c00, 0xc100},
	} {
		var payload bytes.Buffer
		if err := binary.Write(&payload, binary.LittleEndian, values); err != nil {
			t.Fatal(err)
		}
		want := map[DType]float64{uint8s: 200, int8s: -100, int16s: -1000, Int32: -100000, Int64: -1 << 40, float32s: float64(float32(-0.4)), float64s: -0.1, Float16: -2.5}[dtype]
		n, at, err := dtype.numbers(payload.Bytes())
		if err != nil || n != 3 || at(0) != 0 || at(1) != 1 || at(2) != want {
			t.Errorf("%s: %d numbers, %v, the last %v, want %v", dtype, n, err, at(2), want)
		}
	}
	for bits, want := range map[uint16]float64{0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x0001: math.Ldexp(1, -24), 0x7bff: 65504, 0x7e00: math.NaN()} {
		if got := float16(bits); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("float16(%x) = %v, want %v", bits, got, want)
		}
	}
}

func TestKiTSDiceAgreesWithTheOfficialScript(t *testing.T) {
	g := golden[struct {
		Cases []struct {
			Name       string
			Prediction []int `json:"prediction_rle"`
			Target     []int `json:"target_rle"`
			Expected   struct{ Kidney, Tumor float64 }
		}
		Printed string
	}](t, "dice_kits19.json.gz")
	var cases []KiTSCase
	var payloads [][]byte
	for _, c := range g.Cases {
		prediction, truth := decodeRLE(c.Prediction), EncodeRuns(decodeRLE(c.Target))
		kidney, tumor, err := kitsDice(prediction, truth)
		if diff := cmp.Diff([]float64{c.Expected.Kidney, c.Expected.Tumor}, []float64{kidney, tumor}, near...); diff != "" || err != nil {
			t.Errorf("%s: error %v; kidney, tumor (-want +got):\n%s", c.Name, err, diff)
		}
		cases, payloads = append(cases, KiTSCase{Name: c.Name, Truth: truth}), append(payloads, prediction)
	}
	if score := must(ScoreKiTS(logOf(payloads...), cases, "")); score.Lines[0] != g.Printed {
		t.Errorf("printed %q, want %q", score.Lines[0], g.Printed)
	}
}

func TestMeanIoUAgreesWithTheMobileApp(t *testing.T) {
	for _, c := range golden[struct {
		Cases []struct {
			Name       string
			NumClasses int `json:"num_classes"`
			Images     []struct {
				Prediction []int `json:"prediction_rle"`
				Truth      []int `json:"ground_truth_rle"`
			}
			Expected struct {
				Classes []jsonNumber `json:"iou_per_class"`
				Present jsonNumber   `json:"mean_iou_present_classes"`
				Float32 jsonNumber   `json:"reference_float32"`
				Printed *string      `json:"reference_string"`
			}
		}
	}](t, "miou_ade20k.json.gz").Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, want := NewIoUCounts(c.NumClasses), c.Expected
			for i, image := range c.Images {
				if err := got.Add(i, decodeRLE(image.Prediction), decodeRLE(image.Truth)); err != nil {
					t.Fatal(err)
				}
			}
			score := got.Score()
			var classes []float64
			present := 0
			for _, v := range want.Classes {
				if classes = append(classes, float64(v)); v == v {
					present++
				}
			}
			wants := append(classes, float64(float32(want.Float32)), float64(want.Present))
			if d := cmp.Diff(wants, append(got.classes(), score.Values[0].Value, score.Values[1].Value), near...); d != "" {
				t.Errorf("IoU of classes, mean, mean of present classes (-want +got):\n%s", d)
			}
			if want.Printed != nil && score.Lines[0] != *want.Printed {
				t.Errorf("printed %q, want %q", score.Lines[0], *want.Printed)
			}
			if len(score.Warnings) != c.NumClasses-present || len(score.Classes.List) != present {
				t.Errorf("warnings %q, %d classes, want %d of %d", score.Warnings, len(score.Classes.List), present, c.NumClasses)
			}
		})
	}
	wantError(t, NewIoUCounts(2).Add(0, make([]uint8, 2), make([]uint8, 3)), "prediction has 2 pixels, the ground truth 3")
}

func FuzzReadKiTSCases(f *testing.F) {
	f.Add(`{"file_list":["case_00000"],"image_shape":[[2,2,2]],"target_rle":[[0,3,1,4,2,1]]}`)
	f.Fuzz(func(t *testing.T, file string) {
		cases, err := ReadKiTSCases(text(file))
		if err != nil {
			return
		}
		var names []string
		var shapes, targets [][]int
		for _, c := range cases {
			names, shapes = append(names, c.Name), append(shapes, c.Shape)
			runs := []int{}
			for _, r := range c.Truth {
				runs = append(runs, int(r.Label), r.Count)
			}
			targets = append(targets, runs)
		}
		written := must(json.Marshal(map[string]any{"file_list": names, "image_shape": shapes, "target_rle": targets}))
		if d := cmp.Diff(cases, must(ReadKiTSCases(text(string(written))))); d != "" {
			t.Errorf("after writing and reading (-want +got):\n%s", d)
		}
	})
}

// FuzzPayload scores payloads of any bytes with each reader of payloads.
func FuzzPayload(f *testing.F) {
	f.Add(floats(0, 0, 0, 0.5, 0.5, 0.9, 1), uint8(0))
	f.Add(floats(-7.9, 1), uint8(2))
	f.Add([]byte{1, 2, 0, 255}, uint8(4))
	gt := must(ReadCOCO(text(cocoFile(goodImage, goodCategory, goodAnnotation))))
	types := []DType{float32s, Int32, Int64, uint8s, int8s, int16s, Float16, float64s}
	f.Fuzz(func(t *testing.T, data []byte, dtype uint8) {
		d, log := types[int(dtype)%len(types)], formatLog([]Record{{Data: data}})
		if score, err := ScoreImageNet(text(log), []LabeledImage{{"a", 1}}, ImageNetOptions{DType: d}); err == nil && score.Coverage.Scored != 1 {
			t.Errorf("%d samples were scored", score.Coverage.Scored)
		}
		for _, inverse := range []bool{false, true} {
			logged, err := readDetections(text(log), gt, DetectionOptions{InverseMap: inverse})
			if err == nil && len(logged.detections) != len(data)/4/rowLength {
				t.Errorf("%d bytes hold %d detections", len(data), len(logged.detections))
			}
		}
		cases := []KiTSCase{{"c", []int{len(data)}, EncodeRuns(make([]uint8, len(data)))}}
		if score, err := ScoreKiTS(text(log), cases, d); err == nil && !(score.Values[0].Value >= 0 && score.Values[0].Value <= 1) {
			t.Errorf("Dice %v", score.Values[0].Value)
		}
		for _, transposed := range []bool{false, true} {
			c, err := ReadSpanLogits(text(log), 1, 8, SpanOptions{d, transposed}, func(_ int, starts, ends []float64) {
				for i := range starts {
					if starts[i] != starts[i] || ends[i] != ends[i] {
						t.Errorf("%s: logit %d is not a number", d, i)
					}
				}
			})
			if err == nil && c != (Coverage{Samples: 1, Scored: 1}) {
				t.Errorf("%s: coverage %+v of %d bytes", d, c, len(data))
			}
		}
		_, _ = tokenIDs(data, d)
		_, _ = ScoreClicks(text(log), 1, ClickOptions{DType: d})
		_, _ = ScoreSpeech(text(log), []string{"a"}, d)
	})
}

func BenchmarkKiTSDice(b *testing.B) {
	volume := make([]uint8, 32<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for at := 0; at < len(volume); {
		n := min(1+rng.IntN(2000), len(volume)-at)
		copy(volume[at:at+n], bytes.Repeat([]byte{uint8(max(0, rng.IntN(12)-9))}, n))
		at += n
	}
	runs := EncodeRuns(volume)
	b.SetBytes(int64(len(volume)))
	b.ReportAllocs()
	for b.Loop() {
		if kidney, _, err := kitsDice(volume, runs); err != nil || kidney != 1 {
			b.Fatal(kidney, err)
		}
	}
}
