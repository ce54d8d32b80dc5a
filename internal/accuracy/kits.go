package accuracy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A KiTSCase is one sample of KiTS19: the ground truth on the grid of the model's input.
type KiTSCase struct {
	Name  string // as case_00000
	Shape []int
	Truth LabelRuns
}

// ReadKiTSCases reads cases from JSON: "file_list" (names), "image_shape" (one shape per
// case) and "target_rle" (one list of label, count, label, count … per case).
func ReadKiTSCases(in Input) ([]KiTSCase, error) {
	var file struct {
		Names  *[]string   `json:"file_list"`
		Shapes *[][]uint64 `json:"image_shape"`
		Truths *[][]uint64 `json:"target_rle"`
	}
	f := newJSONFile(in)
	err := f.value(&file)
	if err == nil {
		err = f.end()
	}
	if err != nil {
		return nil, err
	}
	err = complete(&file)
	if err == nil && (len(*file.Names) != len(*file.Shapes) || len(*file.Names) != len(*file.Truths) || len(*file.Names) == 0) {
		err = fmt.Errorf("%d names, %d shapes and %d targets, want one of each per case", len(*file.Names), len(*file.Shapes), len(*file.Truths))
	}
	if err == nil {
		err = unique("file", *file.Names, func(name string) string { return name })
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	cases := make([]KiTSCase, len(*file.Names))
	for i, name := range *file.Names {
		if cases[i], err = newKiTSCase(name, (*file.Shapes)[i], (*file.Truths)[i]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", in.Name(), name, err)
		}
	}
	return cases, nil
}

// maxVoxels bounds a volume, so that products of shapes and sums of runs cannot overflow.
const maxVoxels = math.MaxInt32

// newKiTSCase returns a case of a shape, and of label, count, label, count ….
func newKiTSCase(name string, shape, runs []uint64) (KiTSCase, error) {
	c, voxels, covered := KiTSCase{Name: name}, uint64(1), uint64(0)
	for _, extent := range shape {
		if extent < 1 || extent > maxVoxels/voxels {
			return c, fmt.Errorf("the shape %v has no voxels, or more than %d", shape, maxVoxels)
		}
		voxels *= extent
		c.Shape = append(c.Shape, int(extent))
	}
	if len(shape) == 0 {
		return c, errors.New("the shape is empty")
	}
	if len(runs)%2 != 0 {
		return c, errors.New("the target ends with a label, want a count after it")
	}
	for run := range slices.Chunk(runs, 2) {
		label, count := run[0], run[1]
		if label > tumor {
			return c, fmt.Errorf("the target has label %d, want 0, 1 or 2", label)
		}
		if count > maxVoxels-covered {
			return c, fmt.Errorf("the target covers more than %d voxels", maxVoxels)
		}
		covered += count
		c.Truth = append(c.Truth, LabelRun{Label: uint8(label), Count: int(count)})
	}
	if covered != voxels {
		return c, fmt.Errorf("target has %d voxels, shape %v has %d", covered, shape, voxels)
	}
	return c, nil
}

// KiTSOptions are the options of accuracy_kits.py.
type KiTSOptions struct {
	// DType is the type of a voxel (--output_dtype), by default uint8. The script also
	// offers float16 and int64, but fails when it stores them as NIfTI: these are errors.
	DType DType
}

// A CaseDice is the result of one case.
type CaseDice struct {
	Case string
	Dice
}

// A KiTSScore is what ScoreKiTS finds. Its first value is "mean", from 0 to 1.
type KiTSScore struct {
	Score
	Cases []CaseDice // in the order of the ground truth
}

// ScoreKiTS scores a log of label volumes as accuracy_kits.py does: every case must be in
// the log exactly once. It holds one volume at a time.
func ScoreKiTS(log Input, truth []KiTSCase, opts KiTSOptions) (*KiTSScore, error) {
	dtype, err := kitsDType(opts.DType)
	if err != nil {
		return nil, err
	}
	score := &KiTSScore{Cases: make([]CaseDice, len(truth))}
	score.Coverage.Samples = len(truth)
	if err := score.read(log, truth, dtype); err != nil {
		return nil, err
	}
	if n := score.Coverage.Scored; n != len(truth) || n == 0 {
		return nil, fmt.Errorf("%s: %d records for %d cases, want one per case", log.Name(), n, len(truth))
	}
	score.describe()
	return score, nil
}

// read fills in the cases that are in a log.
func (s *KiTSScore) read(log Input, truth []KiTSCase, dtype DType) error {
	var labels []uint8
	for rec, err := range Records(log) {
		if err != nil {
			return err
		}
		if rec.QSLIndex >= uint64(len(truth)) {
			return rec.errorf(log, "the ground truth has only %d cases", len(truth))
		}
		c, result := &truth[rec.QSLIndex], &s.Cases[rec.QSLIndex]
		if result.Case != "" {
			return rec.errorf(log, "second record of %s, want one per case", c.Name)
		}
		result.Case = c.Name
		if labels, err = voxelLabels(labels[:0], rec.Data, dtype); err == nil {
			result.Dice, err = kitsDice(labels, c.Truth)
		}
		if err != nil {
			return rec.errorf(log, "%s: %w", c.Name, err)
		}
		s.Coverage.Scored++
	}
	return nil
}

func kitsDType(d DType) (DType, error) {
	d, err := d.check("output_dtype", Uint8, Int8, Int16, Int32, Int64, Float16, Float32, Float64)
	if err == nil && (d == Int64 || d == Float16) {
		err = fmt.Errorf("output_dtype %q: the official script cannot store such volumes as NIfTI; log uint8 labels", string(d))
	}
	return d, err
}

// describe fills in the Score.
func (s *KiTSScore) describe() {
	var composites, kidneys, tumors []float64
	for _, c := range s.Cases {
		composites = append(composites, c.Composite())
		kidneys = append(kidneys, c.Kidney)
		tumors = append(tumors, c.Tumor)
	}
	s.Values = []Value{
		{Name: "mean", Value: mean(composites), Resampled: resampleMean(composites)},
		{Name: "kidney", Value: mean(kidneys)},
		{Name: "tumor", Value: mean(tumors)},
	}
	s.printf("Accuracy: mean = %.5f, kidney = %.4f, tumor = %.4f", s.Values[0].Value, s.Values[1].Value, s.Values[2].Value)
}

// voxelLabels appends the labels in a payload to dst. Floats are cut to integers, as the
// script's conversion to uint8 does; a value that no uint8 holds is an error, where the
// conversion would wrap around.
func voxelLabels(dst, data []byte, dtype DType) ([]uint8, error) {
	if err := dtype.checkPayload(data); err != nil {
		return dst, err
	}
	if dtype == Uint8 {
		return data, nil
	}
	number := numbers(data, dtype)
	for i := range len(data) / dtype.size() {
		v := number(i)
		if !(v > -1 && v < math.MaxUint8+1) {
			return dst, errors.New("voxel " + strconv.Itoa(i) + " has label " + strconv.FormatFloat(v, 'g', -1, 64) + ", want 0, 1 or 2")
		}
		dst = append(dst, uint8(v))
	}
	return dst, nil
}
