package accuracy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadKiTSCasesNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"no targets", `{"file_list":["a"],"image_shape":[[1]]}`, `no "target_rle"`},
		{"a name too many", `{"file_list":["a","b"],"image_shape":[[1]],"target_rle":[[0,1]]}`, "2 names, 1 shapes and 1 targets"},
		{"no case", `{"file_list":[],"image_shape":[],"target_rle":[]}`, "0 names"},
		{"a name twice", `{"file_list":["a","a"],"image_shape":[[1],[1]],"target_rle":[[0,1],[0,1]]}`, "file 1 has the id a of file 0"},
		{"a target that is too short", `{"file_list":["a"],"image_shape":[[2,2]],"target_rle":[[0,1]]}`, "a: target has 1 voxels, shape [2 2] has 4"},
		{"label 3", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[3,1]]}`, "a: the target has label 3, want 0, 1 or 2"},
		{"half a run", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[0,1,2]]}`, "ends with a label"},
		{"an empty shape", `{"file_list":["a"],"image_shape":[[]],"target_rle":[[0,1]]}`, "the shape is empty"},
		{"an extent of 0", `{"file_list":["a"],"image_shape":[[0]],"target_rle":[[0,1]]}`, "the shape [0] has no voxels"},
		{"a shape beyond memory", `{"file_list":["a"],"image_shape":[[1000000,1000000]],"target_rle":[[0,1]]}`, "the shape [1000000 1000000] has no voxels, or more than 2147483647"},
		{"runs beyond memory", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[0,2147483647,0,1]]}`, "the target covers more than 2147483647 voxels"},
		{"something after the end", `{"file_list":["a"],"image_shape":[[1]],"target_rle":[[0,1]]}]`, "line 1, offset 60: invalid character ']'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadKiTSCases(text(c.file))
			wantError(t, err, "test.json: ", c.want)
		})
	}
}

func TestScoreKiTSFailsWhereTheScriptDoes(t *testing.T) {
	truth := []KiTSCase{{"case_00000", []int{2}, LabelRuns{{1, 2}}}, {"case_00003", []int{1}, LabelRuns{{2, 1}}}}
	good := func(i uint64, data ...byte) Record { return Record{QSLIndex: i, Data: data} }
	for _, c := range []struct {
		name    string
		records []Record
		dtype   DType
		want    string
	}{
		{"no record", nil, "", "0 records for 2 cases"},
		{"a case is missing", []Record{good(0, 1, 1)}, "", "1 records for 2 cases, want one per case"},
		{"a case twice", []Record{good(0, 1, 1), good(0, 1, 1)}, "", "record 1 (qsl_idx 0): second record of case_00000"},
		{"a case too many", []Record{good(0, 1, 1), good(1, 2), good(2, 1)}, "", "record 2 (qsl_idx 2): the ground truth has only 2 cases"},
		{"a voxel too many", []Record{good(0, 1, 1, 1)}, "", "case_00000: prediction has 3 voxels, the ground truth 2"},
		{"label 3", []Record{good(0, 1, 3)}, "", "case_00000: voxel 1 has label 3, want 0, 1 or 2"},
		{"label -1", []Record{good(0, 1, 255)}, Int8, "voxel 1 has label -1"},
		{"a label of NaN", []Record{{Data: float32s(1, float32(math.NaN()))}}, Float32, "voxel 1 has label NaN"},
		{"half a number", []Record{good(0, 1, 1, 1)}, Int16, "payload of 3 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ScoreKiTS(text(formatLog(c.records)), truth, KiTSOptions{DType: c.dtype})
			wantError(t, err, "test.json: ", c.want)
		})
	}
	for dtype, want := range map[DType]string{"uint32": "is not one of", Int64: "cannot store such volumes", Float16: "cannot store such volumes"} {
		_, err := ScoreKiTS(hexLog(), truth, KiTSOptions{DType: dtype})
		wantError(t, err, "output_dtype", string(dtype), want)
	}
}

func TestEveryTypeOfVoxelGivesTheSameScore(t *testing.T) {
	labels := []uint8{0, 1, 2, 2, 1, 0, 0, 1, 1, 2, 0}
	truth := []KiTSCase{{"a", []int{11}, LabelRuns{{0, 1}, {1, 4}, {2, 6}}}}
	encode := func(v any) []byte {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	payloads := map[DType]any{Int8: []int8{}, Int16: []int16{}, Int32: []int32{}, Uint8: []uint8{}, Float32: []float32{}, Float64: []float64{}}
	var want Dice
	for _, dtype := range []DType{Uint8, Int8, Int16, Int32, Float32, Float64} {
		var data []byte
		for _, v := range labels {
			switch payloads[dtype].(type) {
			case []int8, []uint8:
				data = append(data, v)
			case []int16:
				data = append(data, encode(int16(v))...)
			case []int32:
				data = append(data, encode(int32(v))...)
			case []float32:
				data = append(data, encode(float32(v)+0.4)...) // a fraction is cut off
			case []float64:
				data = append(data, encode(float64(v)+0.4)...)
			}
		}
		got, err := ScoreKiTS(hexLog(data), truth, KiTSOptions{DType: dtype})
		if err != nil {
			t.Fatal(err)
		}
		if dtype == Uint8 {
			want = got.Cases[0].Dice
		}
		if got.Cases[0].Dice != want || want.Kidney == 0 {
			t.Errorf("%s: %v, want %v", dtype, got.Cases[0].Dice, want)
		}
	}
}

func TestDiceAgreesWithCountingVoxelByVoxel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := rng.IntN(100)
		prediction, truth := make([]uint8, n), make([]uint8, n)
		var both, wanted, predicted [3]int
		for i := range n {
			prediction[i], truth[i] = uint8(rng.IntN(3)), uint8(rng.IntN(3))
			if i > 0 && rng.IntN(4) > 0 {
				truth[i], prediction[i] = truth[i-1], prediction[i-1]
			}
			predicted[prediction[i]]++
			wanted[truth[i]]++
			if prediction[i] == truth[i] {
				both[truth[i]]++
			}
		}
		want := Dice{dice(both[1], wanted[1], predicted[1]), dice(both[2], wanted[2], predicted[2])}
		if got, err := kitsDice(prediction, EncodeRuns(truth)); err != nil || got != want {
			t.Fatalf("KiTSDice(%v, %v) = %v, %v, want %v", prediction, truth, got, err, want)
		}
	}
}

func TestABadVoxelIsFoundWhereverItIs(t *testing.T) {
	for _, bad := range []uint8{3, 4, 7, 128, 255} {
		for at := range 30 {
			prediction := bytes.Repeat([]byte{2}, 30)
			prediction[at] = bad
			_, err := kitsDice(prediction, LabelRuns{{1, 11}, {2, 19}})
			wantError(t, err, fmt.Sprintf("voxel %d has label %d", at, bad))
		}
	}
	_, err := kitsDice(make([]uint8, 3), LabelRuns{{1, 2}, {3, 1}})
	wantError(t, err, "voxel 2 of the ground truth has label 3")
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
		written, err := json.Marshal(map[string]any{"file_list": names, "image_shape": shapes, "target_rle": targets})
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadKiTSCases(text(string(written)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(cases, again); d != "" {
			t.Errorf("after writing and reading (-want +got):\n%s", d)
		}
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
		if d, err := kitsDice(volume, runs); err != nil || d.Kidney != 1 {
			b.Fatal(d, err)
		}
	}
}
