package accuracy

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A goldenRun is one run of an official script on a small log.
type goldenRun struct {
	Variant   string
	Log       string
	Arguments []string
	ExitCode  int `json:"exit_code"`
	Error     string
	Printed   string
	Lines     []string `json:"printed_lines"` // with --verbose, without "no results:"

	Good, Total int
	Percent     float64 `json:"accuracy_percent"`

	Stats         []float64
	MAP           float64 `json:"mAP_percent"`
	NumDetections int     `json:"num_detections"`
	NumImages     int     `json:"num_images"`

	BLEU float64 `json:"bleu_percent"`
	AUC  float64

	PerCase map[string]struct{ Kidney, Tumor, Composite float64 } `json:"per_case"`
}

// option returns the value after --name, or whether --name is there.
func (r goldenRun) option(name string) (string, bool) {
	i := slices.Index(r.Arguments, "--"+name)
	if i < 0 {
		return "", false
	}
	if i+1 < len(r.Arguments) && !strings.HasPrefix(r.Arguments[i+1], "--") {
		return r.Arguments[i+1], true
	}
	return "", true
}

// eachRun calls score for every run of a directory of logs. If the script failed there,
// score must fail, and otherwise check looks at what it returns.
func eachRun[S any](t *testing.T, dir string, score func(goldenRun, Input) (S, error), check func(*testing.T, goldenRun, S)) {
	t.Helper()
	for _, run := range decodeTestdata[struct{ Runs []goldenRun }](t, path.Join("logs", dir, "expected.json")).Runs {
		t.Run(run.Variant, func(t *testing.T) {
			got, err := score(run, openTestdata(t, path.Join("logs", dir, run.Log)))
			if run.Error != "" {
				wantError(t, err, "mlperf_log_accuracy.json")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, run, got)
		})
	}
}

func TestScoreImageNetAgreesWithTheOfficialScript(t *testing.T) {
	truth, err := ReadValMap(openTestdata(t, "logs/resnet50/val_map.txt"))
	if err != nil {
		t.Fatal(err)
	}
	score := func(run goldenRun, log Input) (*ClassificationScore, error) {
		dtype, _ := run.option("dtype")
		return ScoreImageNet(log, truth, ImageNetOptions{DType: DType(dtype)})
	}
	eachRun(t, "resnet50", score, func(t *testing.T, want goldenRun, got *ClassificationScore) {
		if got.Text() != want.Printed+"\n" {
			t.Errorf("printed %q, want %q", got.Text(), want.Printed)
		}
		if got.Hits != (Hits{want.Good, want.Total}) || got.Percent() != want.Percent || got.Values[0].Value != want.Percent {
			t.Errorf("score = %v, %v, want %d of %d, %v", got.Hits, got.Values, want.Good, want.Total, want.Percent)
		}
	})
}

func TestScoreDetectionsAgreesWithTheOfficialScripts(t *testing.T) {
	for dir, annotations := range map[string]string{
		"ssd":              "instances_val2017.json",
		"ssd_remove_empty": "instances_val2017.json",
		"retinanet":        "openimages-mlperf.json",
	} {
		gt, err := ReadCOCO(openTestdata(t, path.Join("logs", dir, "annotations", annotations)))
		if err != nil {
			t.Fatal(err)
		}
		score := func(run goldenRun, log Input) (*DetectionScore, error) {
			_, inverse := run.option("use-inv-map")
			_, remove := run.option("remove-48-empty-images")
			return ScoreDetections(log, gt, DetectionOptions{InverseMap: inverse, RemoveEmptyImages: remove, Verbose: true})
		}
		t.Run(dir, func(t *testing.T) { eachRun(t, dir, score, checkDetectionScore) })
	}
}

func checkDetectionScore(t *testing.T, want goldenRun, got *DetectionScore) {
	t.Helper()
	lines := slices.DeleteFunc(slices.Clone(got.Lines), func(line string) bool { return strings.HasPrefix(line, "no results:") })
	if d := cmp.Diff(want.Lines, lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
	if n := len(got.Lines) - len(lines); n != got.Log.NoResults {
		t.Errorf("%d lines about images with no results, want %d", n, got.Log.NoResults)
	}
	if d := cmp.Diff(want.Stats, got.Evaluation.Stats[:], exact); d != "" {
		t.Errorf("stats (-want +got):\n%s", d)
	}
	if mAP, _ := got.Lookup("mAP"); mAP.Value != want.MAP {
		t.Errorf("mAP = %v, want %v", mAP, want.MAP)
	}
	if len(got.Log.Detections) != want.NumDetections || len(got.Log.ImageIDs) != want.NumImages {
		t.Errorf("%d detections in %d images, want %d in %d", len(got.Log.Detections), len(got.Log.ImageIDs), want.NumDetections, want.NumImages)
	}
	if got.Log.Mismatches > 0 && len(got.Warnings) == 0 {
		t.Error("no warning about image indices that disagree")
	}
}

func TestScoreDetectionsWithoutVerboseEndsWithMAP(t *testing.T) {
	gt, err := ReadCOCO(openTestdata(t, "logs/ssd/annotations/instances_val2017.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ScoreDetections(openTestdata(t, "logs/ssd/offline_inv_map/mlperf_log_accuracy.json"), gt, DetectionOptions{InverseMap: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Lines); n != 13 || got.Lines[12] != "mAP=42.748%" {
		t.Errorf("%d lines, the last %q, want 13, the last mAP=42.748%%", n, got.Lines[n-1])
	}
}

func TestScoreKiTSAgreesWithTheOfficialScript(t *testing.T) {
	cases, err := ReadKiTSCases(openTestdata(t, "logs/kits19/cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	score := func(run goldenRun, log Input) (*KiTSScore, error) {
		dtype, _ := run.option("output_dtype")
		return ScoreKiTS(log, cases, KiTSOptions{DType: DType(dtype)})
	}
	eachRun(t, "kits19", score, func(t *testing.T, want goldenRun, got *KiTSScore) {
		if got.Text() != want.Printed+"\n" {
			t.Errorf("printed %q, want %q", got.Text(), want.Printed)
		}
		for _, c := range got.Cases {
			w := want.PerCase[c.Case]
			if d := cmp.Diff([]float64{w.Kidney, w.Tumor, w.Composite}, []float64{c.Kidney, c.Tumor, c.Composite()}, near); d != "" {
				t.Errorf("%s: kidney, tumor, composite (-want +got):\n%s", c.Case, d)
			}
		}
		w := want.PerCase["mean"]
		if d := cmp.Diff([]float64{w.Composite, w.Kidney, w.Tumor}, []float64{got.Values[0].Value, got.Values[1].Value, got.Values[2].Value}, near); d != "" {
			t.Errorf("mean, kidney, tumor (-want +got):\n%s", d)
		}
	})
}

// TestReadDetectionsAgreesWithTheOfficialScripts compares the boxes that the scripts give
// to pycocotools, under both of NumPy's rules for float32 times int.
func TestReadDetectionsAgreesWithTheOfficialScripts(t *testing.T) {
	type golden struct {
		Annotations json.RawMessage
		AccuracyLog json.RawMessage `json:"accuracy_log"`
		Results     map[string]struct {
			Detections []struct {
				Box        [4]float64 `json:"bbox"`
				CategoryID int64      `json:"category_id"`
				ImageID    int64      `json:"image_id"`
				Score      float64
			}
			Float32Boxes [][4]float64 `json:"bbox_float32_arithmetic"`
			ImageIDs     []int64      `json:"image_ids"`
		}
	}
	g := decodeTestdata[golden](t, "log_to_detections.json")
	gt, err := ReadCOCO(text(string(g.Annotations)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range g.Results {
		for _, float32Boxes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s float32 %v", name, float32Boxes), func(t *testing.T) {
				opts := DetectionOptions{InverseMap: strings.HasSuffix(name, "use_inv_map"), Float32Boxes: float32Boxes}
				got, err := readDetections(text(string(g.AccuracyLog)), gt, opts)
				if err != nil {
					t.Fatal(err)
				}
				var detections []Detection
				for i, d := range want.Detections {
					b := d.Box
					if float32Boxes {
						b = want.Float32Boxes[i]
					}
					detections = append(detections, Detection{d.ImageID, d.CategoryID, Box{b[0], b[1], b[2], b[3]}, d.Score})
				}
				if d := cmp.Diff(detections, got.Detections); d != "" {
					t.Errorf("detections (-want +got):\n%s", d)
				}
				if d := cmp.Diff(want.ImageIDs, slices.Sorted(slices.Values(got.ImageIDs))); d != "" {
					t.Errorf("image ids (-want +got):\n%s", d)
				}
			})
		}
	}
}

func TestKiTSDiceAgreesWithTheOfficialScript(t *testing.T) {
	type diceCase struct {
		Name       string
		Prediction []int `json:"prediction_rle"`
		Target     []int `json:"target_rle"`
		Expected   struct{ Kidney, Tumor, Composite float64 }
	}
	golden := decodeTestdata[struct {
		Cases   []diceCase
		Mean    struct{ Kidney, Tumor, Composite float64 } `json:"mean_over_cases"`
		Printed string
	}](t, "dice_kits19.json")
	var score KiTSScore
	for _, c := range golden.Cases {
		t.Run(c.Name, func(t *testing.T) {
			truth := decodeRLE(t, c.Target)
			d, err := kitsDice(decodeRLE(t, c.Prediction), EncodeRuns(truth))
			if err != nil {
				t.Fatal(err)
			}
			got, want := []float64{d.Kidney, d.Tumor, d.Composite()}, []float64{c.Expected.Kidney, c.Expected.Tumor, c.Expected.Composite}
			if diff := cmp.Diff(want, got, near); diff != "" {
				t.Errorf("kidney, tumor, composite (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(truth, EncodeRuns(truth).Decode()); diff != "" {
				t.Errorf("truth changed by encoding (-want +got):\n%s", diff)
			}
			score.Cases = append(score.Cases, CaseDice{c.Name, d})
		})
	}
	score.describe()
	if score.Lines[0] != golden.Printed {
		t.Errorf("printed %q, want %q", score.Lines[0], golden.Printed)
	}
	if mean, _ := score.Lookup("mean"); !cmp.Equal(mean.Value, golden.Mean.Composite, near) {
		t.Errorf("mean = %v, want %v", mean.Value, golden.Mean.Composite)
	}
}

func TestMeanIoUAgreesWithTheMobileApp(t *testing.T) {
	type expected struct {
		TP, FP, FN  []uint64
		Classes     []number `json:"iou_per_class"`
		All         number   `json:"mean_iou_all_classes_float64"`
		Present     number   `json:"mean_iou_present_classes"`
		Float32     number   `json:"reference_float32"`
		Reference32 *string  `json:"reference_string"`
	}
	type miouCase struct {
		Name       string
		NumClasses int `json:"num_classes"`
		Images     []struct {
			Prediction []int `json:"prediction_rle"`
			Truth      []int `json:"ground_truth_rle"`
		}
		Expected expected
	}
	for _, c := range decodeTestdata[struct{ Cases []miouCase }](t, "miou_ade20k.json").Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := NewIoUCounts(c.NumClasses)
			if err != nil {
				t.Fatal(err)
			}
			for i, image := range c.Images {
				if err := got.Add(i, decodeRLE(t, image.Prediction), decodeRLE(t, image.Truth)); err != nil {
					t.Fatal(err)
				}
			}
			want := c.Expected
			if d := cmp.Diff([][]uint64{want.TP, want.FP, want.FN}, [][]uint64{got.Right, got.Extra, got.Missed}); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
			means := []float64{got.MeanPresent(), float64(got.meanFloat32())}
			wantMeans := []float64{float64(want.Present), float64(float32(want.Float32))}
			if d := cmp.Diff(wantMeans, means, near); d != "" {
				t.Errorf("mean of present classes, of all in float32 (-want +got):\n%s", d)
			}
			if d := cmp.Diff(floats(want.Classes), got.classes(), near); d != "" {
				t.Errorf("classes (-want +got):\n%s", d)
			}
			if score := got.Score(); want.Reference32 != nil && score.Lines[0] != *want.Reference32 {
				t.Errorf("printed %q, want %q", score.Lines[0], *want.Reference32)
			} else if want.Reference32 == nil && len(score.Warnings) == 0 {
				t.Error("no warning about a class that is in no image")
			}
		})
	}
}

func hexLog(payloads ...[]byte) Input {
	var b strings.Builder
	b.WriteString("[\n")
	for i, p := range payloads {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%s" }`, i, i, strings.ToUpper(hex.EncodeToString(p)))
	}
	b.WriteString("\n]\n")
	return Named("mlperf_log_accuracy.json", strings.NewReader(b.String()))
}
