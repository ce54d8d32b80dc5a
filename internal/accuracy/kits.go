package accuracy

import (
	"bytes"
	"fmt"
	"math"
	"slices"
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
		Shapes *[][]int    `json:"image_shape"`
		Truths *[][]uint32 `json:"target_rle"`
	}
	if err := readJSON(in, &file); err != nil {
		return nil, err
	}
	n := len(*file.Names)
	if n == 0 || n != len(*file.Shapes) || n != len(*file.Truths) {
		return nil, fmt.Errorf("%s: %d names, %d shapes and %d targets: must be one of each per case", in.Name(), n, len(*file.Shapes), len(*file.Truths))
	}
	if err := unique("file", *file.Names, func(name string) string { return name }); err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	cases := make([]KiTSCase, n)
	for i, runs := range *file.Truths {
		c := KiTSCase{Name: (*file.Names)[i], Shape: (*file.Shapes)[i]}
		if len(runs)%2 != 0 {
			return nil, fmt.Errorf("%s: %s: the target ends with a label, expected a count after it", in.Name(), c.Name)
		}
		for run := range slices.Chunk(runs, 2) {
			if run[0] > tumor {
				return nil, fmt.Errorf("%s: %s: the target has label %d, expected 0, 1 or 2", in.Name(), c.Name, run[0])
			}
			c.Truth = append(c.Truth, LabelRun{Label: uint8(run[0]), Count: int(run[1])})
		}
		voxels := 1
		for _, extent := range c.Shape {
			voxels *= extent
		}
		if len(c.Shape) == 0 || c.Truth.Len() != voxels {
			return nil, fmt.Errorf("%s: %s: the target has %d voxels, the shape %v has %d", in.Name(), c.Name, c.Truth.Len(), c.Shape, voxels)
		}
		cases[i] = c
	}
	return cases, nil
}

// ScoreKiTS scores a log of label volumes as accuracy_kits.py does: every case must be in
// the log exactly once. It holds one volume at a time. The type of a voxel (--output_dtype) is by default uint8; the script
// also offers float16 and int64, but fails when it stores them as NIfTI: these are errors. The first value is "mean", from 0 to 1.
func ScoreKiTS(log Input, truth []KiTSCase, dtype DType) (*Score, error) {
	dtype, err := dtype.check("output_dtype", uint8s, int8s, int16s, Int32, Int64, Float16, float32s, float64s)
	if err == nil && (dtype == Int64 || dtype == Float16) {
		err = fmt.Errorf("output_dtype %q: the official script cannot store such volumes as NIfTI; log uint8 labels", string(dtype))
	}
	if err != nil {
		return nil, err
	}
	score := &Score{Coverage: Coverage{Samples: len(truth)}}
	composites, kidneys, tumors := make([]float64, len(truth)), make([]float64, len(truth)), make([]float64, len(truth))
	seen := make([]bool, len(truth))
	var labels []uint8
	for rec, err := range Records(log) {
		if err != nil {
			return nil, err
		}
		if rec.QSLIndex >= uint64(len(truth)) {
			return nil, rec.errorf(log, "the ground truth has only %d cases", len(truth))
		}
		i := int(rec.QSLIndex)
		if seen[i] {
			return nil, rec.errorf(log, "second record of %s, expected one per case", truth[i].Name)
		}
		seen[i] = true
		score.Coverage.Scored++
		if labels, err = voxelLabels(labels[:0], rec.Data, dtype); err == nil {
			kidneys[i], tumors[i], err = kitsDice(labels, truth[i].Truth)
		}
		if err != nil {
			return nil, rec.errorf(log, "%s: %w", truth[i].Name, err)
		}
		composites[i] = (kidneys[i] + tumors[i]) / 2
	}
	if n := score.Coverage.Scored; n != len(truth) || n == 0 {
		return nil, fmt.Errorf("%s: %d records for %d cases, expected one per case", log.Name(), n, len(truth))
	}
	m, kidney, tumor := mean(composites), mean(kidneys), mean(tumors)
	score.Values = []Value{{Name: "mean", Value: m, Resampled: resampleMean(composites)}, {Name: "kidney", Value: kidney}, {Name: "tumor", Value: tumor}}
	score.printf("Accuracy: mean = %.5f, kidney = %.4f, tumor = %.4f", m, kidney, tumor)
	return score, nil
}

// voxelLabels appends the labels in a payload to dst. Floats are truncated to integers, as the
// script's conversion to uint8 does; a value that does not fit uint8 is an error, where the
// conversion would wrap around.
func voxelLabels(dst, data []byte, dtype DType) ([]uint8, error) {
	if dtype == uint8s {
		return data, nil
	}
	n, number, err := dtype.numbers(data)
	if err != nil {
		return dst, err
	}
	for i := range n {
		v := number(i)
		if !(v > -1 && v < math.MaxUint8+1) {
			return dst, fmt.Errorf("voxel %d has label %v, expected 0, 1 or 2", i, v)
		}
		dst = append(dst, uint8(v))
	}
	return dst, nil
}

// The labels of KiTS19; 0 is background.
const (
	kidney = 1
	tumor  = 2
)

// A LabelRun is Count voxels of one label in a row.
type LabelRun struct {
	Label uint8
	Count int
}

// LabelRuns is a volume of labels as runs in row-major order. Organs are compact, so
// that a volume of 30 MB takes a few hundred kB.
type LabelRuns []LabelRun

// EncodeRuns makes runs of a volume.
func EncodeRuns(labels []uint8) LabelRuns {
	var runs LabelRuns
	for i, v := range labels {
		if i == 0 || v != labels[i-1] {
			runs = append(runs, LabelRun{Label: v})
		}
		runs[len(runs)-1].Count++
	}
	return runs
}

// Len returns the number of voxels.
func (r LabelRuns) Len() int {
	n := 0
	for _, run := range r {
		n += run.Count
	}
	return n
}

// kitsDice compares a predicted volume with the truth as accuracy_kits.py does
// (get_dice_score): the Dice coefficients of kidney and tumour, from 0 to 1. A
// tumour is not part of the kidney. A class that is in neither volume has Dice 1.
func kitsDice(prediction []uint8, truth LabelRuns) (kidneyDice, tumorDice float64, err error) {
	if n := truth.Len(); n != len(prediction) {
		return 0, 0, fmt.Errorf("prediction has %d voxels, the ground truth %d", len(prediction), n)
	}
	if i := slices.IndexFunc(prediction, func(label uint8) bool { return label > tumor }); i >= 0 {
		return 0, 0, fmt.Errorf("voxel %d has label %d, expected 0, 1 or 2", i, prediction[i])
	}
	var predicted, wanted, both [tumor + 1]int
	at := 0
	for _, run := range truth {
		if run.Label > tumor {
			return 0, 0, fmt.Errorf("voxel %d of the ground truth has label %d, expected 0, 1 or 2", at, run.Label)
		}
		wanted[run.Label] += run.Count
		for _, label := range []uint8{kidney, tumor} {
			n := bytes.Count(prediction[at:at+run.Count], []byte{label})
			if predicted[label] += n; label == run.Label {
				both[label] += n
			}
		}
		at += run.Count
	}
	return dice(both[kidney], wanted[kidney], predicted[kidney]), dice(both[tumor], wanted[tumor], predicted[tumor]), nil
}

// dice is the coefficient with the smoothing of the reference (smooth_nr, smooth_dr).
func dice(both, wanted, predicted int) float64 {
	const smooth = 1e-6
	return (2*float64(both) + smooth) / (float64(wanted) + float64(predicted) + smooth)
}
