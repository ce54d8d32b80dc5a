package synth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A BraTS19Spec says everything about a built-in data set of scans of heads, in the layout of nnU-Net's raw data of BraTS 2019. Equal
// specs make equal scans.
type BraTS19Spec struct {
	Seed  uint64 `json:"seed"`
	Cases int    `json:"cases"` // 1 to 99
	// Truth names the way in which the Judge makes labels. It may be empty.
	Truth string `json:"truth,omitempty"`
}

func (s BraTS19Spec) check() error { return KiTS19Spec{Cases: s.Cases}.check() }

// Key returns a name for the data set, fit for a folder: equal keys mean equal scans.
func (s BraTS19Spec) Key() string {
	return "brats19-" + keyOf("brats19 seed %d cases %d truth %q", s.Seed, s.Cases, s.Truth)
}

// Name returns the name of a case, counted from 0.
func (s BraTS19Spec) Name(i int) string { return fmt.Sprintf("HGG__BraTS19_Made_%03d_1", i) }

// scanGrid is that of all scans of BraTS, the first axis running fastest.
func scanGrid() VolumeGrid {
	return VolumeGrid{Shape: [3]int{240, 240, 155}, Spacing: [3]float64{1, 1, 1}}
}

const modalities = 4

// WriteBraTS19 makes a data set of scans: imagesTr/NAME_0000.nii.gz (T1) to _0003.nii.gz (FLAIR) and labelsTr/NAME.nii.gz for each case,
// fold1_validation.txt with their order, and the Manifest. The labels are those of the tumours as they are drawn, until the judge, if
// there is one, writes others.
//
// Folder, errors, ctx and progress are as with WriteImageNet.
func WriteBraTS19(ctx context.Context, dir string, spec BraTS19Spec, judge Judge, progress func(done, total int)) error {
	return publish(ctx, dir, "BraTS19", &spec, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
}

// fill writes the files.
func (s BraTS19Spec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	for _, below := range []string{"imagesTr", "labelsTr"} {
		if err := os.Mkdir(filepath.Join(folder, below), 0o755); err != nil {
			return err
		}
	}
	var names []string
	for i := range s.Cases {
		names = append(names, s.Name(i))
	}
	if err := fileio.WriteFile(filepath.Join(folder, "fold1_validation.txt"), []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return draw(ctx, s.Cases, func() func(int) error {
		return func(i int) error {
			grid := scanGrid()
			h := newHead(deriveSeed("brats19 head", s.Seed, uint64(i)))
			images, labels := h.render([3]int{grid.Shape[2], grid.Shape[1], grid.Shape[0]})
			for m, image := range images {
				if err := writeStored(filepath.Join(folder, "imagesTr", fmt.Sprintf("%s_%04d.nii.gz", s.Name(i), m)), grid, image); err != nil {
					return err
				}
			}
			return s.WriteLabels(folder, i, labels)
		}
	}, progress)
}

// WriteLabels writes the labels of a case, one for each voxel of its images: 1 for oedema, 2 for tumour that does not enhance, 3 for
// tumour that does, 0 for all else.
func (s BraTS19Spec) WriteLabels(folder string, i int, labels []uint8) error {
	grid := scanGrid()
	if want := grid.Shape[0] * grid.Shape[1] * grid.Shape[2]; len(labels) != want {
		return fmt.Errorf("labels of %s have %d voxels, expected %d", s.Name(i), len(labels), want)
	}
	return writeStored(filepath.Join(folder, "labelsTr", s.Name(i)+".nii.gz"), grid, labels)
}

// A head is a brain in air, with parts of other brightness in each image. The density of an organ is its number.
type head struct {
	body
	brightness [][modalities]int32 // of the brain and the organs
}

// newHead returns the head of a seed. Its brain has a dozen parts and a tumour with three shells.
func newHead(seed uint64) head {
	r := newStream("head", seed)
	h := head{body: body{seed: deriveSeed("voxels", seed)}}
	for axis, voxels := range [3]float64{68. / 155, 85. / 240, 68. / 240} { // from the nape to the front 170 voxels, and 136 otherwise
		h.trunk.center[axis] = within(r.uniform(), 0.48, 0.52)
		h.trunk.radii[axis] = float64(voxels * within(r.uniform(), 0.85, 1))
	}
	inside := func(low, high, smallest, largest float64) (o organ) {
		o.density = int32(len(h.organs) + 1)
		for axis := range o.center {
			radius := h.trunk.radii[axis]
			o.center[axis] = h.trunk.center[axis] + float64(within(r.uniform(), low, high)*radius)
			o.radii[axis] = float64(within(r.uniform(), smallest, largest) * radius)
		}
		return o
	}
	for range 12 {
		h.organs = append(h.organs, inside(-0.7, 0.7, 0.1, 0.4))
	}
	tumour := inside(-0.4, 0.4, 0.35, 0.5)
	for _, shell := range []struct {
		label uint8
		size  float64
	}{{1, 1}, {2, 0.65}, {3, 0.4}} {
		o := tumour
		o.density, o.label = int32(len(h.organs)+1), shell.label
		for axis := range o.radii {
			o.radii[axis] = float64(tumour.radii[axis] * shell.size)
		}
		h.organs = append(h.organs, o)
	}
	for range len(h.organs) + 1 {
		var b [modalities]int32
		for m := range b {
			b[m] = int32(r.between(150, 900))
		}
		h.brightness = append(h.brightness, b)
	}
	return h
}

// render returns the images and the labels, the last axis running fastest. Only the brain is not 0.
func (h *head) render(shape [3]int) (images [modalities][]int16, labels []uint8) {
	n := shape[0] * shape[1] * shape[2]
	for m := range images {
		images[m] = make([]int16, n)
	}
	labels = make([]uint8, n)
	noise := newStream("voxels", h.seed)
	var row organRow
	at := 0
	for z := range shape[0] {
		for y := range shape[1] {
			row.place(&h.body, (float64(z)+0.5)/float64(shape[0]), (float64(y)+0.5)/float64(shape[1]))
			for x := range shape[2] {
				if part, label := row.at((float64(x) + 0.5) / float64(shape[2])); part != airDensity {
					labels[at] = label
					for m := range images {
						images[m][at] = int16(max(1, h.brightness[part][m]+grain(noise)))
					}
				}
				at++
			}
		}
	}
	return images, labels
}
