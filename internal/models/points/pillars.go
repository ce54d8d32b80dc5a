package points

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Pillars are the cells of a grid of side×side (model/pointpillars_core.py, ops/voxel_module.py), as high as the room of the points.
const (
	cell         = 0.32
	height       = 6
	side         = 468
	pillarPoints = 20    // that a pillar keeps, the first ones
	mostPillars  = 32000 // of a frame
)

// A pillarSet are the pillars of a frame, in the order of the first point of each.
type pillarSet struct {
	points []float32 // [pillars pillarPoints painted]; 0 where there are fewer
	places []int64   // [pillars 4]: 0, x, y, z
	counts []int32   // [pillars]

	at []int32 // the number of the pillar of each cell; -1: none
}

func newPillarSet() *pillarSet {
	s := &pillarSet{at: make([]int32, side*side)}
	for i := range s.at {
		s.at[i] = -1
	}
	return s
}

// fill sorts points into pillars. As in the reference the first point that would need one pillar too many is the last that is looked
// at: later points are lost also where their pillar is there.
func (s *pillarSet) fill(points []float32) {
	for i := range s.counts {
		s.at[s.places[4*i+1]*side+s.places[4*i+2]] = -1
	}
	s.points, s.places, s.counts = s.points[:0], s.places[:0], s.counts[:0]
	for ; len(points) >= painted; points = points[painted:] {
		x, y, z := place(points[0], waymo.Low[0], cell), place(points[1], waymo.Low[1], cell), place(points[2], waymo.Low[2], height)
		if x < 0 || x >= side || y < 0 || y >= side || z != 0 {
			continue
		}
		at := &s.at[x*side+y]
		if *at < 0 {
			if len(s.counts) == mostPillars {
				return
			}
			*at = int32(len(s.counts))
			s.points = append(s.points, make([]float32, pillarPoints*painted)...)
			s.places = append(s.places, 0, int64(x), int64(y), 0)
			s.counts = append(s.counts, 0)
		}
		if n := s.counts[*at]; n < pillarPoints {
			copy(s.points[(int(*at)*pillarPoints+int(n))*painted:], points[:painted])
			s.counts[*at]++
		}
	}
}

// tensors are the inputs of the second model.
func (s *pillarSet) tensors() []tensor.Tensor {
	n := int64(len(s.counts))
	return []tensor.Tensor{tensor.Of(s.points, n, pillarPoints, painted), tensor.Of(s.places, n, 4), tensor.Of(s.counts, n)}
}

// place is the number of a cell along an axis, in float32 as the reference has it.
func place(v, low, size float32) int { return int(math.Floor(float64((v - low) / size))) }
