package volume

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A scanCase is an entry of testdata/scans.json.
type scanCase struct {
	Seed   uint64
	Shape  [3]int
	Box    Box
	Open   bool // the hole reaches the outside
	SHA256 string
	Crop   Box `json:"crop_bbox"`
}

// scan is that of make_scans.py.
func (c scanCase) scan() (scan []*Volume) {
	s := c.Seed
	for range Modalities {
		v := &Volume{Grid: Grid{Shape: c.Shape, Spacing: [3]float64{1, 1, 1}}, Data: make([]float32, c.Shape[0]*c.Shape[1]*c.Shape[2])}
		at := func(z, y, x int) *float32 { return &v.Data[(z*c.Shape[1]+y)*c.Shape[2]+x] }
		each := func(b Box, visit func(*float32)) {
			for z := b[0][0]; z < b[0][1]; z++ {
				for y := b[1][0]; y < b[1][1]; y++ {
					for x := b[2][0]; x < b[2][1]; x++ {
						visit(at(z, y, x))
					}
				}
			}
		}
		each(c.Box, func(voxel *float32) {
			s = s*6364136223846793005 + 1442695040888963407
			if *voxel = float32(1 + s>>33%2000); c.Seed%2 == 1 && s>>54 == 7 {
				*voxel = float32(math.NaN())
			}
		})
		hole := c.Box
		for axis, side := range c.Box {
			hole[axis] = [2]int{side[0] + 2, min(side[0]+6, side[1]-2)}
		}
		if c.Open {
			hole[2][1] = c.Shape[2]
		}
		each(hole, func(voxel *float32) { *voxel = 0 })
		scan = append(scan, v)
	}
	return scan
}

func TestPreparedScansEqualNNUNet(t *testing.T) {
	dst := make([]float32, Modalities*224*224*160)
	for _, c := range testenv.JSON[struct{ Cases []scanCase }](t, "testdata/scans.json").Cases {
		t.Run(fmt.Sprint(c.Shape, c.Open), func(t *testing.T) {
			scan := c.scan()
			if box, err := Brain(scan); err != nil || box != c.Crop {
				t.Errorf("the brain is in %v, %v, want %v", box, err, c.Crop)
			}
			if err := PrepareScan(dst, scan); err != nil {
				t.Fatal(err)
			}
			bits := make([]byte, 0, 4*len(dst))
			for _, x := range dst {
				bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(x))
			}
			if got := sum(bits); got != c.SHA256 {
				t.Errorf("scan %s, want %s", got, c.SHA256)
			}
		})
	}
}

func TestScanErrors(t *testing.T) {
	dst := make([]float32, Modalities*224*224*160)
	for want, change := range map[string]func(scan []*Volume){
		"all voxels are 0": func(scan []*Volume) {
			for _, v := range scan {
				clear(v.Data)
			}
		},
		"image 2 has [5 6 8] voxels, the first one [5 6 7]":    func(scan []*Volume) { scan[2].Shape[2] = 8 },
		"the voxels of image 3 are 1.2 mm apart: must be 1 mm": func(scan []*Volume) { scan[3].Spacing[1] = 1.2 },
		"the brain has 161 voxels along axis 2, and the model sees 160": func(scan []*Volume) {
			for _, v := range scan {
				*v = Volume{Grid: Grid{Shape: [3]int{1, 1, 161}, Spacing: [3]float64{1, 1, 1}}, Data: make([]float32, 161)}
				v.Data[0], v.Data[160] = 1, 1
			}
		},
	} {
		scan := scanCase{Shape: [3]int{5, 6, 7}, Box: Box{{0, 5}, {0, 6}, {0, 7}}}.scan()
		change(scan)
		if err := PrepareScan(dst, scan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := PrepareScan(dst[1:], scanCase{Shape: [3]int{5, 6, 7}, Box: Box{{0, 5}, {0, 6}, {0, 7}}}.scan()); err == nil {
		t.Error("a scan fits into less room")
	}
}
