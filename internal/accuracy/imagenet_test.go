package accuracy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// float32s is a payload.
func float32s(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func TestReadValMapReadsLinesAsPythonDoes(t *testing.T) {
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
			for _, in := range []Input{text(file), Named("slow", iotest.OneByteReader(strings.NewReader(file)))} {
				got, err := ReadValMap(in)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("ReadValMap (-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestReadValMapNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"an empty file", "", "file is empty"},
		{"a blank line", "a 1\n\nb 2\n", "line 2: want a file name and a class, got 0 fields"},
		{"a blank line at the end", "a 1\n\n", "line 2: want a file name and a class"},
		{"no class", "a 1\nb\n", "line 2: want a file name and a class, got 1 fields"},
		{"a class that is a word", "a cat\n", `line 1: class of a is "cat", want a whole number`},
		{"a class that is a float", "a 1.0\n", `class of a is "1.0"`},
		{"a line without an end", strings.Repeat("x", 2<<20), "line 1: bufio.Scanner: token too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadValMap(text(c.file))
			wantError(t, err, "test.json: ", c.want)
		})
	}
}

func TestScoreImageNetVerboseNamesWrongSamples(t *testing.T) {
	truth := []LabeledImage{{"a.JPEG", 1}, {"b.JPEG", 2}, {"c.JPEG", 3}}
	log := text(formatLog([]Record{
		{QSLIndex: 2, Data: float32s(3)}, {QSLIndex: 0, Data: float32s(-7.9)}, {QSLIndex: 0, Data: float32s(1)},
	}))
	got, err := ScoreImageNet(log, truth, ImageNetOptions{Verbose: true})
	if err != nil {
		t.Fatal(err)
	}
	want := "a.JPEG, expected: 1, found -7\naccuracy=50.000%, good=1, total=2\nfound and ignored 1 dupes\n"
	if got.Text() != want || got.Coverage != (Coverage{Samples: len(truth), Scored: got.Total, Repeated: 1}) {
		t.Errorf("printed %q, %+v, want %q", got.Text(), got.Coverage, want)
	}
}

func TestScoreImageNetSaysWhichSamplesAreRight(t *testing.T) {
	var truth []LabeledImage
	log := "["
	for i := range 10 {
		truth = append(truth, LabeledImage{Label: int64(i % 3)})
		log += fmt.Sprintf(`{"seq_id": %d, "qsl_idx": %d, "data": "%02x000000"},`, i, i, i%4)
	}
	score, err := ScoreImageNet(text(strings.TrimSuffix(log, ",")+"]"), truth, ImageNetOptions{DType: Int32})
	if err != nil {
		t.Fatal(err)
	}
	for i := range truth {
		if got, want := score.Right[i/8]>>(i%8)&1 == 1, i%3 == i%4; got != want {
			t.Errorf("sample %d is right: %v, want %v", i, got, want)
		}
	}
}

func TestScoreImageNetFailsWhereTheScriptDoes(t *testing.T) {
	truth := []LabeledImage{{"a.JPEG", 1}}
	for _, c := range []struct {
		name string
		log  Input
		opts ImageNetOptions
		want string
	}{
		{"no record", hexLog(), ImageNetOptions{}, "the log has no record"},
		{"a sample too many", hexLog(float32s(1), float32s(1)), ImageNetOptions{}, "record 1 (qsl_idx 1): the ground truth has only 1 samples"},
		{"an empty payload", hexLog(nil), ImageNetOptions{}, "record 0 (qsl_idx 0): payload is empty"},
		{"a payload of 3 bytes", hexLog([]byte{1, 2, 3}), ImageNetOptions{}, "payload of 3 bytes does not consist of float32 numbers of 4 bytes"},
		{"int32 taken for int64", hexLog([]byte{1, 0, 0, 0}), ImageNetOptions{DType: Int64}, "int64 numbers of 8 bytes"},
		{"a label of NaN", hexLog(float32s(float32(math.NaN()))), ImageNetOptions{}, "label: NaN is not a whole number"},
		{"an infinite label", hexLog(float32s(float32(math.Inf(1)))), ImageNetOptions{}, "label: +Inf"},
		{"a broken log", text("[{]"), ImageNetOptions{}, "invalid character ']' at start of value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ScoreImageNet(c.log, truth, c.opts)
			wantError(t, err, c.log.Name(), c.want)
		})
	}
	_, err := ScoreImageNet(hexLog(), truth, ImageNetOptions{DType: Uint8})
	wantError(t, err, `dtype "uint8" is not one of [float32 int32 int64]`)
}

func TestHugeLabelsAreWrongNotErrors(t *testing.T) {
	got, err := ScoreImageNet(hexLog(float32s(1e30), float32s(-1e30)), []LabeledImage{{"a", 1}, {"b", 2}}, ImageNetOptions{})
	if err != nil || got.Hits != (Hits{0, 2}) {
		t.Errorf("ScoreImageNet = %v, %v, want 0 of 2", got, err)
	}
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
