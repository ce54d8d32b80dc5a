package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
)

// head returns a NIfTI file of x×y×z voxels of 1 mm: 0, and a number from one place on.
func head(shape [3]int, first int, value uint8) string {
	h := []byte(nifti(shape, value))
	for axis := range 3 {
		binary.LittleEndian.PutUint32(h[80+4*axis:], math.Float32bits(1))
	}
	clear(h[352:][:first])
	return string(h)
}

// preparedPickle is a case of the reference's preprocess.py, all of one number, with some of nnU-Net's properties.
func preparedPickle(value float32, properties string) string {
	array := func(shape, code, data string) string {
		return "cnumpy.core.multiarray\n_reconstruct\n)R(K\x01(" + shape +
			"tcnumpy\ndtype\n\x8c\x02" + code + "\x85R\x89B" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(data)))) + data + "tb"
	}
	floats := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(value)), volume.Modalities*224*224*160)
	size := "" // of the images: 5×6×7
	for _, n := range []uint64{5, 6, 7} {
		size += string(binary.LittleEndian.AppendUint64(nil, n))
	}
	return "\x80\x03](" + array("K\x04K\xe0K\xe0K\xa0", "f4", string(floats)) + "ccollections\nOrderedDict\n)R(" +
		"\x8c\x19original_size_of_raw_data" + array("K\x03", "i8", size) + properties + "ue."
}

const (
	croppedSize = "\x8c\x13size_after_croppingK\x03K\x04K\x05\x87"
	cropBox     = "\x8c\x09crop_bbox](](K\x01K\x04e](K\x02K\x06e](K\x00K\x05ee"
)

func TestBraTS19Forms(t *testing.T) {
	const name = "HGG__BraTS19_X_1"
	image := head([3]int{7, 6, 5}, 42+6, 9) // the brain begins in slice 1
	forms := map[string]func(dir string){
		"nnU-Net": func(dir string) {
			for m := range 4 {
				put(t, dir, fmt.Sprintf("imagesTr/%s_%04d.nii.gz", name, m), image)
			}
			put(t, dir, "labelsTr/"+name+".nii.gz", head([3]int{7, 6, 5}, 84, 1))
			put(t, dir, "fold1_validation.txt", name+"\n")
		},
		"as published": func(dir string) {
			for _, m := range []string{"t1", "t1ce", "t2", "flair"} {
				put(t, dir, "HGG/BraTS19_X_1/BraTS19_X_1_"+m+".nii.gz", image)
			}
			put(t, dir, "HGG/BraTS19_X_1/BraTS19_X_1_seg.nii", head([3]int{7, 6, 5}, 84, 2)) // oedema
			put(t, dir, "fold1_validation.txt", name+"\n")
		},
		"the reference's folder": func(dir string) {
			put(t, dir, "preprocessed_data/preprocessed_files.pkl", "]\x8c\x10"+name+"a.")
			put(t, dir, "preprocessed_data/"+name+".pkl", preparedPickle(2.5, "\x8c\x13size_after_croppingK\x04K\x06K\x07\x87\x8c\x09crop_bbox](](K\x01K\x05e](K\x00K\x06e](K\x00K\x07ee"))
			put(t, dir, bratsRaw+"/labelsTr/"+name+".nii.gz", head([3]int{7, 6, 5}, 84, 1))
		},
	}
	want := accuracy.BraTSCase{Name: name, Shape: [3]int{5, 6, 7}, Box: volume.Box{{1, 5}, {0, 6}, {0, 7}}, Truth: accuracy.LabelRuns{{Label: 0, Count: 84}, {Label: 1, Count: 126}}}
	for form, write := range forms {
		t.Run(form, func(t *testing.T) {
			dir := t.TempDir()
			write(dir)
			d, err := OpenBraTS19(dir, Options{})
			if err != nil || d.Len() != 1 {
				t.Fatalf("%v, want one case", err)
			}
			dst := make([]float32, volume.Modalities*224*224*160)
			if err := d.Image(0, dst); err != nil {
				t.Fatal(err)
			}
			truth, err := ReadBraTS19Truth(dir, "", 0)
			if err != nil || fmt.Sprint(truth) != fmt.Sprint([]accuracy.BraTSCase{want}) {
				t.Errorf("truth %+v, %v, want %+v", truth, err, want)
			}
			if form == "the reference's folder" {
				if dst[len(dst)-1] != 2.5 {
					t.Errorf("the last number is %v, want 2.5", dst[len(dst)-1])
				}
				labels := t.TempDir()
				if _, err := ReadBraTS19Truth(dir, labels, 0); err == nil || !strings.Contains(err.Error(), filepath.Join(labels, name+".nii.gz")) {
					t.Errorf("labels in a folder of their own: %v", err)
				}
			}
		})
	}
}

func TestBraTS19Benchmark(t *testing.T) {
	_, err := OpenBraTS19(t.TempDir(), Options{})
	if err == nil || !strings.Contains(err.Error(), "HGG__BraTS19_2013_13_1: ") {
		t.Errorf("an empty folder: %v", err)
	}
	_, err = OpenBraTS19(t.TempDir(), Options{Count: 68})
	if err == nil || !strings.Contains(err.Error(), "68 cases are wanted, ") || !strings.Contains(err.Error(), "has 67") {
		t.Errorf("68 cases: %v", err)
	}
}

func TestLabelsOfBraTS(t *testing.T) {
	if runs, err := (labelFile{path: "x", published: true}).runs([]float32{0, 1, 2, 4, 4}); err != nil || fmt.Sprint(runs) != "[{0 1} {2 1} {1 1} {3 2}]" {
		t.Errorf("published labels become %v, %v", runs, err)
	}
	for _, c := range []struct {
		published bool
		label     float32
	}{{false, 4}, {true, 3}, {false, 0.5}, {true, -1}, {false, float32(math.NaN())}} {
		if _, err := (labelFile{path: "x", published: c.published}).runs([]float32{0, c.label}); err == nil || !strings.Contains(err.Error(), "x: voxel 1 has label ") {
			t.Errorf("label %v: %v", c.label, err)
		}
	}
}

func TestPropertiesOfScans(t *testing.T) {
	for want, properties := range map[string]string{
		"":                                    croppedSize + cropBox,
		"size_after_cropping: expected three": cropBox,
		"crop_bbox: must be three pairs":      croppedSize,
		"crop_bbox has [3 4 5] voxels, size_after_cropping says [3 4 6]": strings.Replace(croppedSize, "K\x05", "K\x06", 1) + cropBox,
		"crop_bbox: axis 2 is [0 9]":                                     croppedSize + strings.Replace(cropBox, "K\x00K\x05", "K\x00K\x09", 1),
	} {
		_, p, err := parsePreparedScan([]byte(preparedPickle(1, properties)))
		if err != nil {
			t.Fatal(err)
		}
		shape, box, err := placeOf(p)
		if want == "" && (err != nil || shape != [3]int{5, 6, 7} || box != volume.Box{{1, 4}, {2, 6}, {0, 5}}) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%v of %v, %v, want %q", box, shape, err, want)
		}
	}
	for _, bad := range []string{"]K\x01a.", "](K\x01K\x02e.", "}."} {
		if _, _, err := parsePreparedScan([]byte(bad)); err == nil {
			t.Errorf("%q is a scan", bad)
		}
	}
	for _, bad := range []string{"}.", "]K\x01a.", "]\x8c\x03../a.", "]."} {
		if _, err := parseScanNames([]byte(bad)); err == nil {
			t.Errorf("%q is a list", bad)
		}
	}
}
