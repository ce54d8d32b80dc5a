package download

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// change replaces a part of a file's text.
func change(t *testing.T, path, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestVerifyNamesWhatIsWrong has damages and the words by which they must be reported,
// with the checksums of the installation and without.
func TestVerifyNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		get    func(t *testing.T) Item
		damage func(t *testing.T, dir string)
		want   []string // in problems; of a folder without checksums
	}{
		"an image is missing": {
			func(t *testing.T) Item { return imageNet(t, 6) },
			func(t *testing.T, dir string) {
				mustDo(t, os.Remove(filepath.Join(dir, "ILSVRC2012_val_00000003.JPEG")))
			},
			[]string{"ILSVRC2012_val_00000003.JPEG: is missing"}},
		"an image ends early": {
			func(t *testing.T) Item { return imageNet(t, 6) },
			func(t *testing.T, dir string) {
				path := filepath.Join(dir, "ILSVRC2012_val_00000003.JPEG")
				mustDo(t, os.Truncate(path, 700))
			},
			[]string{"ILSVRC2012_val_00000003.JPEG: "}},
		"an image is none": {
			func(t *testing.T) Item { return imageNet(t, 6) },
			func(t *testing.T, dir string) {
				mustDo(t, os.WriteFile(filepath.Join(dir, "ILSVRC2012_val_00000001.JPEG"), []byte("<html>"), 0o644))
			},
			[]string{"ILSVRC2012_val_00000001.JPEG: "}},
		"the list lacks a line": {
			func(t *testing.T) Item { return imageNet(t, 6) },
			func(t *testing.T, dir string) {
				change(t, filepath.Join(dir, valMap), "ILSVRC2012_val_00000002.JPEG 37\n", "")
			},
			[]string{"val_map.txt lists 5 samples, want 6"}},
		"the list has a line twice, a class too large and a path up": {
			func(t *testing.T) Item { return imageNet(t, 6) },
			func(t *testing.T, dir string) {
				change(t, filepath.Join(dir, valMap), "ILSVRC2012_val_00000002.JPEG 37\n", "ILSVRC2012_val_00000001.JPEG 1000\n")
				change(t, filepath.Join(dir, valMap), "ILSVRC2012_val_00000006.JPEG", "../ILSVRC2012_val_00000006.JPEG")
			},
			[]string{"line 2: ILSVRC2012_val_00000001.JPEG is listed already in line 1", "the class of ILSVRC2012_val_00000001.JPEG is 1000, want 0 to 999", "leaves the folder"}},
		"there is no list": {
			func(t *testing.T) Item { return imageNet(t, 6) },
			func(t *testing.T, dir string) { mustDo(t, os.Remove(filepath.Join(dir, valMap))) },
			[]string{"val_map.txt"}},
		"an annotated image is missing": {
			func(t *testing.T) Item { it, _ := coco(t, 4); return it },
			func(t *testing.T, dir string) { mustDo(t, os.Remove(filepath.Join(dir, "val2017/000000000999.jpg"))) },
			[]string{"val2017/000000000999.jpg: is missing"}},
		"an annotated image has another size": {
			func(t *testing.T) Item { it, _ := coco(t, 4); return it },
			func(t *testing.T, dir string) { change(t, filepath.Join(dir, cocoLabels), `"width":20`, `"width":21`) },
			[]string{"val2017/000000001000.jpg: is 20 × 10 pixels, listed are 21 × 10"}},
		"an object is in no image": {
			func(t *testing.T) Item { it, _ := coco(t, 4); return it },
			func(t *testing.T, dir string) {
				change(t, filepath.Join(dir, cocoLabels), `"image_id":999`, `"image_id":5`)
			},
			[]string{"1 annotations refer to images that are not listed"}},
		"the annotations are cut off": {
			func(t *testing.T) Item { it, _ := coco(t, 4); return it },
			func(t *testing.T, dir string) { mustDo(t, os.Truncate(filepath.Join(dir, cocoLabels), 500)) },
			[]string{"instances_val2017.json"}},
		"the classes are in another order": {
			func(t *testing.T) Item { _, it := openImages(t); return it },
			func(t *testing.T, dir string) {
				change(t, filepath.Join(dir, "annotations/openimages-mlperf.json"), `"name":"Airplane"`, `"name":"Aeroplane"`)
			},
			[]string{`category 0 is "Aeroplane" with the number 0, want "Airplane"`}},
	} {
		t.Run(name, func(t *testing.T) {
			it := c.get(t)
			o, _ := options(t)
			mustGet(t, it, o)
			c.damage(t, o.Dir)
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
			mustDo(t, err)
			installed := "not as it was installed"
			if strings.Contains(name, "missing") || strings.Contains(name, "no list") {
				installed = "is missing"
			}
			wantProblems(t, r, append(c.want, installed)...)

			mustDo(t, os.RemoveAll(filepath.Join(o.Dir, stateDir)))
			r, err = Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
			mustDo(t, err)
			wantProblems(t, r, c.want...)
			if len(r.Unknown) == 0 {
				t.Error("it is not said that the checksums are unknown")
			}
		})
	}
}

func wantProblems(t *testing.T, r *Report, want ...string) {
	t.Helper()
	all := strings.Join(r.Problems, "\n")
	for _, part := range want {
		if !strings.Contains(all, part) {
			t.Errorf("problems %q, want %q", r.Problems, part)
		}
	}
	if r.OK() {
		t.Error("the report is fine")
	}
}

func TestVerifyReportsTheFirstProblemsAndCountsTheRest(t *testing.T) {
	it := imageNet(t, 9)
	o, _ := options(t)
	mustGet(t, it, o)
	images, err := filepath.Glob(filepath.Join(o.Dir, "*.JPEG"))
	mustDo(t, err)
	for _, image := range images {
		mustDo(t, os.Remove(image))
	}
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir, MaxProblems: 3})
	mustDo(t, err)
	if len(r.Problems) != 6 || r.More != 12 {
		t.Errorf("%d problems and %d more, want 3 of each of two kinds, and 12 more: %q", len(r.Problems), r.More, r.Problems)
	}
}

func TestVerifyComparesWithThePublishedChecksum(t *testing.T) {
	data := randomBytes(testChunk)
	for name, c := range map[string]struct {
		file File
		ok   bool
		said string
	}{
		"the right one":       {File{MD5: md5Of(data)}, true, "m.onnx has the published checksum"},
		"another one":         {File{MD5: md5Of(nil)}, false, "m.onnx has MD5"},
		"the right size only": {File{Size: testChunk}, true, "m.onnx has the published size"},
		"nothing published":   {File{}, true, "no checksum is published; its SHA-256 is " + sha256Of(data)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustDo(t, os.WriteFile(filepath.Join(dir, "m.onnx"), data, 0o644))
			c.file.Name, c.file.URLs = "m.onnx", []string{"http://unreachable.invalid/"}
			_, it := plainItem(c.file)
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
			mustDo(t, err)
			all := strings.Join(append(append(r.Fine, r.Unknown...), r.Problems...), "\n")
			if r.OK() != c.ok && name != "nothing published" || !strings.Contains(all, c.said) {
				t.Errorf("Verify = %+v, want %q", r, c.said)
			}
		})
	}
}

func TestVerifySaysThatADownloadWasNotFinished(t *testing.T) {
	data := randomBytes(30 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	interrupt(t, it, o, 10*testChunk)
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
	mustDo(t, err)
	wantProblems(t, r, "m.onnx is missing", "the download was not finished")
}

func TestVerifyOfAFolderThatIsNotThereIsAnError(t *testing.T) {
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/"}})
	_, err := Verify(t.Context(), it, VerifyOptions{Dir: filepath.Join(t.TempDir(), "nowhere")})
	if err == nil || !strings.Contains(err.Error(), "there is no such folder") {
		t.Errorf("Verify = %v", err)
	}
}

// nifti is the beginning of a volume.
func nifti(order binary.ByteOrder, sides ...uint16) []byte {
	header := make([]byte, 352)
	order.PutUint32(header, 348)
	order.PutUint16(header[40:], 3)
	for i, side := range sides {
		order.PutUint16(header[42+2*i:], side)
	}
	return gzipOf(header)
}

func TestVerifyLooksIntoTheVolumesOfKiTS19(t *testing.T) {
	for name, c := range map[string]struct {
		imaging, segmentation []byte
		wrong                 string
	}{
		"equal shapes":      {nifti(binary.LittleEndian, 40, 512, 512), nifti(binary.BigEndian, 40, 512, 512), ""},
		"unequal shapes":    {nifti(binary.LittleEndian, 40, 512, 512), nifti(binary.LittleEndian, 41, 512, 512), "case_00000: the volume is [40 512 512], its segmentation [41 512 512]"},
		"no NIfTI":          {gzipOf(make([]byte, 400)), nifti(binary.LittleEndian, 4, 5, 6), "imaging.nii.gz: it is not a NIfTI-1 file"},
		"no gzip":           {[]byte("version https://git-lfs"), nifti(binary.LittleEndian, 4, 5, 6), "case_00000: imaging.nii.gz"},
		"a side of nothing": {nifti(binary.LittleEndian, 40, 0, 512), nifti(binary.LittleEndian, 40, 0, 512), "side 1 is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustDo(t, os.MkdirAll(filepath.Join(dir, "case_00000"), 0o755))
			mustDo(t, os.WriteFile(filepath.Join(dir, "case_00000/imaging.nii.gz"), c.imaging, 0o644))
			mustDo(t, os.WriteFile(filepath.Join(dir, "case_00000/segmentation.nii.gz"), c.segmentation, 0o644))
			it := Item{Kind: Dataset, Name: "kits19", Layout: LayoutKiTS19, Cases: []string{"case_00000"}, Folder: &Folder{}}
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
			mustDo(t, err)
			if c.wrong == "" && !r.OK() {
				t.Errorf("Verify = %+v", r)
			} else if c.wrong != "" {
				wantProblems(t, r, c.wrong)
			}
		})
	}
}

// The case that MLPerf made is a copy of another, its volume and its segmentation.
func TestVerifyKnowsWhichCaseOfKiTS19IsACopy(t *testing.T) {
	volume, labels, other := nifti(binary.LittleEndian, 4, 5, 6), nifti(binary.LittleEndian, 4, 5, 6), nifti(binary.BigEndian, 4, 5, 6)
	for name, c := range map[string]struct {
		imaging, segmentation []byte
		wrong                 string
	}{
		"a copy":               {volume, labels, ""},
		"another volume":       {other, labels, "case_00400/imaging.nii.gz is not a copy of case_00185/imaging.nii.gz"},
		"another segmentation": {volume, other, "case_00400/segmentation.nii.gz is not a copy of case_00185/segmentation.nii.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, data := range map[string][]byte{
				"case_00185/imaging.nii.gz": volume, "case_00185/segmentation.nii.gz": labels,
				"case_00400/imaging.nii.gz": c.imaging, "case_00400/segmentation.nii.gz": c.segmentation,
			} {
				mustDo(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
				mustDo(t, os.WriteFile(filepath.Join(dir, path), data, 0o644))
			}
			it := Item{Kind: Dataset, Name: "kits19", Layout: LayoutKiTS19, Cases: []string{"case_00185", "case_00400"}, Folder: &Folder{}}
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
			mustDo(t, err)
			if c.wrong == "" && !r.OK() {
				t.Errorf("Verify = %+v", r)
			} else if c.wrong != "" {
				wantProblems(t, r, c.wrong)
			}
		})
	}
}

func TestVerifySaysWhatTheRepairNeedsToKnow(t *testing.T) {
	it := imageNet(t, 6)
	o, _ := options(t)
	o.Count, o.Seed = 4, 7
	mustGet(t, it, o)
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
	mustDo(t, err)
	if !r.Ours || r.Count != 4 || r.Seed != 7 {
		t.Errorf("Verify = %+v, want that 4 with the seed 7 were downloaded", r)
	}
	mustDo(t, os.RemoveAll(filepath.Join(o.Dir, stateDir)))
	r, err = Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
	mustDo(t, err)
	if r.Ours {
		t.Errorf("Verify = %+v, want that it was not downloaded", r)
	}
}

func TestVerifyRefusesACountThatMeansNothing(t *testing.T) {
	kits := Item{Kind: Dataset, Name: "k", Layout: LayoutKiTS19, Samples: 43}
	for count, it := range map[int]Item{5: kits, -1: {Kind: Dataset, Name: "c", Layout: LayoutCOCO}, 11: {Kind: Dataset, Name: "c", Layout: LayoutCOCO, Samples: 10}} {
		_, err := Verify(t.Context(), it, VerifyOptions{Dir: t.TempDir(), Count: count})
		var option *userinput.Error
		if !errors.As(err, &option) || option.Field != "count" {
			t.Errorf("Verify with count %d = %v, want an error about the count", count, err)
		}
	}
}
