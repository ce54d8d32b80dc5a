package download

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// change replaces a part of a file's text.
func change(t *testing.T, path, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s has no %q", path, old)
	}
	must(t, os.WriteFile(path, bytes.Replace(data, []byte(old), []byte(replacement), 1), 0o644))
}

// Damages are reported by the data set's own lists, also in a folder that download did not make, and by the checksums of the
// installation.
func TestVerifyReportsDamage(t *testing.T) {
	photos := imageNet(t, 6)
	objects, _ := coco(t, 4)
	_, table := openImages(t)
	image3 := "ILSVRC2012_val_00000003.JPEG"
	for name, c := range map[string]struct {
		it        Item
		damage    func(t *testing.T, dir string)
		installed string
		want      []string
	}{
		"an image is missing": {photos, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, image3))) },
			image3 + " is missing", []string{image3 + ": is missing"}},
		"an image ends early": {photos, func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, image3), 700)) },
			image3 + " is not as it was installed", []string{image3 + ": the JPEG file ends early"}},
		"an image is a page": {photos, func(t *testing.T, dir string) { put(t, dir, image3, "<html>") },
			image3 + " is not as it was installed", []string{image3 + ": "}},
		"the list lacks a line": {photos, func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, valMap), "ILSVRC2012_val_00000002.JPEG 37\n", "")
		}, "val_map.txt is not as it was installed", []string{"val_map.txt lists 5 samples, expected 6"}},
		"a line twice, a class too large and a path up": {photos, func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, valMap), "ILSVRC2012_val_00000002.JPEG 37\n", "ILSVRC2012_val_00000001.JPEG 1000\n")
			change(t, filepath.Join(dir, valMap), "ILSVRC2012_val_00000006.JPEG", "../ILSVRC2012_val_00000006.JPEG")
		}, "val_map.txt is not as it was installed",
			[]string{"line 2: ILSVRC2012_val_00000001.JPEG is listed already in line 1", "the class of ILSVRC2012_val_00000001.JPEG is 1000: must be 0 to 999", "escapes"}},
		"no list": {photos, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, valMap))) }, "val_map.txt is missing", []string{"val_map.txt"}},
		"an annotated image is missing": {objects, func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "val2017/000000000999.jpg"))) },
			"val2017/000000000999.jpg is missing", []string{"val2017/000000000999.jpg: is missing"}},
		"an annotated image has another size": {objects, func(t *testing.T, dir string) { change(t, filepath.Join(dir, cocoLabels), `"width":20`, `"width":21`) },
			"instances_val2017.json is not as", []string{"val2017/000000001000.jpg: is 20 × 10 pixels, listed are 21 × 10"}},
		"an image is listed twice": {objects, func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, cocoLabels), `"file_name":"000000000999.jpg"`, `"file_name":"000000001000.jpg"`)
		}, "", []string{"000000001000.jpg is listed twice"}},
		"an object is in no image": {objects, func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, cocoLabels), `"image_id":999`, `"image_id":5`)
		}, "", []string{"1 annotations refer to images that are not listed"}},
		"the annotations are cut off": {objects, func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, cocoLabels), 500)) }, "", []string{"instances_val2017.json"}},
		"the classes are in another order": {table, func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "annotations/openimages-mlperf.json"), `"name":"Airplane"`, `"name":"Aeroplane"`)
		}, "", []string{`category 0 is "Aeroplane" with the number 0: must be "Airplane"`}},
		"a class is missing": {table, func(t *testing.T, dir string) {
			change(t, filepath.Join(dir, "annotations/openimages-mlperf.json"), `{"id":0,"name":"Airplane","supercategory":null},`, ``)
		}, "", []string{`263 categories, expected 264`}},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			mustGet(t, c.it, o)
			c.damage(t, o.Dir)
			wantProblems(t, c.it, o.Dir, append(c.want, c.installed)...)
			must(t, os.RemoveAll(filepath.Join(o.Dir, stateDir)))
			r := wantProblems(t, c.it, o.Dir, c.want...)
			if r.Ours || len(r.Unknown) == 0 {
				t.Errorf("Verify = %+v, want that the checksums are unknown", r)
			}
		})
	}
}

// wantProblems verifies a folder in which something is wrong.
func wantProblems(t *testing.T, it Item, dir string, want ...string) *Report {
	t.Helper()
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
	must(t, err)
	for _, part := range want {
		if r.OK() || !strings.Contains(strings.Join(r.Problems, "\n"), part) {
			t.Errorf("problems %q, want %q", r.Problems, part)
		}
	}
	return r
}

// A file with a published checksum is read once for it and for the comparison with what was installed.
func TestVerifyReadsOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MLPERF_DATA_DIR", t.TempDir())
	put(t, dir, "a.json", "questions")
	put(t, dir, "b.json", "answers")
	it := Item{Kind: Dataset, Name: "squad", Files: []File{{Name: "a.json", MD5: md5Of([]byte("questions"))}}}
	for range 2 {
		again := &counted{}
		r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir, Observer: again})
		must(t, err)
		if !r.OK() || again.items != 1 {
			t.Errorf("%d files are read again, want b.json alone: %+v", again.items, r)
		}
	}
}

func TestVerifyFrames(t *testing.T) {
	const golden = "../dataset/waymo/testdata/"
	it := Item{Kind: Dataset, Name: "waymo", Layout: LayoutWaymo, Folder: &Folder{}}
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(golden+"kitti_format")))
	list, err := os.ReadFile(golden + "one_frame.pkl")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "waymo_infos_val.pkl"), list, 0o644))
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
	must(t, err)
	if !r.OK() || !strings.Contains(strings.Join(r.Fine, "\n"), "1 frames, each with points") {
		t.Errorf("%+v", r)
	}
	points := filepath.Join(dir, "training/velodyne/1000000.bin")
	file, err := os.ReadFile(points)
	must(t, err)
	binary.LittleEndian.PutUint32(file[8:], 0x7fc00000)
	must(t, os.WriteFile(points, file, 0o644))
	wantProblems(t, it, dir, "1000000.bin: number 2 of point 0 is NaN")
	must(t, os.Remove(filepath.Join(dir, "training/image_2/1000000.jpg")))
	wantProblems(t, it, dir, "image_2/1000000.jpg: no such file")
}

func TestVerifyLimitsProblems(t *testing.T) {
	it := imageNet(t, 9)
	o, _ := options(t)
	o.Count, o.Seed = 8, 7
	mustGet(t, it, o)
	images, err := filepath.Glob(filepath.Join(o.Dir, "*.JPEG"))
	must(t, err)
	for _, image := range images {
		must(t, os.Remove(image))
	}
	r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir, MaxProblems: 3})
	must(t, err)
	if len(r.Problems) != 6 || r.More != 10 || !r.Ours || r.Of != "imagenet" || r.Count != 8 || r.Seed != 7 {
		t.Errorf("Verify = %+v, want 3 problems of each of two kinds, and 10 more", r)
	}
}

func TestVerifyPublishedChecksums(t *testing.T) {
	data := randomBytes(1000)
	dir := t.TempDir()
	put(t, dir, "m.onnx", string(data))
	for name, c := range map[string]struct {
		file File
		ok   bool
		said string
	}{
		"the right one":       {File{MD5: md5Of(data)}, true, "m.onnx has the published checksum"},
		"another one":         {File{MD5: md5Of(nil)}, false, "m.onnx has MD5"},
		"the right size only": {File{Size: 1000}, true, "m.onnx has the published size"},
		"nothing":             {File{}, false, "no checksum is published; its SHA-256 is " + sha256Of(data)},
		"of what comes out":   {File{Unpack: &Unpack{}, Inside: map[string]string{"m.onnx": md5Of(nil)}}, false, "m.onnx has MD5"},
		"of a listed file":    {File{R2: "http://a/b", Inside: map[string]string{"m.onnx": md5Of(nil), "deeper": ""}}, false, "m.onnx has MD5"},
	} {
		c.file.Name = "m.onnx"
		r, err := Verify(t.Context(), model(c.file), VerifyOptions{Dir: dir})
		must(t, err)
		all := strings.Join(append(append(r.Fine, r.Unknown...), r.Problems...), "\n")
		if r.OK() != c.ok || !strings.Contains(all, c.said) {
			t.Errorf("%s: Verify = %+v, want %q", name, r, c.said)
		}
	}
}

func TestVerifyOfUnfinishedDownloads(t *testing.T) {
	s := newServer(t)
	s.put("m.onnx", randomBytes(big))
	it := model(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	interrupt(t, it, o, big/2)
	wantProblems(t, it, o.Dir, "m.onnx is missing", "the download was not finished")
	if Installed(o.Dir, it) {
		t.Error("it is installed")
	}
	mustGet(t, it, o)
	must(t, os.Truncate(filepath.Join(o.Dir, sumsFile), 0))
	wantProblems(t, it, o.Dir, "lists 0 files, expected 1: the others cannot be checked")
	if !Installed(o.Dir, it) {
		t.Error("it is not installed")
	}
	if _, err := Verify(t.Context(), it, VerifyOptions{Dir: filepath.Join(t.TempDir(), "nowhere")}); !errors.Is(err, ErrNotThere) {
		t.Errorf("Verify = %v, want %v", err, ErrNotThere)
	}
}

func TestImageSize(t *testing.T) {
	var b bytes.Buffer
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 7, 5))))
	jpeg, width, height := testJPEG(t, 1)
	for _, c := range []struct {
		name          string
		data          []byte
		width, height int
		err           string // empty: none
	}{
		{"a JPEG file on its side", jpeg, width, height, ""},
		{"one with bytes behind it", append(bytes.Clone(jpeg), "trailing"...), width, height, ""},
		{"one without its end", jpeg[:len(jpeg)-10], 0, 0, "the JPEG file ends early"},
		{"a PNG file", b.Bytes(), 7, 5, ""},
		{"one without its end", b.Bytes()[:b.Len()-12], 0, 0, "the PNG file ends early"},
	} {
		w, h, err := imageSize(c.data)
		if c.err == "" && (err != nil || w != c.width || h != c.height) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %d × %d, %v, want %d × %d, %q", c.name, w, h, err, c.width, c.height, c.err)
		}
	}
}

// nifti is the beginning of a volume of 8-bit numbers.
func nifti(order binary.ByteOrder, sides ...uint16) string {
	header := make([]byte, 352)
	order.PutUint32(header, 348)
	order.PutUint16(header[40:], 3)
	for i, side := range sides {
		order.PutUint16(header[42+2*i:], side)
		order.PutUint32(header[80+4*i:], 0x3f800000) // a spacing of 1 mm
	}
	order.PutUint16(header[70:], 2)           // uint8
	order.PutUint16(header[72:], 8)           // bits
	order.PutUint32(header[108:], 0x43b00000) // offset 352
	copy(header[344:], "n+1\x00")
	return string(gzipOf(header))
}

func TestVerifyKiTS19(t *testing.T) {
	volume, turned, other := nifti(binary.LittleEndian, 40, 512, 512), nifti(binary.BigEndian, 40, 512, 512), nifti(binary.LittleEndian, 41, 512, 512)
	for name, c := range map[string]struct {
		imaging, segmentation, copied string
		wrong                         string
	}{
		"equal shapes":    {volume, turned, volume, ""},
		"unequal shapes":  {volume, other, volume, "case_00185: the volume is [40 512 512], its segmentation [41 512 512]"},
		"no NIfTI":        {string(gzipOf(make([]byte, 400))), volume, volume, "case_00185: "},
		"a missing file":  {volume, "", volume, "segmentation.nii.gz"},
		"no copy of that": {volume, turned, turned, "case_00400/imaging.nii.gz is not a copy of case_00185/imaging.nii.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, data := range map[string]string{
				"case_00185/imaging.nii.gz": c.imaging, "case_00185/segmentation.nii.gz": c.segmentation,
				"case_00400/imaging.nii.gz": c.copied, "case_00400/segmentation.nii.gz": c.segmentation,
			} {
				if data != "" {
					put(t, dir, path, data)
				}
			}
			it := Item{Kind: Dataset, Name: "kits19", Layout: LayoutKiTS19, Cases: []string{"case_00185", "case_00400"}, Folder: &Folder{}}
			if c.wrong != "" {
				wantProblems(t, it, dir, c.wrong)
				return
			}
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: dir})
			if must(t, err); !r.OK() {
				t.Errorf("Verify = %+v", r)
			}
		})
	}
}
