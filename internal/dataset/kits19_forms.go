package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/dataset/pickle"
	"github.com/mlperf-go/mlperf/internal/dataset/volume"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A rawCase is a case as KiTS19 has it.
type rawCase struct{ imaging, segmentation string }

// copied is a case that people have to make themselves, from the one that it is a copy of.
const copied, copiedFrom = "case_00400", "case_00185"

func openRawCase(dir, name string) rawCase {
	if name == copied && !exists(filepath.Join(dir, name)) {
		name = copiedFrom
	}
	find := func(file string) string {
		return firstThere(filepath.Join(dir, name), []string{file + ".nii.gz", file + ".nii"})
	}
	return rawCase{find("imaging"), find("segmentation")}
}

func (c rawCase) files() []string { return []string{c.imaging, c.segmentation} }

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
	v.Grid = g // the reference takes the spacing of the image
	labels, err := volume.PrepareLabels(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.segmentation, err)
	}
	return labels, nil
}

// A pickledCase is a case as the reference's preprocess.py writes it: a list of the image
// and the labels, each with an axis of one channel.
type pickledCase struct{ path string }

func (c pickledCase) files() []string { return []string{c.path} }

// read reads one of the two arrays.
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
		return nil, shape, errors.New("want a list of image and labels")
	}
	a, ok := list[which].(*pickle.Array)
	if !ok || len(a.Shape) != 4 || a.Shape[0] != 1 {
		return nil, shape, errors.New("want arrays with one channel and three axes")
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

// readPickledList reads the order of cases that preprocess.py writes, and their shapes.
func readPickledList(dir, path string) ([]kitsCase, error) {
	data, err := fileio.ReadFile(path, maxList)
	if err != nil {
		return nil, err
	}
	cases, err := parsePickledList(dir, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cases, nil
}

// parsePickledList reads what preprocessed_files.pkl in a folder holds.
func parsePickledList(dir string, data []byte) ([]kitsCase, error) {
	v, err := pickle.Read(data)
	if err != nil {
		return nil, err
	}
	d, _ := v.(map[string]any)
	list, ok := d["file_list"].([]any)
	if !ok {
		return nil, errors.New(`want a dictionary with a list "file_list"`)
	}
	about, _ := d["cases"].(map[string]any)
	var names []string
	var cases []kitsCase
	for i, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("entry %d of file_list is %T, want a name", i, item)
		}
		names = append(names, name)
		cases = append(cases, kitsCase{name, pickledShape(about[name]), pickledCase{filepath.Join(dir, name+".pkl")}})
	}
	return cases, checkNames(names)
}

// pickledShape returns the "image_shape" of a case, without the axis of channels, zeros
// if it is not there.
func pickledShape(about any) (shape [3]int) {
	d, _ := about.(map[string]any)
	extents, _ := d["image_shape"].([]any)
	if len(extents) < len(shape) {
		return shape
	}
	for axis, extent := range extents[len(extents)-len(shape):] {
		n, ok := extent.(int64)
		if !ok || checkExtent(int(n)) != nil {
			return [3]int{}
		}
		shape[axis] = int(n)
	}
	return shape
}

// checkExtent wants what the preparation makes of every side.
func checkExtent(n int) error {
	if n < volume.Window || n%volume.Stride != 0 || n > 1<<14 {
		return fmt.Errorf("a side of %d voxels, want a multiple of %d from %d", n, volume.Stride, volume.Window)
	}
	return nil
}
