package accuracy

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// The labels of KiTS19.
const (
	background = 0
	kidney     = 1
	tumor      = 2
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

// Decode returns the volume voxel by voxel.
func (r LabelRuns) Decode() []uint8 {
	labels := make([]uint8, 0, r.Len())
	for _, run := range r {
		for range run.Count {
			labels = append(labels, run.Label)
		}
	}
	return labels
}

// Dice holds the Dice coefficients of one volume, from 0 to 1.
type Dice struct{ Kidney, Tumor float64 }

// Composite returns the mean of the two.
func (d Dice) Composite() float64 { return (d.Kidney + d.Tumor) / 2 }

// kitsDice compares a predicted volume with the truth as accuracy_kits.py does
// (get_dice_score). The labels are 0 for background, 1 for kidney, 2 for tumour; a
// tumour is not part of the kidney. A class that is in neither volume has Dice 1.
func kitsDice(prediction []uint8, truth LabelRuns) (Dice, error) {
	if n := truth.Len(); n != len(prediction) {
		return Dice{}, fmt.Errorf("prediction has %d voxels, the ground truth %d", len(prediction), n)
	}
	var predicted, wanted, both [tumor + 1]int
	at := 0
	for _, run := range truth {
		if run.Label > tumor {
			return Dice{}, fmt.Errorf("voxel %d of the ground truth has label %d, want 0, 1 or 2", at, run.Label)
		}
		kidneys, tumors, bad := countLabels(prediction[at : at+run.Count])
		if bad >= 0 {
			return Dice{}, fmt.Errorf("voxel %d has label %d, want 0, 1 or 2", at+bad, prediction[at+bad])
		}
		found := [tumor + 1]int{kidney: kidneys, tumor: tumors}
		predicted[kidney] += kidneys
		predicted[tumor] += tumors
		wanted[run.Label] += run.Count
		both[run.Label] += found[run.Label]
		at += run.Count
	}
	return Dice{dice(both[kidney], wanted[kidney], predicted[kidney]), dice(both[tumor], wanted[tumor], predicted[tumor])}, nil
}

// dice is the coefficient with the smoothing of the reference (smooth_nr, smooth_dr).
func dice(both, wanted, predicted int) float64 {
	const smooth = 1e-6
	return (2*float64(both) + smooth) / (float64(wanted) + float64(predicted) + smooth)
}

// countLabels counts the voxels of labels 1 and 2, eight at a time. bad is the position
// of the first other label but 0, -1 if there is none.
func countLabels(labels []uint8) (kidneys, tumors, bad int) {
	const ones, twos, others = 0x0101010101010101, 0x0202020202020202, 0xFCFCFCFCFCFCFCFC
	i := 0
	for ; i+8 <= len(labels); i += 8 {
		v := binary.LittleEndian.Uint64(labels[i:])
		if v == background {
			continue
		}
		if v&others != 0 || v&ones&(v&twos>>1) != 0 {
			break // the loop below finds it
		}
		kidneys += bits.OnesCount64(v & ones)
		tumors += bits.OnesCount64(v & twos)
	}
	for ; i < len(labels); i++ {
		switch labels[i] {
		case background:
		case kidney:
			kidneys++
		case tumor:
			tumors++
		default:
			return 0, 0, i
		}
	}
	return kidneys, tumors, -1
}
