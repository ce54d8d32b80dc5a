package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadValMap(t *testing.T) {
	want := []LabeledImage{{"ILSVRC2012_val_00000001.JPEG", 65}, {"b.JPEG", -1}, {"a.JPEG", 7}}
	for name, file := range map[string]string{
		"line feeds":       "ILSVRC2012_val_00000001.JPEG 65\nb.JPEG -1\na.JPEG 7\n",
		"no last one":      "ILSVRC2012_val_00000001.JPEG 65\nb.JPEG -1\na.JPEG 7",
		"Windows":          "ILSVRC2012_val_00000001.JPEG 65\r\nb.JPEG -1\r\na.JPEG 7\r\n",
		"old Macintosh":    "ILSVRC2012_val_00000001.JPEG 65\rb.JPEG -1\ra.JPEG 7\r",
		"tabs and columns": "  ILSVRC2012_val_00000001.JPEG\t065 x y\nb.JPEG   -1  \na.JPEG +7\n",
		"separators":       "ILSVRC2012_val_00000001.JPEG\x1f65\nb.JPEG\u00a0-1\x1c\na.JPEG\v7\n",
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(want, must(ReadValMap(text(file)))); d != "" {
				t.Errorf("ReadValMap (-want +got):\n%s", d)
			}
		})
	}
}

func TestReadValMapNamesThePlace(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"an empty file", "", "file is empty"},
		{"a blank line", "a 1\n\nb 2\n", "line 2: expected a file name and a class, got 0 fields"},
		{"a blank line at the end", "a 1\n\n", "line 2: expected a file name and a class"},
		{"no class", "a 1\nb\n", "line 2: expected a file name and a class, got 1 fields"},
		{"a class that is a word", "a cat\n", `line 1: class of a is "cat": must be a whole number`},
		{"a class that is a float", "a 1.0\n", `class of a is "1.0"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadValMap(text(c.file))
			wantError(t, err, "test.json: ", c.want)
		})
	}
}

func TestScoreImageNet(t *testing.T) {
	truth := []LabeledImage{{"a.JPEG", 7}, {"b.JPEG", 7}, {"c.JPEG", 9}, {"d.JPEG", 7}, {"not in the log", 1}, {"e.JPEG", 2}}
	log := text(formatLog([]Record{
		{QSLIndex: 3, Data: floats(7)}, {QSLIndex: 1, Data: floats(-7.9)}, {QSLIndex: 1, Data: floats(7)}, {QSLIndex: 0, Data: floats(7.5)},
		{QSLIndex: 2, Data: floats(9)}, {QSLIndex: 5, Data: floats(1e30)},
	}))
	want := &Score{
		Values:   []Value{{Name: "accuracy", Value: 60, Unit: "%"}},
		Lines:    []string{"b.JPEG, expected: 7, found -7", "e.JPEG, expected: 2, found 1000000015047466219876688855040", "accuracy=60.000%, good=3, total=5", "found and ignored 1 dupes"},
		Coverage: Coverage{Samples: 6, Scored: 5, Repeated: 1},
		Right:    []byte{0b1101},
		Classes:  &Classes{Metric: "Top-1", Unit: "%", Of: "samples", List: []Class{{"2", 0, 1}, {"7", 100 * 2.0 / 3, 3}, {"9", 100, 1}}},
	}
	if d := cmp.Diff(want, must(ScoreImageNet(log, truth, ImageNetOptions{Verbose: true}))); d != "" {
		t.Errorf("ScoreImageNet (-want +got):\n%s", d)
	}
}

// A log of more samples than best labels are known of has no Top-5.
func TestBestOfFewerSamples(t *testing.T) {
	score := must(ScoreImageNet(logOf(floats(1), floats(2)), []LabeledImage{{"a.JPEG", 1}, {"b.JPEG", 2}}, ImageNetOptions{Best: [][]int32{{1, 3}}}))
	if _, there := score.Lookup(Top5); there || score.Values[0].Value != 100 {
		t.Errorf("%+v", score.Values)
	}
}

func TestScoreImageNetErrors(t *testing.T) {
	truth := []LabeledImage{{"a.JPEG", 1}}
	for _, c := range []struct {
		name string
		log  Input
		opts ImageNetOptions
		want string
	}{
		{"no record", logOf(), ImageNetOptions{}, "the log has no record"},
		{"a sample too many", logOf(floats(1), floats(1)), ImageNetOptions{}, "record 1 (qsl_idx 1): the ground truth has only 1 samples"},
		{"an empty payload", logOf(nil), ImageNetOptions{}, "record 0 (qsl_idx 0): payload is empty"},
		{"a payload of 3 bytes", logOf([]byte{1, 2, 3}), ImageNetOptions{}, "payload of 3 bytes does not consist of float32 numbers of 4 bytes"},
		{"int32 taken for int64", logOf([]byte{1, 0, 0, 0}), ImageNetOptions{DType: Int64}, "int64 numbers of 8 bytes"},
		{"a label of NaN", logOf(floats(float32(math.NaN()))), ImageNetOptions{}, "label: NaN is not a whole number"},
		{"an infinite label", logOf(floats(float32(math.Inf(1)))), ImageNetOptions{}, "label: +Inf"},
		{"a broken log", text("[{]"), ImageNetOptions{}, "invalid character ']' at start of value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ScoreImageNet(c.log, truth, c.opts)
			wantError(t, err, c.log.Name(), c.want)
		})
	}
	_, err := ScoreImageNet(logOf(), truth, ImageNetOptions{DType: "uint8"})
	wantError(t, err, `dtype "uint8" is not one of [float32 int32 int64]`)
}

func FuzzReadValMap(f *testing.F) {
	f.Add("ILSVRC2012_val_00000001.JPEG 65\nILSVRC2012_val_00000002.JPEG 970\n")
	f.Add("a 1\r\nb 2\rc 3 x")
	f.Fuzz(func(t *testing.T, file string) {
		images, err := ReadValMap(text(file))
		if err != nil {
			return
		}
		var b strings.Builder
		for _, image := range images {
			fmt.Fprintf(&b, "%s %d\n", image.Name, image.Label)
		}
		again, err := ReadValMap(text(b.String()))
		if err != nil || !slices.Equal(images, again) {
			t.Errorf("after writing and reading: %v, %v, want %v", again, err, images)
		}
	})
}

func ExampleScoreImageNet() {
	truth, _ := ReadValMap(Named("val_map.txt", strings.NewReader("a.JPEG 286\nb.JPEG 805\n")))
	log := Named("mlperf_log_accuracy.json", strings.NewReader(`[
{ "seq_id" : 0, "qsl_idx" : 1, "data" : "00404944" },
{ "seq_id" : 1, "qsl_idx" : 0, "data" : "00000000" }
]`))
	score, _ := ScoreImageNet(log, truth, ImageNetOptions{})
	fmt.Print(score.Text())
	// Output: accuracy=50.000%, good=1, total=2
}
