package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A KiTS19Spec says everything about a built-in data set of volumes, in the layout of
// KiTS19. Equal specs make equal volumes.
type KiTS19Spec struct {
	Seed  uint64 `json:"seed"`
	Cases int    `json:"cases"` // 1 to 99
	// Truth names the way in which the Judge makes labels. It may be empty.
	Truth string `json:"truth,omitempty"`
}

const maxCases = 99

func (s KiTS19Spec) check() error {
	if s.Cases < 1 || s.Cases > maxCases {
		return fmt.Errorf("cases is %d, want 1 to %d", s.Cases, maxCases)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal volumes.
func (s KiTS19Spec) Key() string {
	return "kits19-" + keyOf("kits19 seed %d cases %d truth %q", s.Seed, s.Cases, s.Truth)
}

// Name returns the folder of a case, counted from 0.
func (s KiTS19Spec) Name(i int) string { return fmt.Sprintf("case_%05d", i) }

// A VolumeGrid is the grid of a volume: slices from head to foot, rows and columns.
type VolumeGrid struct {
	Shape   [3]int
	Spacing [3]float64 // of voxels, in mm
}

// Grid returns that of a case. Seen on the grid of 1.6×1.2×1.2 mm that the reference
// resamples to, a side has about 128 voxels or about 192, so that a window of 128 fits
// once or, with a step of 64, twice; no case needs more than four windows.
func (s KiTS19Spec) Grid(i int) VolumeGrid {
	r := newStream("kits19 grid", s.Seed, uint64(i))
	long := [6][3]bool{{}, {0: true}, {2: true}, {1: true}, {1: true, 2: true}, {}}[i%6]
	target := [3]float64{1.6, 1.2, 1.2}
	inPlane := float64(r.between(70, 94)) / 100 // the same for rows and columns
	g := VolumeGrid{Spacing: [3]float64{float64(r.between(4, 10)) / 2, inPlane, inPlane}}
	for axis := range g.Shape {
		voxels := r.between(112, 148)
		if long[axis] {
			voxels = r.between(168, 212)
		}
		g.Shape[axis] = int(float64(float64(voxels)*target[axis])/g.Spacing[axis] + 0.5)
	}
	return g
}

// WriteKiTS19 makes a data set of volumes: a folder for each case with imaging.nii.gz and
// segmentation.nii.gz, inference_cases.json with their order, and the Manifest. The
// segmentations are those of the bodies as they are drawn, until the judge, if there is
// one, writes others.
//
// Folder, errors, ctx and progress are as with WriteImageNet.
func WriteKiTS19(ctx context.Context, dir string, spec KiTS19Spec, judge Judge, progress func(done, total int)) error {
	err := spec.check()
	if err == nil {
		m := Manifest{Version: FormatVersion, KiTS19: &spec}
		err = publish(dir, m, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
	}
	if err != nil {
		return fmt.Errorf("making the built-in KiTS19: %w", err)
	}
	return nil
}

// fill writes the files.
func (s KiTS19Spec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	var names []string
	for i := range s.Cases {
		names = append(names, s.Name(i))
		if err := os.MkdirAll(filepath.Join(folder, s.Name(i)), 0o755); err != nil {
			return err
		}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "inference_cases.json"), append(list, '\n'), 0o644); err != nil {
		return err
	}
	return draw(ctx, s.Cases, func() func(int) error {
		return func(i int) error {
			grid := s.Grid(i)
			body := newBody(deriveSeed("kits19 body", s.Seed, uint64(i)))
			image, labels := body.render(grid.Shape)
			if err := writeNIfTI(filepath.Join(folder, s.Name(i), "imaging.nii.gz"), grid, image); err != nil {
				return err
			}
			return s.WriteSegmentation(folder, i, labels)
		}
	}, progress)
}

// WriteSegmentation writes the labels of a case, one for each voxel of its grid: 1 for
// kidney, 2 for tumour, 0 for all else.
func (s KiTS19Spec) WriteSegmentation(folder string, i int, labels []uint8) error {
	grid := s.Grid(i)
	if want := grid.Shape[0] * grid.Shape[1] * grid.Shape[2]; len(labels) != want {
		return fmt.Errorf("segmentation of %s has %d voxels, want %d", s.Name(i), len(labels), want)
	}
	return writeNIfTI(filepath.Join(folder, s.Name(i), "segmentation.nii.gz"), grid, labels)
}
