package synth

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Sets are kept by their keys, so equal keys have to mean equal files. A change of these sums is one of what users have
// in their caches: raise FormatVersion with it. Tests of images have the other kinds.
func TestFilesOfEveryKindDoNotChange(t *testing.T) {
	many := []int64{3, 1, 2, 1, 4, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		name, want string
		write      func(ctx context.Context, dir string) error
	}{
		{"questions about texts", "4ab61c4ce5f428e8b55ef6765189d6a3", func(ctx context.Context, dir string) error {
			return WriteSQuAD(ctx, dir, SQuADSpec{Seed: 3, Questions: 22 * perText, FirstWord: 2200, Lengths: 6})
		}},
		{"sentences", "03555857131836c2fd42ab4ab10181b8", func(ctx context.Context, dir string) error {
			return WriteTranslation(ctx, dir, TranslationSpec{Seed: 3, Sentences: 50, Pieces: 200, Lexicon: "small"}, smallLexicon(200))
		}},
		{"clicks", "7990072ff5d44619eaed731f97d2571d", func(ctx context.Context, dir string) error {
			return WriteCriteo(ctx, dir, CriteoSpec{Seed: 3, Pairs: 200, Rows: criteoRows(50)}, nil)
		}},
		{"clicks of several categories", "16131dee96800e0a9210b1bbe02381f0", func(ctx context.Context, dir string) error {
			return WriteCriteo(ctx, dir, CriteoSpec{Seed: 3, Pairs: 100, Rows: criteoRows(50), Hot: many}, nil)
		}},
		{"prompts", "4c6f1da1f3865b3b1636eb2af3ef6981", func(ctx context.Context, dir string) error {
			return WritePrompts(ctx, dir, PromptSpec{Seed: 3, Prompts: 20, Tokens: 1100}, nil)
		}},
		{"mixed prompts", "fe2b327a19fa7ae374d03599875b3206", func(ctx context.Context, dir string) error {
			return WritePrompts(ctx, dir, PromptSpec{Seed: 3, Prompts: 20, Tokens: 1100, Mixed: true}, nil)
		}},
		{"questions for reasoning", "c08ea4d167111a452ae43bf219653483", func(ctx context.Context, dir string) error {
			return WriteQuestions(ctx, dir, QuestionSpec{Seed: 3, Questions: 20, Form: ossQuestions})
		}},
		{"questions with long texts", "9beb660784059148c552bf1af76db26e", func(ctx context.Context, dir string) error {
			return WriteQuestions(ctx, dir, QuestionSpec{Seed: 3, Questions: 20, Form: longQuestions})
		}},
		{"products", "773ce41dab4ac4617c7f9f5d5ea6a444", func(ctx context.Context, dir string) error {
			return WriteProducts(ctx, dir, ProductSpec{Seed: 3, Products: 6})
		}},
		{"pages", "89c642ed6fc095487984697f140f8af5", func(ctx context.Context, dir string) error {
			return WritePages(ctx, dir, PageSpec{Seed: 3, Pages: 13, Questions: 9, FirstWord: 2200})
		}},
		{"speech", "50530bbac4eeeaa240401d26b0913461", func(ctx context.Context, dir string) error {
			spec := smallSpeech()
			spec.Utterances = 2
			return WriteSpeech(ctx, dir, spec)
		}},
		{"talk", "849598c7da28093e6b04a472d94240d8", func(ctx context.Context, dir string) error {
			spec := smallTalk()
			spec.Recordings = 2
			return WriteTalk(ctx, dir, spec)
		}},
		{"brats19", "2d2688ac8a6c6fa1ba6e5df8c5b8abf0", func(ctx context.Context, dir string) error {
			return WriteBraTS19(ctx, dir, BraTS19Spec{Seed: 1, Cases: 1}, nil, nil)
		}},
		{"igbh", "921c1f90cb4b469004be4f87d2a6a08f", func(ctx context.Context, dir string) error {
			return WriteIGBH(ctx, dir, IGBHSpec{Seed: 3, Papers: 400, Width: 5}, nil)
		}},
		{"waymo", "54712bfcbfefbe271e2cf5de3256f213", func(ctx context.Context, dir string) error { return smallWaymo(ctx, dir, 3) }},
		{"requests", "b6fd3266b623f8d223774a6040d1e240", func(ctx context.Context, dir string) error {
			return WriteRequests(ctx, dir, RequestSpec{Seed: 3, Requests: 25, Candidates: 8}, nil)
		}},
		{"vbench", "b624ac8c932341d3610de5c91af222a8", func(ctx context.Context, dir string) error {
			return WriteVBench(ctx, dir, VBenchSpec{Seed: 3, Prompts: 25, Tokens: 400, Latents: []int{16, 2, 3, 4}})
		}},
		{"captions", "ed628a7b7f5f3c112f062a2f908bf938", func(ctx context.Context, dir string) error { return WriteCaptions(ctx, dir, smallCaptions(), nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "set")
			if err := c.write(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			if got := hashOfFiles(filesOf(t, dir)); got != c.want {
				t.Errorf("hash %s, want %s: if that is meant, raise FormatVersion", got, c.want)
			}
			checkModes(t, dir)
		})
	}
}

// checkModes wants all files of a set to be readable by others: it may be shared.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		want := fs.FileMode(0o644)
		if d.IsDir() {
			want = 0o755
		}
		if err == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What is drawn and how it is called follows from the specs alone; the pixels are those of the long tests.
func TestWhatImagesShowDoesNotChange(t *testing.T) {
	var all strings.Builder
	for _, layout := range []Layout{COCO, OpenImages} {
		s := COCOSpec{Layout: layout, Seed: 3, Images: 60}
		for i, image := range s.List() {
			fmt.Fprintf(&all, "%+v %+v\n", image, s.frame(i))
			if i < 8 {
				fmt.Fprintf(&all, "%.6v\n", s.Objects(i))
			}
		}
	}
	images, pictures, volumes := ImageNetSpec{Seed: 3, Images: 600, Classes: 7}, ADE20KSpec{Seed: 3, Images: 60}, KiTS19Spec{Seed: 3, Cases: 12}
	sizes := imageNetMix()
	for i, label := range images.Labels() {
		fmt.Fprintln(&all, images.Name(i), label, images.frame(&sizes, i))
	}
	for i := range pictures.Images {
		fmt.Fprintln(&all, pictures.Name(i))
	}
	for i := range volumes.Cases {
		fmt.Fprintf(&all, "%s %.6v\n", volumes.Name(i), volumes.Grid(i))
	}
	const want = "7ddd38df66c7b53ee5ccd67a1a894098"
	if got := hashOf([]byte(all.String())); got != want {
		t.Errorf("hash %s, want %s: if that is meant, raise FormatVersion", got, want)
	}
}

// niftiFile is struct nifti_1_header of nifti1.h, and the four bytes behind it.
type niftiFile struct {
	SizeofHdr                     int32
	DataType                      [10]byte
	DBName                        [18]byte
	Extents                       int32
	SessionError                  int16
	Regular, DimInfo              byte
	Dim                           [8]int16
	IntentP1, IntentP2, IntentP3  float32
	IntentCode, Datatype, Bitpix  int16
	SliceStart                    int16
	PixDim                        [8]float32
	VoxOffset, SclSlope, SclInter float32
	SliceEnd                      int16
	SliceCode, XYZTUnits          byte
	CalMax, CalMin, SliceDuration float32
	TOffset                       float32
	GLMax, GLMin                  int32
	Descrip                       [80]byte
	AuxFile                       [24]byte
	QFormCode, SFormCode          int16
	QuaternB, QuaternC, QuaternD  float32
	QOffsetX, QOffsetY, QOffsetZ  float32
	SRowX, SRowY, SRowZ           [4]float32
	IntentName                    [16]byte
	Magic                         [4]byte
	Extension                     [4]byte
}

func TestVolumesHaveTheHeaderOfNIfTI(t *testing.T) {
	g := VolumeGrid{Shape: [3]int{2, 3, 4}, Spacing: [3]float64{2.5, 0.75, 0.5}}
	voxels := make([]int16, 24)
	for i := range voxels {
		voxels[i] = int16(1000*i - 7000)
	}
	path := filepath.Join(t.TempDir(), "imaging.nii.gz")
	if err := writeNIfTI(path, g, voxels); err != nil {
		t.Fatal(err)
	}
	data := unpacked(t, path)
	var got niftiFile
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, &got); err != nil {
		t.Fatal(err)
	}
	want := niftiFile{
		SizeofHdr: 348, Dim: [8]int16{3, 2, 3, 4, 1, 1, 1, 1}, Datatype: 4, Bitpix: 16, PixDim: [8]float32{1, 2.5, 0.75, 0.5},
		Descrip: [80]byte([]byte(markComment + strings.Repeat("\x00", 80-len(markComment)))), VoxOffset: 352, SclSlope: 1, XYZTUnits: 2, SFormCode: 1,
		SRowX: [4]float32{0, 0, -0.5, 0}, SRowY: [4]float32{0, -0.75, 0, 0}, SRowZ: [4]float32{-2.5, 0, 0, 0}, Magic: [4]byte{'n', '+', '1', 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the header (-want +got):\n%s", diff)
	}
	// The first axis runs fastest.
	for i := range voxels {
		z, y, x := i%2, i/2%3, i/6
		if got := int16(binary.LittleEndian.Uint16(data[352+2*i:])); got != voxels[(z*3+y)*4+x] {
			t.Errorf("voxel %d of the file is %d, want %d", i, got, voxels[(z*3+y)*4+x])
		}
	}
	if len(data) != 352+48 {
		t.Errorf("the file has %d bytes", len(data))
	}
}

// Labels take a byte each.
func TestSegmentationsHaveBytes(t *testing.T) {
	g := VolumeGrid{Shape: [3]int{1, 1, 3}, Spacing: [3]float64{1, 1, 1}}
	path := filepath.Join(t.TempDir(), "segmentation.nii.gz")
	if err := writeNIfTI(path, g, []uint8{0, 2, 1}); err != nil {
		t.Fatal(err)
	}
	data := unpacked(t, path)
	if code, bits := binary.LittleEndian.Uint16(data[70:]), binary.LittleEndian.Uint16(data[72:]); code != 2 || bits != 8 || !bytes.Equal(data[352:], []byte{0, 2, 1}) {
		t.Errorf("type %d of %d bits, voxels %v", code, bits, data[352:])
	}
	wantError(t, writeNIfTI(filepath.Join(t.TempDir(), "none", "x.nii.gz"), g, []uint8{0, 2, 1}), "no such file")
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	return testenv.Read(t, path)
}

// One text of twenty does not fit into the 384 pieces that BERT reads at once, and the others do.
func TestSomeTextsAreLongerThanAWindow(t *testing.T) {
	s := SQuADSpec{Seed: 5, FirstWord: 2200, Lengths: 6}
	v := squadVocabulary(s.Seed, s.FirstWord)
	for i := range 2 * longEvery {
		w := &squadWriter{spec: s, v: v, r: newStream("squad text", s.Seed, uint64(i))}
		words := len(strings.Fields(w.paragraph(i, 1).Context))
		if long := words > 384; long != (i%longEvery == longEvery-1) {
			t.Errorf("text %d has %d words", i, words)
		}
	}
}

// The sum of a wave over its whole turns is nothing, and neighbours are as far apart as the slope says: no point is out of place.
func TestSineHasNoSteps(t *testing.T) {
	const n = 4096
	sum := 0.0
	for i := range n {
		at, next := float64(i)/n, float64(i+1)/n
		sum += sine(at)
		if slope := (sine(next) - sine(at)) * n / (2 * math.Pi); math.Abs(slope-cosine((at+next)/2)) > 1e-5 {
			t.Errorf("at %v the slope is %v, want %v", at, slope, cosine((at+next)/2))
		}
		if a, b := sine(at), sine(at-1); math.Abs(a-b) > 1e-12 {
			t.Errorf("sine(%v) = %v, a turn before it is %v", at, a, b)
		}
	}
	if math.Abs(sum) > 1e-9 {
		t.Errorf("the sum of a turn is %v", sum)
	}
}
