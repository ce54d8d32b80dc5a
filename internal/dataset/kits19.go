package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// KiTS19 is a set of volumes on which 3D-UNet finds kidneys and tumours.
type KiTS19 struct {
	cases       []kitsCase
	how         string
	fingerprint string
}

// A kitsCase is one volume with its labels.
type kitsCase struct {
	name  string
	shape [3]int // of the prepared volume
	kitsForm
}

// A kitsForm is one of the forms in which volumes lie on disk.
type kitsForm interface {
	files() []string
	// size returns the shape of the prepared volume.
	size() ([3]int, error)
	// image fills in the prepared volume.
	image(dst []float32) error
	labels() ([]uint8, error)
}

// OpenKiTS19 opens the data set in a folder that has one of two forms:
//
//   - What the reference's preprocess.py writes: preprocessed_files.pkl and case_00000.pkl
//     and so on.
//   - The data set itself: case_00000/imaging.nii.gz, segmentation.nii.gz and so on, which
//     is prepared while it is read.
//
// The cases are those of inference_cases.json or preprocessed_files.pkl if the folder has
// one, and otherwise the 43 of the benchmark.
func OpenKiTS19(dir string, o Options) (*KiTS19, error) {
	d, err := openKiTS19(dir, o.Count)
	if err != nil {
		return nil, fmt.Errorf("opening KiTS19: %w", err)
	}
	return d, nil
}

func openKiTS19(dir string, count int) (*KiTS19, error) {
	d := &KiTS19{}
	var err error
	if path := filepath.Join(dir, preprocessedList); exists(path) {
		d.how = "volumes were prepared by the reference's preprocess.py"
		d.cases, err = readPickledList(dir, path)
	} else {
		d.how = "volumes are prepared while they are read"
		d.cases, err = listRawCases(dir)
	}
	if err != nil {
		return nil, err
	}
	if count > len(d.cases) {
		return nil, fmt.Errorf("%d cases are wanted, there are %d", count, len(d.cases))
	}
	if count > 0 {
		d.cases = d.cases[:count]
	}
	return d, d.check(dir)
}

// check wants all files to be there, and finds out what is not known of their shapes.
func (d *KiTS19) check(dir string) error {
	files := newFileCheck()
	for i := range d.cases {
		c := &d.cases[i]
		var err error
		for _, path := range c.files() {
			err = errors.Join(err, files.add(c.name, path))
		}
		if err == nil && c.shape == [3]int{} {
			c.shape, err = c.size()
		}
		if err != nil && !files.failed(c.name, err) {
			break
		}
	}
	d.fingerprint = files.fingerprint()
	return files.err()
}

// The files that list the cases.
const (
	preprocessedList = "preprocessed_files.pkl"
	casesList        = "inference_cases.json"
)

// listRawCases returns the cases that are in a folder as KiTS19 has them.
func listRawCases(dir string) ([]kitsCase, error) {
	names := inferenceCases()
	if path := filepath.Join(dir, casesList); exists(path) {
		data, err := fileio.ReadFile(path, maxList)
		if err != nil {
			return nil, err
		}
		if names, err = parseCaseNames(data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var cases []kitsCase
	for _, name := range names {
		cases = append(cases, kitsCase{name: name, kitsForm: openRawCase(dir, name)})
	}
	return cases, nil
}

// parseCaseNames reads what inference_cases.json holds.
func parseCaseNames(data []byte) ([]string, error) {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, fmt.Errorf("want a list of names of cases: %w", err)
	}
	return names, checkNames(names)
}

// isCase reports whether a name can be that of a file in the folder.
func isCase(name string) bool {
	return name != "" && name != "." && filepath.IsLocal(name) && filepath.Base(name) == name
}

// checkNames wants names of files in the folder, each once.
func checkNames(names []string) error {
	seen := make(map[string]bool)
	for i, name := range names {
		if !isCase(name) {
			return fmt.Errorf("name %d, %q, is not one of a case", i, name)
		}
		if seen[name] {
			return fmt.Errorf("%s is listed twice", name)
		}
		seen[name] = true
	}
	if len(names) == 0 {
		return errors.New("lists no case")
	}
	return nil
}

// inferenceCases are the cases of the benchmark in their order
// (vision/medical_imaging/3d-unet-kits19/meta/inference_cases.json). The last one is a
// copy of case 185 that was added in 2022.
func inferenceCases() []string {
	var names []string
	for _, n := range []int{
		0, 3, 5, 6, 12, 24, 34, 41, 44, 49, 52, 56, 61, 65, 66, 70, 76, 78, 80, 84, 86, 87, 92, 111, 112, 125,
		128, 138, 157, 160, 161, 162, 169, 171, 176, 185, 187, 189, 198, 203, 206, 207, 400,
	} {
		names = append(names, fmt.Sprintf("case_%05d", n))
	}
	return names
}

// Len is the number of cases.
func (d *KiTS19) Len() int { return len(d.cases) }

// Shape is the shape of a prepared volume.
func (d *KiTS19) Shape(i int) [3]int { return d.cases[i].shape }

// Image fills in a prepared volume, of which the last axis runs fastest.
func (d *KiTS19) Image(i int, dst []float32) error { return d.cases[i].image(dst) }

// How says in words where prepared volumes come from.
func (d *KiTS19) How() string { return d.how }

// Fingerprint names the content of the whole data set, as far as names, sizes and times
// of the files tell it.
func (d *KiTS19) Fingerprint() string { return d.fingerprint }

// goldenCases is a list of cases with their labels, in the place of a data set: a shape and
// runs of labels for each.
const goldenCases = "cases.json"

// ReadKiTS19Truth reads the labels of the first count cases, or of all if count is 0, of
// the data set in a folder, on the grid of the prepared volumes. Besides the forms of
// OpenKiTS19 there may be nothing but a file cases.json (accuracy.ReadKiTSCases).
func ReadKiTS19Truth(dir string, count int) ([]accuracy.KiTSCase, error) {
	if path := filepath.Join(dir, goldenCases); exists(path) {
		return readGoldenCases(path, count)
	}
	d, err := OpenKiTS19(dir, Options{Count: count})
	if err != nil {
		return nil, err
	}
	truth := make([]accuracy.KiTSCase, d.Len())
	errs := make([]error, d.Len())
	workerpool.Compute(min(runtime.GOMAXPROCS(0), mostAtOnce), d.Len(), func(i int) {
		truth[i], errs[i] = d.cases[i].truth()
	})
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("opening KiTS19: %w", err)
	}
	return truth, nil
}

// mostAtOnce bounds how many volumes are in memory while labels are read: half a gigabyte
// each.
const mostAtOnce = 4

func (c *kitsCase) truth() (accuracy.KiTSCase, error) {
	labels, err := c.labels()
	if err == nil && len(labels) != c.shape[0]*c.shape[1]*c.shape[2] {
		err = fmt.Errorf("%s: there are %d labels for a volume of %v", c.name, len(labels), c.shape)
	}
	if err != nil {
		return accuracy.KiTSCase{}, err
	}
	return accuracy.KiTSCase{Name: c.name, Shape: c.shape[:], Truth: accuracy.EncodeRuns(labels)}, nil
}

func readGoldenCases(path string, count int) ([]accuracy.KiTSCase, error) {
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
