package accuracy

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A bratsGolden is a log of testdata/brats.json and what accuracy-brats.py says of it.
type bratsGolden struct {
	DType DType
	Cases []struct {
		Name  string
		Seed  uint64
		Shape [3]int
		Box   [3][2]int
		Most  int
	}
	Printed string
	PerCase []string `json:"per_case"` // as "0.4141,0.2752,nan"
}

func (g bratsGolden) truth() (list []BraTSCase) {
	for _, c := range g.Cases {
		var labels []uint8
		for z := range c.Shape[0] {
			for y := range c.Shape[1] {
				for x := range c.Shape[2] {
					labels = append(labels, uint8((z/16+y/20+x/24)%(c.Most+1)))
				}
			}
		}
		list = append(list, BraTSCase{Name: c.Name, Shape: c.Shape, Box: c.Box, Truth: EncodeRuns(labels)})
	}
	return list
}

// bratsScores are the scores of make_brats.py.
func bratsScores(seed uint64, dtype DType) []byte {
	const voxels = 224 * 224 * 160
	special := [8]uint16{0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x3c00, 0x3c00}
	var out []byte
	for i := range uint64(4 * voxels) {
		x := seed<<32 + i + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
		bits := uint16(x>>48) & 0xbfff
		if x&7 == 0 {
			bits = special[x>>3&7]
		}
		switch {
		case seed == 0: // background everywhere
			if bits = 0; i < voxels {
				bits = 0x3c00
			}
			fallthrough
		case dtype == Float16:
			out = append(out, byte(bits), byte(bits>>8))
		case dtype == int8s:
			out = append(out, byte(x>>56))
		default:
			b := math.Float32bits(float32(float16(bits)))
			out = append(out, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
		}
	}
	return out
}

func TestBraTSEqualsTheScript(t *testing.T) {
	testenv.SkipLong(t, "a log of 128 MB a case")
	for _, g := range testenv.JSON[struct{ Logs []bratsGolden }](t, "testdata/brats.json").Logs {
		t.Run(string(g.DType), func(t *testing.T) {
			truth := g.truth()
			var log []io.Reader
			for i, c := range g.Cases {
				data := bratsScores(c.Seed, g.DType)
				dices, err := truth[i].dices(data, g.DType)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.ToLower(fmt.Sprintf("%.4f,%.4f,%.4f", dices[0], dices[1], dices[2])); got != g.PerCase[i] {
					t.Errorf("%s has %s, want %s", c.Name, got, g.PerCase[i])
				}
				log = append(log, strings.NewReader(fmt.Sprintf(`%c{"seq_id":%d,"qsl_idx":%d,"data":"`, "[,"[min(i, 1)], i, i)), strings.NewReader(hex.EncodeToString(data)), strings.NewReader(`"}`))
			}
			score, err := ScoreBraTS(Named("log", io.MultiReader(append(log, strings.NewReader("]"))...)), truth, g.DType)
			if err != nil || score.Lines[0] != g.Printed {
				t.Errorf("printed %q, %v, want %q", score.Lines, err, g.Printed)
			}
		})
	}
}

// The script prints nan for a region that is in no volume, and for the mean of all.
func TestBraTSWithoutARegion(t *testing.T) {
	sides := bratsSides()
	voxels := sides[0] * sides[1] * sides[2]
	truth := []BraTSCase{{Name: "a", Shape: [3]int{2, 2, 2}, Box: [3][2]int{{0, 2}, {0, 2}, {0, 2}}, Truth: LabelRuns{{Label: 0, Count: 4}, {Label: 1, Count: 4}}}}
	log := io.MultiReader(strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"`), strings.NewReader(strings.Repeat("00", bratsClasses*voxels)), strings.NewReader(`"}]`))
	score, err := ScoreBraTS(Named("log", log), truth, int8s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := score.Lines[0], "Accuracy: mean = nan, whole tumor = 0.0000, tumor core = nan, enhancing tumor = nan"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if v := score.Values[:2]; !math.IsNaN(v[0].Value) || v[1].Value != 0 || v[0].Resampled != nil || len(score.Warnings) != 2 {
		t.Errorf("values %+v, warnings %q", v, score.Warnings)
	}
}

func TestScoreBraTSErrors(t *testing.T) {
	truth := []BraTSCase{{Name: "a", Shape: [3]int{1, 1, 1}, Box: [3][2]int{{0, 1}, {0, 1}, {0, 1}}, Truth: LabelRuns{{1, 1}}}}
	for _, c := range []struct {
		name, log string
		dtype     DType
		want      string
	}{
		{"no record", "[]", "", "0 records for 1 cases"},
		{"a case too many", `[{"qsl_idx":1,"data":""}]`, "", "record 0 (qsl_idx 1): the ground truth has only 1 cases"},
		{"labels in place of scores", `[{"qsl_idx":0,"data":"0001"}]`, "", "a: the payload has 1 scores, expected 4 for each of [224 224 160] voxels"},
		{"half a number", `[{"qsl_idx":0,"data":"00"}]`, "", "payload of 1 bytes"},
		{"a type of KiTS19 only", "[]", uint8s, `output_dtype "uint8" is not one of`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ScoreBraTS(text(c.log), truth, c.dtype)
			wantError(t, err, c.want)
		})
	}
	scores := make([]byte, 4*224*224*160)
	for want, c := range map[string]BraTSCase{
		"the model sees at most 160":                        {Shape: [3]int{1, 1, 200}, Box: [3][2]int{{0, 1}, {0, 1}, {0, 161}}},
		"the brain is from 0 to 2 of 1 voxels along axis 1": {Shape: [3]int{1, 1, 1}, Box: [3][2]int{{0, 1}, {0, 2}, {0, 1}}},
		"the ground truth has 2 voxels, the images have 1":  {Shape: [3]int{1, 1, 1}, Box: truth[0].Box, Truth: LabelRuns{{0, 2}}},
		"the ground truth has label 4, expected 0 to 3":     {Shape: [3]int{1, 1, 1}, Box: truth[0].Box, Truth: LabelRuns{{4, 1}}},
	} {
		_, err := c.dices(scores, int8s)
		wantError(t, err, want)
	}
}

// Of all float16 only NaN has another order than its number, and what is nearest to a number is what NumPy's cast gives.
func TestFloat16Order(t *testing.T) {
	table := rankTable()
	for bits := range 1 << 16 {
		v := float16(uint16(bits))
		if got := toFloat16(v); v == v && got != uint16(bits) {
			t.Fatalf("toFloat16(%v) = %x, want %x", v, got, bits)
		}
		for _, other := range []uint16{0, 0x8000, 1, 0x3c00, 0xbc00, 0x7c00, 0xfc00} {
			w := float16(other)
			if v == v && (table[bits] < table[other]) != (v < w) || v != v && table[bits] <= table[other] {
				t.Fatalf("the ranks of %v and %v are %d and %d", v, w, table[bits], table[other])
			}
		}
	}
	for v, want := range map[float64]uint16{1 + 0x1p-11: 0x3c00, 1 + 0x3p-11: 0x3c02, 65519.9: 0x7bff, 65520: 0x7c00, -1e9: 0xfc00, 0x1p-25: 0, 0x3p-26: 1, 0x1.ff8p-15: 0x3ff, 0x1.ffcp-15: 0x400} {
		if got := toFloat16(v); got != want {
			t.Errorf("toFloat16(%v) = %x, want %x", v, got, want)
		}
	}
}
