package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// bratsSides are the sides of a prepared volume of BraTS.
func bratsSides() [3]int { return [3]int{224, 224, 160} }

// bratsClasses is how many scores a voxel has: background, oedema, non-enhancing and enhancing tumour.
const bratsClasses = 4

// A BraTSCase is one sample of BraTS: the ground truth on the grid of the images, and where the prepared volume is in it.
type BraTSCase struct {
	Name  string
	Shape [3]int    // of the images
	Box   [3][2]int // of the brain: the first voxel along each axis, and the one behind the last
	Truth LabelRuns // 0 to 3
}

// tumourRegions are the labels of the regions that are scored, from a label up (nnU-Net, get_brats_regions).
var tumourRegions = []struct {
	name  string
	first uint8
}{{"whole tumor", 1}, {"tumor core", 2}, {"enhancing tumor", 3}}

// ScoreBraTS scores a log of scores of voxels as accuracy-brats.py does: every case must be in the log exactly once. It takes the
// padding away, gives each voxel the class of the highest score, as a float16, and compares regions with the ground truth. A
// region that is in neither volume does not count. The type of a score (--output_dtype) is by default float16. The first
// value is "mean", from 0 to 1: that of the three means as the script writes them to a file, with four digits. It is NaN, as
// there, if a region is in no volume of all cases; the second value is the mean of the other regions.
func ScoreBraTS(log Input, truth []BraTSCase, dtype DType) (*Score, error) {
	dtype, err := dtype.check("output_dtype", Float16, int8s, int16s, Int32, Int64, float32s, float64s)
	if err != nil {
		return nil, err
	}
	score := &Score{Coverage: Coverage{Samples: len(truth)}}
	dices := make([][]float64, len(truth)) // of the regions of each case
	for rec, err := range Records(log) {
		if err != nil {
			return nil, err
		}
		if rec.QSLIndex >= uint64(len(truth)) {
			return nil, rec.errorf(log, "the ground truth has only %d cases", len(truth))
		}
		c := &truth[rec.QSLIndex]
		if dices[rec.QSLIndex] != nil {
			return nil, rec.errorf(log, "second record of %s, expected one per case", c.Name)
		}
		score.Coverage.Scored++
		if dices[rec.QSLIndex], err = c.dices(rec.Data, dtype); err != nil {
			return nil, rec.errorf(log, "%s: %w", c.Name, err)
		}
	}
	if n := score.Coverage.Scored; n != len(truth) || n == 0 {
		return nil, fmt.Errorf("%s: %d records for %d cases, expected one per case", log.Name(), n, len(truth))
	}
	// The script's file is sorted by the names of the cases.
	order := make([]int, len(truth))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(truth[a].Name, truth[b].Name) })
	total, printed := 0.0, make([]float64, len(tumourRegions))
	for r, region := range tumourRegions {
		var list []float64
		for _, i := range order {
			list = append(list, dices[i][r])
		}
		printed[r], _ = strconv.ParseFloat(strconv.FormatFloat(meanOfNumbers(list), 'f', 4, 64), 64)
		total += printed[r]
		if math.IsNaN(printed[r]) {
			score.warnf("%s is in no case, neither in the ground truth nor in the answers: its score and the mean are undefined", region.name)
		}
	}
	score.Values = []Value{
		{Name: "mean", Value: total / float64(len(tumourRegions)), Resampled: resampleRegions(dices)},
		{Name: "mean of present regions", Value: meanOfNumbers(printed)},
	}
	for r, region := range tumourRegions {
		score.Values = append(score.Values, Value{Name: region.name, Value: printed[r]})
	}
	format := func(v float64, digits int) string { return strings.ToLower(strconv.FormatFloat(v, 'f', digits, 64)) } // nan, as in Python
	score.printf("Accuracy: mean = %s, whole tumor = %s, tumor core = %s, enhancing tumor = %s",
		format(score.Values[0].Value, 5), format(printed[0], 4), format(printed[1], 4), format(printed[2], 4))
	return score, nil
}

// resampleRegions is resample for the mean of the means of regions, which some cases do not have.
func resampleRegions(dices [][]float64) []float64 {
	parts := make([][]float64, len(dices))
	for i, regions := range dices {
		for _, v := range regions {
			if math.IsNaN(v) {
				parts[i] = append(parts[i], 0, 0)
			} else {
				parts[i] = append(parts[i], v, 1)
			}
		}
	}
	return resampleSums(parts, 2*len(tumourRegions), func(sums []float64) float64 {
		total := 0.0
		for r := range tumourRegions {
			total += sums[2*r] / sums[2*r+1]
		}
		return total / float64(len(tumourRegions))
	})
}

// meanOfNumbers is numpy.nanmean.
func meanOfNumbers(v []float64) float64 {
	n := 0
	numbers := slices.Clone(v)
	for i, x := range v {
		if n++; math.IsNaN(x) {
			n--
			numbers[i] = 0
		}
	}
	return tensor.Sum(numbers) / float64(n)
}

// Labels returns the labels of all voxels of the images for the scores of a prepared volume: 0 outside the brain, and otherwise the
// class of the highest score.
func (c *BraTSCase) Labels(scores []byte, dtype DType) ([]uint8, error) {
	sides := bratsSides()
	voxels := sides[0] * sides[1] * sides[2]
	ranks, err := halfRanks(scores, dtype)
	if err != nil {
		return nil, err
	}
	if len(ranks) != bratsClasses*voxels {
		return nil, fmt.Errorf("the payload has %d scores, expected %d for each of %v voxels", len(ranks), bratsClasses, sides)
	}
	var pad [3]int // before the brain
	for axis, side := range c.Box {
		n := side[1] - side[0]
		if side[0] < 0 || n < 1 || side[1] > c.Shape[axis] || n > sides[axis] {
			return nil, fmt.Errorf("the brain is from %d to %d of %d voxels along axis %d, and the model sees at most %d", side[0], side[1],
				c.Shape[axis], axis, sides[axis])
		}
		pad[axis] = (sides[axis] - n) / 2
	}
	labels := make([]uint8, c.Shape[0]*c.Shape[1]*c.Shape[2])
	for z := range c.Box[0][1] - c.Box[0][0] {
		for y := range c.Box[1][1] - c.Box[1][0] {
			row := labels[((c.Box[0][0]+z)*c.Shape[1]+c.Box[1][0]+y)*c.Shape[2]:][c.Box[2][0]:c.Box[2][1]]
			at := ((pad[0]+z)*sides[1]+pad[1]+y)*sides[2] + pad[2]
			for x := range row {
				best := ranks[at+x]
				for class := 1; class < bratsClasses; class++ {
					if rank := ranks[class*voxels+at+x]; rank > best { // the first of equals counts
						best, row[x] = rank, uint8(class)
					}
				}
			}
		}
	}
	return labels, nil
}

// dices returns the Dice coefficients of the regions for the scores of a case; NaN: the region is in neither volume.
func (c *BraTSCase) dices(scores []byte, dtype DType) ([]float64, error) {
	labels, err := c.Labels(scores, dtype)
	if err != nil {
		return nil, err
	}
	if n := c.Truth.Len(); n != len(labels) {
		return nil, fmt.Errorf("the ground truth has %d voxels, the images have %d", n, len(labels))
	}
	var counts [bratsClasses][bratsClasses]int // of voxels, by the label of the truth and that of the model
	at := 0
	for _, run := range c.Truth {
		if run.Label >= bratsClasses {
			return nil, fmt.Errorf("the ground truth has label %d, expected 0 to %d", run.Label, bratsClasses-1)
		}
		of := &counts[run.Label]
		for _, label := range labels[at : at+run.Count] {
			of[label]++
		}
		at += run.Count
	}
	var dices []float64
	for _, region := range tumourRegions {
		wanted, predicted, both := 0, 0, 0
		for truth := range counts {
			for label, n := range counts[truth] {
				inTruth, inLabels := truth >= int(region.first), label >= int(region.first)
				if inTruth {
					wanted += n
				}
				if inLabels {
					predicted += n
				}
				if inTruth && inLabels {
					both += n
				}
			}
		}
		dices = append(dices, 2*float64(both)/float64(wanted+predicted)) // 0/0 is NaN
	}
	return dices, nil
}

// halfRanks returns the order of the numbers of a payload as float16: equal numbers have equal ranks, and NaN has the highest, as
// in numpy.argmax.
func halfRanks(payload []byte, dtype DType) ([]int16, error) {
	n, number, err := dtype.numbers(payload)
	if err != nil {
		return nil, err
	}
	table := rankTable()
	ranks := make([]int16, n)
	for i := range ranks {
		if dtype == Float16 {
			ranks[i] = table[uint16(payload[2*i])|uint16(payload[2*i+1])<<8]
		} else {
			ranks[i] = table[toFloat16(number(i))]
		}
	}
	return ranks, nil
}

// rankTable has the rank of each float16.
var rankTable = sync.OnceValue(func() *[1 << 16]int16 {
	const infinity = 0x7c00
	table := new([1 << 16]int16)
	for bits := range table {
		size := bits & 0x7fff
		switch {
		case size > infinity:
			table[bits] = math.MaxInt16
		case bits == size:
			table[bits] = int16(size)
		default:
			table[bits] = int16(-size) // that of -0 is that of 0
		}
	}
	return table
})

// toFloat16 returns the nearest float16, of two that are as near the even one.
func toFloat16(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign = 0x8000
	}
	size := math.Abs(v)
	switch {
	case v != v:
		return sign | 0x7e00
	case size >= 65520: // halfway between the largest and what would follow it
		return sign | 0x7c00
	case size < 0x1p-14:
		return sign | uint16(math.RoundToEven(size*0x1p24))
	}
	fraction, exponent := math.Frexp(size)                                         // from 1/2 to 1
	return sign | uint16((exponent+13)<<10+int(math.RoundToEven(fraction*0x1p11))) // a carry goes into the exponent
}
