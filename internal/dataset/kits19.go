package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
)

// KiTS19 is a set of volumes in which 3D-UNet finds kidneys and tumours.
type KiTS19 struct {
	cases       []kitsCase
	how         string
	fingerprint string
}

// A kitsCase is one volume with its labels.
type kitsCase struct {
	name  string
	shape [3]int // of the prepared volume
	kitsFiles
}

// kitsFiles are the files of a case, in one of two forms.
type kitsFiles interface {
	paths() []string
	size() ([3]int, error)     // of the prepared volume
	image(dst []float32) error // fills in the prepared volume
	labels() ([]uint8, error)
}

// OpenKiTS19 opens the data set in a folder that has one of two forms:
//
//   - The output of the reference's preprocess.py: preprocessed_files.pkl and case_00000.pkl
//     and so on.
//   - The data set itself: case_00000/imaging.nii.gz, segmentation.nii.gz and so on; Image prepares
//     the volumes.
//
// The cases are those of inference_cases.json or preprocessed_files.pkl if the folder has
// one, and otherwise the 43 of the benchmark.
func OpenKiTS19(dir string, o Options) (_ *KiTS19, err error) {
	defer opening("KiTS19", &err)
	d := &KiTS19{}
	if path := filepath.Join(dir, "preprocessed_files.pkl"); fileio.Exists(path) {
		d.how = "volumes were prepared by the reference's preprocess.py"
		d.cases, err = readPickledCases(dir, path)
	} else {
		d.how = "volumes are prepared while they are read"
		d.cases, err = listRawCases(dir)
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
	for i := range d.cases {
		c := &d.cases[i]
		var err error
		for _, path := range c.paths() {
			err = errors.Join(err, files.add(c.name, path))
		}
		if err == nil && c.shape == [3]int{} {
			c.shape, err = c.size()
		}
		if err != nil && !files.failed(c.name, err) {
			break
		}
	}
	d.fingerprint, err = files.result()
	return d, err
}

// listRawCases returns the cases of the data set itself.
func listRawCases(dir string) ([]kitsCase, error) {
	names := inferenceCases()
	if path := filepath.Join(dir, "inference_cases.json"); fileio.Exists(path) {
		data, err := fileio.ReadFile(path, maxText)
		if err == nil {
			names = nil
			if err = parseJSON(data, &names); err == nil {
				err = checkNames(names)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var cases []kitsCase
	for _, name := range names {
		cases = append(cases, kitsCase{name: name, kitsFiles: findRawCase(dir, name)})
	}
	return cases, nil
}

// checkNames wants names of files in the folder, each once.
func checkNames(names []string) error {
	seen := make(map[string]bool)
	for i, name := range names {
		if name == "" || name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
			return fmt.Errorf("entry %d, %q, is not the name of a case", i, name)
		}
		if seen[name] {
			return fmt.Errorf("%s is listed twice", name)
		}
		seen[name] = true
	}
	if len(names) == 0 {
		return errors.New("no cases are listed")
	}
	return nil
}

// copiedCase is a copy of case 185 that was added to the benchmark in 2022. Users must make it.
const copiedCase = 400

// inferenceCases are the cases of the benchmark in their order
// (vision/medical_imaging/3d-unet-kits19/meta/inference_cases.json).
func inferenceCases() (names []string) {
	for _, n := range []int{
		0, 3, 5, 6, 12, 24, 34, 41, 44, 49, 52, 56, 61, 65, 66, 70, 76, 78, 80, 84, 86, 87, 92, 111, 112, 125,
		128, 138, 157, 160, 161, 162, 169, 171, 176, 185, 187, 189, 198, 203, 206, 207, copiedCase,
	} {
		names = append(names, caseName(n))
	}
	return names
}

func caseName(n int) string { return fmt.Sprintf("case_%05d", n) }

// Len returns the number of cases.
func (d *KiTS19) Len() int { return len(d.cases) }

// Shape returns the shape of a prepared volume.
func (d *KiTS19) Shape(i int) [3]int { return d.cases[i].shape }

// Image fills in a prepared volume, whose last axis runs fastest.
func (d *KiTS19) Image(i int, dst []float32) error { return d.cases[i].image(dst) }

// How describes the preparation of volumes.
func (d *KiTS19) How() string { return d.how }

// Fingerprint identifies the whole data set by names, sizes and times of its files.
func (d *KiTS19) Fingerprint() string { return d.fingerprint }

// ReadKiTS19Truth reads the labels of the first count cases, or of all if count is 0, of
// the data set in a folder, on the grid of the prepared volumes. In place of the forms of
// OpenKiTS19 the folder may have only a file cases.json (accuracy.ReadKiTSCases).
func ReadKiTS19Truth(dir string, count int) ([]accuracy.KiTSCase, error) {
	if path := filepath.Join(dir, "cases.json"); fileio.Exists(path) {
		f, err := fileio.Open(path)
		if err != nil {
			return nil, fmt.Errorf("opening KiTS19: %w", err)
		}
		defer f.Close()
		truth, err := accuracy.ReadKiTSCases(f)
		if err == nil && count > 0 && count < len(truth) {
			truth = truth[:count]
		}
		return truth, err
	}
	d, err := OpenKiTS19(dir, Options{Count: count})
	if err != nil {
		return nil, err
	}
	truth := make([]accuracy.KiTSCase, d.Len())
	errs := make([]error, d.Len())
	workerpool.Compute(min(runtime.GOMAXPROCS(0), 4), d.Len(), func(i int) { // a volume takes half a gigabyte
		c := d.cases[i]
		labels, err := c.labels()
		if err == nil && len(labels) != c.shape[0]*c.shape[1]*c.shape[2] {
			err = fmt.Errorf("%s: %d labels for a volume of %v", c.name, len(labels), c.shape)
		}
		if errs[i] = err; err == nil {
			truth[i] = accuracy.KiTSCase{Name: c.name, Shape: c.shape[:], Truth: accuracy.EncodeRuns(labels)}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("opening KiTS19: %w", err)
	}
	return truth, nil
}

// A rawCase is a case of the data set itself.
type rawCase struct{ imaging, segmentation string }

func findRawCase(dir, name string) rawCase {
	if name == caseName(copiedCase) && !fileio.Exists(filepath.Join(dir, name)) {
		name = caseName(185)
	}
	dir = filepath.Join(dir, name)
	return rawCase{firstExisting(dir, "imaging.nii.gz", "imaging.nii"), firstExisting(dir, "segmentation.nii.gz", "segmentation.nii")}
}

func (c rawCase) paths() []string { return []string{c.imaging, c.segmentation} }

func (c rawCase) size() ([3]int, error) {
	g, err := volume.ReadGrid(c.imaging)
	if err != nil {
		return [3]int{}, err
	}
	return volume.PreparedShape(g), nil
}

func (c rawCase) image(dst []float32) error {
	v, err := volume.ReadFile(c.imaging)
	if err != nil {
		return err
	}
	if err := volume.PrepareImage(dst, v); err != nil {
		return fmt.Errorf("%s: %w", c.imaging, err)
	}
	return nil
}

func (c rawCase) labels() ([]uint8, error) {
	g, err := volume.ReadGrid(c.imaging)
	if err != nil {
		return nil, err
	}
	v, err := volume.ReadFile(c.segmentation)
	if err != nil {
		return nil, err
	}
	if v.Shape != g.Shape {
		return nil, fmt.Errorf("%s has %v voxels, %s has %v", c.segmentation, v.Shape, c.imaging, g.Shape)
	}
	v.Grid = g // the reference uses the spacing of the image
	labels, err := volume.PrepareLabels(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.segmentation, err)
	}
	return labels, nil
}

// A pickledCase is a case from the reference's preprocess.py: a list of the image
// and the labels, each with an axis of one channel.
type pickledCase struct{ path string }

func (c pickledCase) paths() []string { return []string{c.path} }

// read reads the image (0) or the labels (1).
func (c pickledCase) read(which int) (*pickle.Array, [3]int, error) {
	data, err := fileio.ReadFile(c.path, maxPickle)
	if err != nil {
		return nil, [3]int{}, err
	}
	a, shape, err := parsePickledCase(data, which)
	if err != nil {
		return nil, shape, fmt.Errorf("%s: %w", c.path, err)
	}
	return a, shape, nil
}

func parsePickledCase(data []byte, which int) (*pickle.Array, [3]int, error) {
	var shape [3]int
	v, err := pickle.Read(data)
	if err != nil {
		return nil, shape, err
	}
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return nil, shape, errors.New("expected a list of image and labels")
	}
	a, ok := list[which].(*pickle.Array)
	if !ok || len(a.Shape) != 4 || a.Shape[0] != 1 {
		return nil, shape, errors.New("expected arrays with one channel and three axes")
	}
	copy(shape[:], a.Shape[1:])
	return a, shape, cmp.Or(checkExtent(shape[0]), checkExtent(shape[1]), checkExtent(shape[2]))
}

func (c pickledCase) size() ([3]int, error) {
	_, shape, err := c.read(0)
	return shape, err
}

func (c pickledCase) image(dst []float32) error {
	a, _, err := c.read(0)
	if err != nil {
		return err
	}
	if err := a.Floats(dst); err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	return nil
}

func (c pickledCase) labels() ([]uint8, error) {
	a, _, err := c.read(1)
	if err != nil {
		return nil, err
	}
	labels := make([]uint8, a.Len())
	if err := a.Bytes(labels); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return labels, nil
}

// readPickledCases reads the list of preprocess.py, preprocessed_files.pkl in a folder.
func readPickledCases(dir, path string) ([]kitsCase, error) {
	data, err := fileio.ReadFile(path, maxText)
	if err != nil {
		return nil, err
	}
	cases, err := parsePickledCases(dir, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cases, nil
}

func parsePickledCases(dir string, data []byte) ([]kitsCase, error) {
	v, err := pickle.Read(data)
	if err != nil {
		return nil, err
	}
	d, _ := v.(map[string]any)
	list, ok := d["file_list"].([]any)
	if !ok {
		return nil, errors.New(`expected a dictionary with a list of names "file_list"`)
	}
	infos, _ := d["cases"].(map[string]any)
	var names []string
	var cases []kitsCase
	for i, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("entry %d of file_list is %T: must be a name", i, item)
		}
		c := kitsCase{name: name, kitsFiles: pickledCase{filepath.Join(dir, name+".pkl")}}
		// The shape has an axis of channels in front. Where it is unusable, size reads the case.
		info, _ := infos[name].(map[string]any)
		if shape, _ := info["image_shape"].([]int64); len(shape) > 3 {
			for axis, n := range shape[len(shape)-3:] {
				if checkExtent(int(n)) != nil {
					c.shape = [3]int{}
					break
				}
				c.shape[axis] = int(n)
			}
		}
		names, cases = append(names, name), append(cases, c)
	}
	return cases, checkNames(names)
}

// checkExtent wants a side as the preparation makes it.
func checkExtent(n int) error {
	if n < volume.Window || n%volume.Stride != 0 || n > 1<<14 {
		return fmt.Errorf("a side of %d voxels, expected a multiple of %d from %d", n, volume.Stride, volume.Window)
	}
	return nil
}
