package accuracy

import (
	"errors"
	"fmt"
	"math"
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
	s := newScanner(in)
	var names []string
	var shapes [][]int
	var truths []LabelRuns
	err := s.fields([]string{"file_list", "image_shape", "target_rle"}, 3, func(section int) (err error) {
		switch section {
		case 0:
			names, err = readSection(s, "file", s.string)
		case 1:
			shapes, err = readSection(s, "shape", s.shape)
		case 2:
			truths, err = readSection(s, "target", s.labelRuns)
		}
		return err
	})
	if err == nil {
		err = s.atEnd()
	}
	if err != nil {
		return nil, err
	}
	cases, err := joinCases(names, shapes, truths)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	return cases, nil
}

func joinCases(names []string, shapes [][]int, truths []LabelRuns) ([]KiTSCase, error) {
	if len(names) != len(shapes) || len(names) != len(truths) || len(names) == 0 {
		return nil, fmt.Errorf("%d names, %d shapes and %d targets, want one of each per case", len(names), len(shapes), len(truths))
	}
	if err := unique("file", names, func(name string) string { return name }); err != nil {
		return nil, err
	}
	cases := make([]KiTSCase, len(names))
	for i, name := range names {
		cases[i] = KiTSCase{name, shapes[i], truths[i]}
		if want, got := cases[i].voxels(), truths[i].Len(); want != got {
			return nil, fmt.Errorf("%s: target has %d voxels, shape %v has %d", name, got, shapes[i], want)
		}
	}
	return cases, nil
}

// voxels returns the product of the shape.
func (c *KiTSCase) voxels() int {
	n := 1
	for _, extent := range c.Shape {
		n *= extent
	}
	return n
}

// maxVoxels bounds a volume, so that products of shapes and sums of runs cannot overflow.
const maxVoxels = math.MaxInt32

func (s *scanner) shape() ([]int, error) {
	var shape []int
	voxels := uint64(1)
	err := s.array(func(int) error {
		v, err := s.uint("extent")
		if err == nil && (v < 1 || v > maxVoxels/voxels) {
			err = s.invalid("extent before this is %d, want at least 1 and at most %d voxels in all", v, maxVoxels)
		}
		if err == nil {
			voxels *= v
			shape = append(shape, int(v))
		}
		return err
	})
	if err == nil && len(shape) == 0 {
		err = s.invalid("shape before this is empty")
	}
	return shape, err
}

// labelRuns reads label, count, label, count …
func (s *scanner) labelRuns() (LabelRuns, error) {
	var runs LabelRuns
	whole, voxels := true, uint64(0)
	err := s.array(func(i int) error {
		v, err := s.uint("run")
		switch {
		case err != nil:
			return err
		case i%2 == 0 && v > tumor:
			return s.invalid("label before this is %d, want 0, 1 or 2", v)
		case i%2 == 1 && v > maxVoxels-voxels:
			return s.invalid("runs before this cover more than %d voxels", maxVoxels)
		case i%2 == 0:
			runs = append(runs, LabelRun{Label: uint8(v)})
		default:
			runs[len(runs)-1].Count = int(v)
			voxels += v
		}
		whole = i%2 == 1
		return nil
	})
	if err == nil && !whole {
		err = s.invalid("target before this ends with a label, want a count after it")
	}
	return runs, err
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
