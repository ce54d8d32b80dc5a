package waymo

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Features is how many numbers of a point the benchmark reads: x, y, z, intensity and elongation. Files have stored of them.
const (
	Features = 5
	stored   = 6
)

// Low and High are the corners of the room that points must be in (waymo.py).
var (
	Low  = [3]float32{-74.88, -74.88, -2}
	High = [3]float32{74.88, 74.88, 4}
)

// Limits of files that are read whole, in bytes.
const (
	maxPoints  = 1 << 30
	maxPicture = 256 << 20
)

// A Data is a folder of frames.
type Data struct {
	Frames []Frame
	folder string
	points []int // in the file of each frame
}

// Open opens the first count frames of a folder, all if count is 0. All of their files have to be there. At most five errors are returned.
func Open(dir string, count int) (*Data, error) {
	d := &Data{}
	var err error
	if d.Frames, d.folder, err = ReadInfos(dir); err != nil {
		return nil, err
	}
	if count > len(d.Frames) {
		return nil, fmt.Errorf("opening Waymo: %d frames are wanted, %s has %d", count, filepath.Join(d.folder, InfoFile), len(d.Frames))
	}
	if count > 0 {
		d.Frames = d.Frames[:count]
	}
	var errs []error
	d.points = make([]int, len(d.Frames))
	for i := range d.Frames {
		if d.points[i], err = d.look(i); err != nil {
			if errs = append(errs, fmt.Errorf("opening Waymo: entry %d of %s: %w", i, InfoFile, err)); len(errs) == 5 {
				break
			}
		}
	}
	return d, errors.Join(errs...)
}

// look looks for the files of a frame, and counts its points.
func (d *Data) look(i int) (points int, err error) {
	for camera := range Cameras {
		if _, err := fileio.Stat(d.PicturePath(i, camera)); err != nil {
			return 0, err
		}
	}
	path := d.PointsPath(i)
	info, err := fileio.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.Size()%(4*stored) != 0 || info.Size() > maxPoints {
		return 0, fmt.Errorf("%s: %d bytes are not points of %d float32", path, info.Size(), stored)
	}
	return int(info.Size() / (4 * stored)), nil
}

// PointsPath is the file with the points of a frame.
func (d *Data) PointsPath(i int) string {
	return filepath.Join(d.folder, filepath.FromSlash(d.Frames[i].Points))
}

// PicturePath is the file with the picture of a camera.
func (d *Data) PicturePath(i, camera int) string {
	return filepath.Join(d.folder, "training", "image_"+strconv.Itoa(camera), strconv.FormatInt(d.Frames[i].ID, 10)+".jpg")
}

// Picture reads the file with the picture of a camera.
func (d *Data) Picture(i, camera int) ([]byte, error) {
	return fileio.ReadFile(d.PicturePath(i, camera), maxPicture)
}

// Points is how many points the file of a frame has.
func (d *Data) Points(i int) int { return d.points[i] }

// ReadPoints reads the points of a frame that are inside of Low and High into rows of Features numbers, in the order of the file, and
// returns how many there are. dst has room for all Points.
func (d *Data) ReadPoints(i int, dst []float32) (n int, err error) {
	path := d.PointsPath(i)
	data, err := fileio.ReadFile(path, maxPoints)
	if err == nil && len(data) != 4*stored*d.points[i] {
		err = fmt.Errorf("%s changed: %d bytes, it had %d points of %d float32", path, len(data), d.points[i], stored)
	}
	if err != nil {
		return 0, err
	}
	rows, err := tensor.FromBytes(tensor.Float32, data, int64(d.points[i]), stored)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	all := tensor.Data[float32](rows)
	for p := range d.points[i] {
		row := all[p*stored:][:Features]
		for k, v := range row {
			if v-v != 0 {
				return 0, fmt.Errorf("%s: number %d of point %d is %v", path, k, p, v)
			}
		}
		if inside(row) {
			n += copy(dst[n:], row)
		}
	}
	return n / Features, nil
}

func inside(p []float32) bool {
	for axis := range Low {
		if p[axis] <= Low[axis] || p[axis] >= High[axis] {
			return false
		}
	}
	return true
}
