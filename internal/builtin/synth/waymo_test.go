package synth

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// What reads the official frames reads these; the judge's objects are theirs.
func TestFramesAreReadAndMarked(t *testing.T) {
	spec := WaymoSpec{Seed: 3, Frames: 3}
	dir := filepath.Join(t.TempDir(), "waymo")
	var first []waymo.Frame
	mine := [][]accuracy.WaymoObject{{{Name: "Pedestrian", Difficulty: 1, WaymoBox: accuracy.WaymoBox{Location: [3]float32{1, 2, 3}, Dimensions: [3]float32{4, 5, 6}, Rotation: 7}}}, nil, {{Name: "Car"}}}
	testenv.Must(t, WriteWaymo(t.Context(), dir, spec, func(folder string) (_ map[string]float64, err error) {
		if first, _, err = waymo.ReadInfos(folder); err != nil {
			return nil, err
		}
		if err := spec.WriteObjects(folder, mine[1:]); err == nil {
			t.Error("objects of a frame too few are taken")
		}
		return nil, spec.WriteObjects(folder, mine)
	}, nil))
	d, err := waymo.Open(dir, 0)
	testenv.Must(t, err)
	for i, frame := range d.Frames {
		if len(first[i].Objects) < 14 {
			t.Errorf("frame %d has %d things", i, len(first[i].Objects))
		}
		if diff := cmp.Diff(mine[i], frame.Objects[:len(frame.Objects):len(frame.Objects)]); diff != "" && len(mine[i])+len(frame.Objects) > 0 {
			t.Error(diff)
		}
		points := make([]float32, d.Points(i)*waymo.Features)
		n, err := d.ReadPoints(i, points)
		testenv.Must(t, err)
		if n < 12000 || n >= d.Points(i) { // the last one is the mark
			t.Errorf("%d of %d points are inside", n, d.Points(i))
		}
		// Each thing that the first list has is where points are, seen from the first camera.
		for k, o := range first[i].Objects {
			near := 0
			for p := range slices.Chunk(points[:n*waymo.Features], waymo.Features) {
				m := &frame.ToCamera[0]
				x, y, z := m[0]*p[0]+m[1]*p[1]+m[2]*p[2]+m[3], m[4]*p[0]+m[5]*p[1]+m[6]*p[2]+m[7], m[8]*p[0]+m[9]*p[1]+m[10]*p[2]+m[11]
				dx, dz, reach := x-o.Location[0], z-o.Location[2], (o.Dimensions[0]+o.Dimensions[2])/2
				if dx*dx+dz*dz < reach*reach && y < o.Location[1]+0.2 && y > o.Location[1]-o.Dimensions[1]-0.2 {
					near++
				}
			}
			if near < 8 {
				t.Errorf("frame %d: %d points are at thing %d (%s)", i, near, k, o.Name)
			}
		}
	}
}

func smallWaymo(ctx context.Context, dir string, seed uint64) error {
	return WriteWaymo(ctx, dir, WaymoSpec{Seed: seed, Frames: 1}, nil, nil)
}
