package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// nifti returns a file of voxels that are 1.6×1.2×1.2 mm large, all of one number.
func nifti(shape [3]int, value uint8) string {
	h := make([]byte, 352, 352+shape[0]*shape[1]*shape[2])
	le := binary.LittleEndian
	le.PutUint32(h, 348)
	le.PutUint16(h[40:], 3)
	for i, spacing := range []float32{1.6, 1.2, 1.2} {
		le.PutUint16(h[42+2*i:], uint16(shape[i]))
		le.PutUint32(h[80+4*i:], math.Float32bits(spacing))
	}
	le.PutUint16(h[70:], 2)
	le.PutUint32(h[108:], math.Float32bits(352))
	copy(h[344:], "n+1\x00")
	return string(h) + strings.Repeat(string([]byte{value}), shape[0]*shape[1]*shape[2])
}

// pickled returns a list of an image and labels, as protocol 2 writes it.
func pickled(shape [3]int, value float32, label uint8) string {
	n := shape[0] * shape[1] * shape[2]
	extent := func(v int) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }
	array := func(code string, data []byte) string {
		return "cnumpy.core.multiarray\n_reconstruct\n)R(K\x01(K\x01" + extent(shape[0]) + extent(shape[1]) + extent(shape[2]) +
			"tcnumpy\ndtype\n\x8c\x02" + code + "\x85R\x89B" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + string(data) + "tb"
	}
	floats := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(value)), n)
	return "\x80\x02](" + array("f4", floats) + array("u1", bytes.Repeat([]byte{label}, n)) + "e."
}

func kitsFolder(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		shape := [3]int{2, 3, 170 - 100*i} // 192 or 128 after preparation
		put(t, dir, name+"/imaging.nii", nifti(shape, 101))
		put(t, dir, name+"/segmentation.nii", nifti(shape, uint8(i+1)))
	}
	return dir
}

func TestKiTS19PreparesVolumes(t *testing.T) {
	dir := kitsFolder(t, "case_b", "case_a")
	put(t, dir, "inference_cases.json", `["case_b","case_a"]`)
	d, err := OpenKiTS19(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 2 || d.cases[0].name != "case_b" || d.Shape(0) != [3]int{128, 128, 192} || d.Shape(1) != [3]int{128, 128, 128} {
		t.Errorf("%d cases, %s of %v and %v", d.Len(), d.cases[0].name, d.Shape(0), d.Shape(1))
	}
	voxels := make([]float32, 128*128*128)
	if err := d.Image(1, voxels); err != nil || voxels[0] != 0 || voxels[len(voxels)-1] != 0 {
		t.Errorf("the image begins with %v, %v; want 0 for the mean density", voxels[0], err)
	}
	truth, err := ReadKiTS19Truth(dir, 0)
	if err != nil || len(truth) != 2 || truth[1].Name != "case_a" || truth[1].Truth.Len() != len(voxels) || truth[1].Truth[0].Label != 2 {
		t.Errorf("labels %d, %v", len(truth), err)
	}
}

// The benchmark has 43 cases; users must make the last one, a copy.
func TestKiTS19BenchmarkCases(t *testing.T) {
	// SHA-256 of the names in meta/inference_cases.json of the reference, line by line.
	const official = "a7f8a117484c14d606616e89ce1f8141f08c5543b736e51fd491894f0b6efa52"
	if names := inferenceCases(); len(names) != 43 || fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(names, "\n")))) != official {
		t.Errorf("cases %v", names)
	}
	dir := kitsFolder(t, "case_00000", "case_00003")
	if d, err := OpenKiTS19(dir, Options{Count: 2}); err != nil || d.Len() != 2 {
		t.Errorf("the first two are there: %v, %v", d, err)
	}
	if _, err := OpenKiTS19(dir, Options{}); err == nil || !strings.Contains(err.Error(), "case_00005: ") || !strings.HasSuffix(err.Error(), "…") {
		t.Errorf("error %v", err)
	}
	if _, err := OpenKiTS19(dir, Options{Count: 44}); err == nil || !strings.Contains(err.Error(), "44 cases are wanted, ") {
		t.Errorf("count 44: error %v", err)
	}
	if c := findRawCase(dir, "case_00400"); !strings.Contains(c.imaging, "case_00185") {
		t.Errorf("the copy of a case is %v", c)
	}
}

func TestKiTS19ReadsPicklesOfTheReference(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "preprocessed_files.pkl", "}(\x8c\tfile_list](\x8c\x01b\x8c\x01ae\x8c\x05cases}\x8c\x01b}\x8c\x0bimage_shape(K\x01K\x80K\x80K\xc0tssu.")
	put(t, dir, "b.pkl", pickled([3]int{128, 128, 192}, 0.25, 1))
	put(t, dir, "a.pkl", pickled([3]int{128, 128, 128}, -2.5, 2))
	d, err := OpenKiTS19(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 2 || d.Shape(0) != [3]int{128, 128, 192} || d.Shape(1) != [3]int{128, 128, 128} || !strings.Contains(d.How(), "preprocess.py") {
		t.Errorf("%d cases of %v and %v; %s", d.Len(), d.Shape(0), d.Shape(1), d.How())
	}
	voxels := make([]float32, 128*128*128)
	if err := d.Image(1, voxels); err != nil || voxels[5] != -2.5 {
		t.Errorf("voxel 5 is %v, %v", voxels[5], err)
	}
	if truth, err := ReadKiTS19Truth(dir, 0); err != nil || truth[0].Truth[0].Label != 1 || truth[0].Name != "b" {
		t.Errorf("labels %v", err)
	}
	put(t, dir, "a.pkl", pickled([3]int{128, 128, 100}, 1, 1))
	if _, err := OpenKiTS19(dir, Options{}); !testenv.Names(err, "100 voxels … 64 … 128") {
		t.Errorf("error %v", err)
	}
}

func TestKiTS19PickleErrors(t *testing.T) {
	const list = "}(\x8c\tfile_list](\x8c\x01be\x8c\x05cases}\x8c\x01b}\x8c\x0bimage_shape](K\x01K\x80K\x80K\xc0essu." // b is 128×128×192
	for _, test := range []struct{ name, file, image, labels string }{
		{"another shape", pickled([3]int{128, 128, 128}, 1, 1), "b.pkl: ", "b: 2097152 labels for a volume of [128 128 192]"},
		{"no list", "}.", "expected a list of image and labels", "expected a list of image and labels"},
		{"one array", "](]e.", "expected a list of image and labels", "expected a list of image and labels"},
		{"lists of numbers", "](]]e.", "expected arrays with one channel", "expected arrays with one channel"},
		{"a dangerous file", "cos\nsystem\n.", "which is refused", "which is refused"},
	} {
		dir := t.TempDir()
		put(t, dir, "preprocessed_files.pkl", list)
		put(t, dir, "b.pkl", test.file)
		d, err := OpenKiTS19(dir, Options{})
		if err != nil || d.Shape(0) != [3]int{128, 128, 192} || d.cases[0].paths()[0] != filepath.Join(dir, "b.pkl") {
			t.Fatalf("%+v, %v", d, err)
		}
		if err := d.Image(0, make([]float32, 128*128*192)); !testenv.Names(err, test.image) {
			t.Errorf("%s: image: error %v, want %q", test.name, err, test.image)
		}
		if _, err := ReadKiTS19Truth(dir, 0); !testenv.Names(err, test.labels) {
			t.Errorf("%s: labels: error %v, want %q", test.name, err, test.labels)
		}
	}
}

func TestKiTS19PickledListErrors(t *testing.T) {
	for list, want := range map[string]string{
		"":                                 "preprocessed_files.pkl: ",
		"<html>":                           "preprocessed_files.pkl: ",
		"}.":                               `expected a dictionary with a list of names "file_list"`,
		"}(\x8c\tfile_listK\x01u.":         `expected a dictionary with a list of names "file_list"`,
		"}(\x8c\tfile_list](K\x01eu.":      `expected a dictionary with a list of names "file_list"`,
		"}(\x8c\tfile_list](\x8c\x01b]eu.": "entry 1 of file_list is ",
	} {
		dir := t.TempDir()
		put(t, dir, "preprocessed_files.pkl", list)
		if _, err := OpenKiTS19(dir, Options{}); !testenv.Names(err, want) || !strings.Contains(err.Error(), "preprocessed_files.pkl: ") {
			t.Errorf("%q: %v, want %q", list, err, want)
		}
	}
}

// An unusable shape in the list is read from the case.
func TestKiTS19UnusableShapeInList(t *testing.T) {
	for _, shape := range []string{"K\x01", "](K\x80K\x80e", "](K\x80K\x80\x8c\x01xe", "](K\x80K\x80K\x81e"} {
		dir := t.TempDir()
		put(t, dir, "preprocessed_files.pkl", "}(\x8c\tfile_list](\x8c\x01be\x8c\x05cases}\x8c\x01b}\x8c\x0bimage_shape"+shape+"ssu.")
		put(t, dir, "b.pkl", pickled([3]int{128, 128, 128}, 1, 1))
		if d, err := OpenKiTS19(dir, Options{}); err != nil || d.Shape(0) != [3]int{128, 128, 128} {
			t.Errorf("%q: %+v, %v", shape, d, err)
		}
	}
}

func TestKiTS19LabelsWithoutVolumes(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "cases.json", `{"file_list":["a","b"],"image_shape":[[1,1,2],[1,1,3]],"target_rle":[[1,2],[0,1,2,2]]}`)
	truth, err := ReadKiTS19Truth(dir, 0)
	if err != nil || len(truth) != 2 || truth[1].Name != "b" || truth[1].Truth.Len() != 3 {
		t.Errorf("labels %+v, %v", truth, err)
	}
	if truth, err := ReadKiTS19Truth(dir, 1); err != nil || len(truth) != 1 {
		t.Errorf("the first case alone: %+v, %v", truth, err)
	}
	put(t, dir, "cases.json", "[]")
	if _, err := ReadKiTS19Truth(dir, 0); err == nil {
		t.Error("cases.json with a list: no error")
	}
}

func TestKiTS19Errors(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string)
		want   string // of opening, or of reading the labels
	}{
		{"an object for a list", func(dir string) { put(t, dir, "inference_cases.json", "{}") }, "inference_cases.json: line 1: "},
		{"an empty list", func(dir string) { put(t, dir, "inference_cases.json", "[]") }, "no cases are listed"},
		{"a case twice", func(dir string) { put(t, dir, "inference_cases.json", `["c","c"]`) }, "c is listed twice"},
		{"a case outside", func(dir string) { put(t, dir, "inference_cases.json", `["../c"]`) }, `"../c", is not the name of a case`},
		{"the folder itself", func(dir string) { put(t, dir, "inference_cases.json", `["."]`) }, `".", is not the name of a case`},
		{"a dangerous list", func(dir string) { put(t, dir, "preprocessed_files.pkl", "cos\nsystem\n.") }, "which is refused"},
		{"no image", func(dir string) { os.Remove(filepath.Join(dir, "c/imaging.nii")) }, "imaging.nii"},
		{"not an image", func(dir string) { put(t, dir, "c/imaging.nii", "<html>") }, "the header of 348 bytes is incomplete"},
		{"labels of another shape", func(dir string) { put(t, dir, "c/segmentation.nii", nifti([3]int{2, 3, 5}, 1)) }, "segmentation.nii has [2 3 5] voxels"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := kitsFolder(t, "c")
			put(t, dir, "inference_cases.json", `["c"]`)
			test.change(dir)
			if _, err := ReadKiTS19Truth(dir, 0); err == nil || !strings.HasPrefix(err.Error(), "opening KiTS19: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
