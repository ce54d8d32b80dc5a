package accuracy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The logs and the labels are those of testdata/igbh of package igbh; accuracy_igbh.py printed the lines.
func TestScoreNodes(t *testing.T) {
	const folder = "../dataset/igbh/testdata/"
	samples := testenv.JSON[struct {
		Papers []int `json:"val_idx"`
	}](t, folder+"expected.json").Papers
	labels := testenv.Read(t, folder+"igbh/tiny/processed/paper/node_label_2K.npy")[128:]
	classes := make([]int64, len(samples))
	for i, paper := range samples {
		_, number, err := float32s.numbers(labels[4*paper:][:4])
		testenv.Must(t, err)
		classes[i] = int64(number(0))
	}
	read := func(name string) string { return string(testenv.Read(t, folder+name)) }
	wide, narrow := read("log_int64.json"), read("log_uint8.json")
	const right, cut = "accuracy=81.250%, good=39, total=48", "accuracy=70.833%, good=34, total=48"
	for _, c := range []struct {
		name, log, want, warning string
		dtype                    DType
	}{
		{"int64", wide, right, "", Int64},
		{"int64 by its size", wide, right, "--dtype int64", ""},
		{"int64 as int32", wide, right, "", Int32},
		{"int64 as bytes", wide, cut, "a byte holds classes up to 255", uint8s},
		{"bytes", narrow, cut, "a byte holds classes up to 255", uint8s},
		{"bytes by default", narrow, cut, "a byte holds classes up to 255", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			score, err := ScoreNodes(Named("log", strings.NewReader(c.log)), classes, NodeOptions{DType: c.dtype})
			if err != nil {
				t.Fatal(err)
			}
			warned := len(score.Warnings) == 1 && strings.Contains(score.Warnings[0], c.warning)
			if !slices.Equal(score.Lines, []string{c.want}) || c.warning == "" && len(score.Warnings) > 0 || c.warning != "" && !warned {
				t.Errorf("%q, warnings %q, want %q and %q", score.Lines, score.Warnings, c.want, c.warning)
			}
		})
	}
	score, err := ScoreNodes(Named("log", strings.NewReader(wide)), classes, NodeOptions{DType: Int64})
	if err != nil || score.Values[0].Name != "accuracy" || score.Values[0].Value != 0.8125 || score.Values[0].Unit != "" {
		t.Errorf("the value is %+v, %v, want a share of 0.8125", score.Values, err)
	}
	var records []map[string]any
	testenv.Must(t, json.Unmarshal([]byte(wide), &records))
	again := slices.Concat(records, records[:7])
	again[48]["data"] = "FFFFFFFFFFFFFFFF"
	text, err := json.Marshal(again)
	testenv.Must(t, err)
	if score, err = ScoreNodes(Named("log", strings.NewReader(string(text))), classes, NodeOptions{DType: Int64}); err != nil || score.Coverage.Repeated != 7 || score.Coverage.Scored != 48 {
		t.Errorf("repeated records: %+v, %v", score, err)
	}
	for want, log := range map[string]string{
		"the log has no record":                     "[]",
		"record 0 (qsl_idx 48): the ground truth":   `[{"seq_id":0,"qsl_idx":48,"data":"0100000000000000"}]`,
		"record 0 (qsl_idx 3): payload of 4 bytes":  `[{"seq_id":0,"qsl_idx":3,"data":"01000000"}]`,
		"record 0 (qsl_idx 3): payload is empty":    `[{"seq_id":0,"qsl_idx":3,"data":""}]`,
		`dtype "int8" is not one of [uint8 float32`: "int8",
	} {
		o := NodeOptions{DType: Int64}
		if log == "int8" {
			o.DType = int8s
		}
		_, err := ScoreNodes(Named("log", strings.NewReader(log)), classes, o)
		wantError(t, err, want)
	}
	if _, err := ScoreNodes(Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":3,"data":"0000C07F"}]`)), classes, NodeOptions{DType: float32s}); err == nil {
		t.Error("a class that is not a number is accepted")
	}
}
