package dataset

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
)

// BraTS19 is a set of scans of heads in which 3D-UNet of the rules v0.7 to v1.1 finds tumours.
type BraTS19 struct {
	cases       []bratsCase
	how         string
	fingerprint string
}

// A bratsCase is one scan with its labels.
type bratsCase struct {
	name string
	bratsFiles
	labels labelFile
}

// bratsFiles are the files of a scan, in one of two forms.
type bratsFiles interface {
	paths() []string
	image(dst []float32) error                          // fills in the prepared scan
	place() (shape [3]int, brain volume.Box, err error) // of the images, and of the brain in them
}

// Folders of the reference's Makefile, below its build folder.
const (
	bratsPrepared = "preprocessed_data"
	bratsRaw      = "raw_data/nnUNet_raw_data/Task043_BraTS2019"
)

// bratsList is the file with the names of the cases, where a folder has its own list.
const bratsList = "fold1_validation.txt"

// fold1 has the names of the benchmark's cases (vision/medical_imaging/3d-unet/folds/fold1_validation.txt of v0.7 to v1.1).
//
//go:embed brats_fold1.txt
var fold1 string

// OpenBraTS19 opens the data set in a folder that has one of three forms, or in the folder above it that the reference's Makefile makes:
//
//   - The output of the reference's preprocess.py: preprocessed_files.pkl and HGG__BraTS19_2013_13_1.pkl and so on.
//   - nnU-Net's raw data: imagesTr/HGG__BraTS19_2013_13_1_0000.nii.gz (T1) to _0003.nii.gz and labelsTr/HGG__BraTS19_2013_13_1.nii.gz.
//   - The data set as it is published: HGG/BraTS19_2013_13_1/BraTS19_2013_13_1_t1.nii.gz and so on.
//
// Image prepares the scans of the last two. The cases are those of preprocessed_files.pkl or fold1_validation.txt if the folder has
// one, and otherwise the 67 of the benchmark.
func OpenBraTS19(dir string, o Options) (*BraTS19, error) { return openBraTS19(dir, "", o) }

func openBraTS19(dir, labels string, o Options) (_ *BraTS19, err error) {
	defer opening("BraTS19", &err)
	d := &BraTS19{}
	if list := firstExisting(dir, "preprocessed_files.pkl", bratsPrepared+"/preprocessed_files.pkl"); fileio.Exists(list) {
		d.how = "scans were prepared by the reference's preprocess.py"
		d.cases, err = readPreparedScans(list, labels)
	} else {
		d.how = "scans are prepared while they are read"
		d.cases, err = listRawScans(dir, labels)
	}
	if err != nil {
		return nil, err
	}
	if o.Count > len(d.cases) {
		return nil, fmt.Errorf("%d cases are wanted, %s has %d", o.Count, dir, len(d.cases))
	}
	if o.Count > 0 {
		d.cases = d.cases[:o.Count]
	}
	files := newFileCheck()
	for _, c := range d.cases {
		var err error
		for _, path := range c.paths() {
			err = errors.Join(err, files.add(c.name, path))
		}
		if err != nil && !files.failed(c.name, err) {
			break
		}
	}
	d.fingerprint, err = files.result()
	return d, err
}

// Len returns the number of cases.
func (d *BraTS19) Len() int { return len(d.cases) }

// Image fills in a prepared scan: volume.Modalities volumes of volume.ScanSides, whose last axis runs fastest.
func (d *BraTS19) Image(i int, dst []float32) error { return d.cases[i].image(dst) }

// How describes the preparation of scans.
func (d *BraTS19) How() string { return d.how }

// Fingerprint identifies the whole data set by names, sizes and times of its files.
func (d *BraTS19) Fingerprint() string { return d.fingerprint }

// ReadBraTS19Truth reads the labels of the first count cases, or of all if count is 0. They are in the data set in a folder, or in a
// folder of their own, labels, as NAME.nii.gz.
func ReadBraTS19Truth(dir, labels string, count int) ([]accuracy.BraTSCase, error) {
	d, err := openBraTS19(dir, labels, Options{Count: count})
	if err != nil {
		return nil, err
	}
	truth := make([]accuracy.BraTSCase, d.Len())
	errs := make([]error, d.Len())
	workerpool.Compute(min(runtime.GOMAXPROCS(0), 4), d.Len(), func(i int) { // a scan takes a quarter of a gigabyte
		errs[i] = d.cases[i].truth(&truth[i])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("opening BraTS19: %w", err)
	}
	return truth, nil
}

// truth reads the labels of a case, and where it is.
func (c bratsCase) truth(dst *accuracy.BraTSCase) error {
	shape, brain, err := c.place()
	if err != nil {
		return err
	}
	labels, err := c.labels.read()
	if err != nil {
		return err
	}
	if labels.Shape != shape {
		return fmt.Errorf("%s has %v voxels, the images have %v", c.labels.path, labels.Shape, shape)
	}
	runs, err := c.labels.runs(labels.Data)
	*dst = accuracy.BraTSCase{Name: c.name, Shape: shape, Box: brain, Truth: runs}
	return err
}

// A labelFile has the labels of a case: of nnU-Net 0 to 3, as published 0, 1, 2 and 4, whose 1 and 2 are the other way round
// (Task043_BraTS_2019.py).
type labelFile struct {
	path      string
	published bool
}

func (f labelFile) read() (*volume.Volume, error) { return volume.ReadStored(f.path) }

func (f labelFile) runs(labels []float32) (accuracy.LabelRuns, error) {
	known := []float32{0, 1, 2, 3}
	if f.published {
		known = []float32{0, 2, 1, 4}
	}
	out := make([]uint8, len(labels))
	for i, v := range labels {
		found := false
		for label, k := range known {
			if v == k {
				out[i], found = uint8(label), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: voxel %d has label %v: must be one of %v", f.path, i, v, known)
		}
	}
	return accuracy.EncodeRuns(out), nil
}

// listRawScans returns the cases of nnU-Net's raw data, or of the data set as it is published.
func listRawScans(dir, labels string) ([]bratsCase, error) {
	names := strings.Fields(fold1)
	dir = folderWith(dir, "imagesTr", "", bratsRaw)
	published := !fileio.Exists(filepath.Join(dir, "imagesTr"))
	if published {
		dir = folderWith(dir, "HGG", "", "MICCAI_BraTS_2019_Data_Training")
	}
	if path := filepath.Join(dir, bratsList); fileio.Exists(path) {
		data, err := fileio.ReadFile(path, maxText)
		if err != nil {
			return nil, err
		}
		names = strings.Fields(string(data))
		if err := checkNames(names); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var cases []bratsCase
	for _, name := range names {
		var images [volume.Modalities]string
		c := bratsCase{name: name, labels: labelFile{path: filepath.Join(dir, "labelsTr", name+".nii.gz")}}
		if published {
			grade, scan, _ := strings.Cut(name, "__")
			folder := filepath.Join(dir, grade, scan)
			for m, modality := range [volume.Modalities]string{"t1", "t1ce", "t2", "flair"} {
				images[m] = firstExisting(folder, scan+"_"+modality+".nii.gz", scan+"_"+modality+".nii")
			}
			c.labels = labelFile{firstExisting(folder, scan+"_seg.nii.gz", scan+"_seg.nii"), true}
		} else {
			for m := range images {
				images[m] = filepath.Join(dir, "imagesTr", fmt.Sprintf("%s_%04d.nii.gz", name, m))
			}
		}
		if labels != "" {
			c.labels = labelFile{path: filepath.Join(labels, name+".nii.gz")}
		}
		c.bratsFiles = rawScan{images, c.labels.path}
		cases = append(cases, c)
	}
	return cases, nil
}

// folderWith returns the first of some folders below dir that has an entry of a name, or else dir.
func folderWith(dir, entry string, below ...string) string {
	for _, b := range below {
		if folder := filepath.Join(dir, filepath.FromSlash(b)); fileio.Exists(filepath.Join(folder, entry)) {
			return folder
		}
	}
	return dir
}

// A rawScan has the images of a case, T1, T1 with contrast agent, T2 and FLAIR, and the file of its labels.
type rawScan struct {
	images [volume.Modalities]string
	labels string
}

func (c rawScan) paths() []string { return append(c.images[:len(c.images):len(c.images)], c.labels) }

func (c rawScan) read() (scan []*volume.Volume, err error) {
	for _, path := range c.images {
		v, err := volume.ReadStored(path)
		if err != nil {
			return nil, err
		}
		scan = append(scan, v)
	}
	return scan, nil
}

func (c rawScan) image(dst []float32) error {
	scan, err := c.read()
	if err != nil {
		return err
	}
	if err := volume.PrepareScan(dst, scan); err != nil {
		return fmt.Errorf("%s: %w", c.images[0], err)
	}
	return nil
}

func (c rawScan) place() ([3]int, volume.Box, error) {
	scan, err := c.read()
	if err != nil {
		return [3]int{}, volume.Box{}, err
	}
	brain, err := volume.Brain(scan)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.images[0], err)
	}
	return scan[0].Shape, brain, err
}

// A preparedScan is a case from the reference's preprocess.py: a list of the prepared scan and nnU-Net's properties.
type preparedScan struct{ path string }

func (c preparedScan) paths() []string { return []string{c.path} }

// read reads the scan and its properties.
func (c preparedScan) read() (*pickle.Array, map[string]any, error) {
	data, err := fileio.ReadFile(c.path, maxPickle)
	if err != nil {
		return nil, nil, err
	}
	a, properties, err := parsePreparedScan(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return a, properties, nil
}

func parsePreparedScan(data []byte) (*pickle.Array, map[string]any, error) {
	v, err := pickle.Read(data)
	if err != nil {
		return nil, nil, err
	}
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return nil, nil, errors.New("expected a list of a scan and its properties")
	}
	a, ok := list[0].(*pickle.Array)
	properties, ok2 := list[1].(map[string]any)
	if !ok || !ok2 {
		return nil, nil, errors.New("expected an array and a dictionary")
	}
	if want := append([]int{volume.Modalities}, sides()...); fmt.Sprint(a.Shape) != fmt.Sprint(want) {
		return nil, nil, fmt.Errorf("the scan has shape %v, expected %v", a.Shape, want)
	}
	return a, properties, nil
}

func sides() []int {
	s := volume.ScanSides()
	return s[:]
}

func (c preparedScan) image(dst []float32) error {
	a, _, err := c.read()
	if err != nil {
		return err
	}
	if err := a.Floats(dst); err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	return nil
}

func (c preparedScan) place() (shape [3]int, brain volume.Box, err error) {
	_, properties, err := c.read()
	if err == nil {
		shape, brain, err = placeOf(properties)
		if err != nil {
			err = fmt.Errorf("%s: %w", c.path, err)
		}
	}
	return shape, brain, err
}

// placeOf reads nnU-Net's properties of a case.
func placeOf(properties map[string]any) (shape [3]int, brain volume.Box, err error) {
	if shape, err = threeOf(properties["original_size_of_raw_data"]); err != nil {
		return shape, brain, fmt.Errorf("original_size_of_raw_data: %w", err)
	}
	cropped, err := threeOf(properties["size_after_cropping"])
	if err != nil {
		return shape, brain, fmt.Errorf("size_after_cropping: %w", err)
	}
	list, _ := properties["crop_bbox"].([]any)
	if len(list) != len(brain) {
		return shape, brain, errors.New("crop_bbox: must be three pairs of whole numbers")
	}
	for axis, item := range list {
		pair, _ := item.([]int64)
		if len(pair) != 2 || pair[0] < 0 || pair[0] >= pair[1] || pair[1] > int64(shape[axis]) {
			return shape, brain, fmt.Errorf("crop_bbox: axis %d is %v: must be two places among %d voxels", axis, item, shape[axis])
		}
		brain[axis] = [2]int{int(pair[0]), int(pair[1])}
	}
	if brain.Shape() != cropped {
		return shape, brain, fmt.Errorf("crop_bbox has %v voxels, size_after_cropping says %v", brain.Shape(), cropped)
	}
	return shape, brain, nil
}

// threeOf reads three extents.
func threeOf(v any) (n [3]int, err error) {
	list, _ := v.([]int64)
	if a, ok := v.(*pickle.Array); ok {
		if list, err = a.Integers(); err != nil {
			return n, err
		}
	}
	if len(list) != len(n) {
		return n, errors.New("expected three whole numbers")
	}
	for axis, extent := range list {
		if extent < 1 || extent > 1<<14 {
			return n, fmt.Errorf("an extent is %d", extent)
		}
		n[axis] = int(extent)
	}
	return n, nil
}

// readPreparedScans reads the list of preprocess.py. Labels are in their own folder, beside the list, or where the reference's
// Makefile has them.
func readPreparedScans(path, labels string) ([]bratsCase, error) {
	data, err := fileio.ReadFile(path, maxText)
	if err != nil {
		return nil, err
	}
	names, err := parseScanNames(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	dir := filepath.Dir(path)
	if labels == "" {
		labels = firstExisting(dir, "labelsTr", "../"+bratsRaw+"/labelsTr")
	}
	var cases []bratsCase
	for _, name := range names {
		cases = append(cases, bratsCase{name, preparedScan{filepath.Join(dir, name+".pkl")}, labelFile{path: filepath.Join(labels, name+".nii.gz")}})
	}
	return cases, nil
}

func parseScanNames(data []byte) (names []string, err error) {
	v, err := pickle.Read(data)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("the file has a %T, expected a list of names", v)
	}
	for i, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("entry %d is %T: must be a name", i, item)
		}
		names = append(names, name)
	}
	return names, checkNames(names)
}
