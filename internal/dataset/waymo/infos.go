package waymo

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
)

// InfoFile lists the frames.
const InfoFile = "waymo_infos_val.pkl"

// Cameras is how many pictures a frame has.
const Cameras = 5

// maxInfos bounds the list, in bytes: that of 39,987 frames has some hundred million.
const maxInfos = 4 << 30

// maxID is the highest number of a frame that a float32 of a response names.
const maxID = 1 << 24

// A Matrix has four rows of four numbers.
type Matrix [16]float32

// A Calibration says where the cameras are. A point of a frame lies at ToCamera[i]·(x, y, z, 1) before camera i, and in its picture at
// Project[i]·(Rectify·that), divided by the third number.
type Calibration struct {
	Project  [Cameras]Matrix // P0 to P4
	Rectify  Matrix          // R0_rect
	ToCamera [Cameras]Matrix // Tr_velo_to_cam_0 to 4
}

// A Size is that of a picture, in pixels.
type Size struct{ Height, Width int }

// A Frame is a sample.
type Frame struct {
	accuracy.WaymoFrame
	Pictures [Cameras]Size
	Points   string // the file of its points, relative to the folder
	Calibration
}

// ReadInfos reads the list of frames in a folder: kitti_format, or that above it.
func ReadInfos(dir string) (frames []Frame, folder string, err error) {
	folder = dir
	if !fileio.Exists(filepath.Join(dir, InfoFile)) && fileio.Exists(filepath.Join(dir, "kitti_format", InfoFile)) {
		folder = filepath.Join(dir, "kitti_format")
	}
	path := filepath.Join(folder, InfoFile)
	data, err := fileio.ReadFile(path, maxInfos)
	if err == nil {
		if frames, err = parseInfos(data); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("opening Waymo: %w", err)
	}
	return frames, folder, nil
}

func parseInfos(data []byte) ([]Frame, error) {
	v, err := pickle.Read(data)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("it is not a list of frames")
	}
	frames, seen := make([]Frame, len(list)), map[int64]int{}
	for i, item := range list {
		f := &frames[i]
		if err := f.read(entry{value: item}); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if first, twice := seen[f.ID]; twice {
			return nil, fmt.Errorf("entry %d: image.image_idx is %d, as that of entry %d", i, f.ID, first)
		}
		seen[f.ID] = i
		list[i] = nil // the memory of the whole list is some gigabytes
	}
	return frames, nil
}

func (f *Frame) read(e entry) (err error) {
	if f.ID, err = at[int64](e, "image", "image_idx"); err != nil {
		return err
	}
	if f.ID < 0 || f.ID > maxID {
		return fmt.Errorf("image.image_idx is %d, must be 0 to %d: responses have float32", f.ID, maxID)
	}
	cameras, err := at[[]any](e, "image", "camera")
	if err == nil && len(cameras) < Cameras {
		err = fmt.Errorf("image.camera has %d entries, must have %d", len(cameras), Cameras)
	}
	if err != nil {
		return err
	}
	for i := range Cameras {
		camera := entry{fmt.Sprintf("image.camera[%d]", i), cameras[i]}
		size, err := camera.numbers(2, "image_shape")
		if err != nil {
			return err
		}
		for _, v := range size {
			if v < 1 || v > 1<<14 || v != float64(int(v)) {
				return fmt.Errorf("%s.image_shape is %v, must be height and width in pixels", camera.name, size)
			}
		}
		f.Pictures[i] = Size{int(size[0]), int(size[1])}
		for name, m := range map[string]*Matrix{fmt.Sprint("P", i): &f.Project[i], fmt.Sprint("Tr_velo_to_cam_", i): &f.ToCamera[i]} {
			if err := e.matrix(m, "calib", name); err != nil {
				return err
			}
		}
	}
	if err := e.matrix(&f.Rectify, "calib", "R0_rect"); err != nil {
		return err
	}
	if f.Points, err = at[string](e, "point_cloud", "velodyne_path"); err == nil && !filepath.IsLocal(filepath.FromSlash(f.Points)) {
		err = fmt.Errorf("point_cloud.velodyne_path is %q, which is not below the folder", f.Points)
	}
	if err != nil {
		return err
	}
	f.Objects, err = e.objects()
	return err
}

// objects reads the ground truth: annos.
func (e entry) objects() ([]accuracy.WaymoObject, error) {
	array, err := at[*pickle.Array](e, "annos", "name")
	if err != nil {
		return nil, err
	}
	n := array.Len()
	names, err := array.Texts()
	if err != nil && n > 0 { // NumPy makes numbers of an empty list
		return nil, fmt.Errorf("annos.name: %w", err)
	}
	var lists [4][]float64
	for i, of := range []struct {
		name  string
		width int
	}{{"location", 3}, {"dimensions", 3}, {"rotation_y", 1}, {"difficulty", 1}} {
		if lists[i], err = e.numbers(n*of.width, "annos", of.name); err != nil {
			return nil, err
		}
	}
	objects := make([]accuracy.WaymoObject, n)
	for i := range objects {
		o := &objects[i]
		o.Name, o.Rotation, o.Difficulty = names[i], float32(lists[2][i]), int(max(-1, min(lists[3][i], 2)))
		for axis := range 3 {
			o.Location[axis], o.Dimensions[axis] = float32(lists[0][3*i+axis]), float32(lists[1][3*i+axis])
		}
	}
	return objects, nil
}

// An entry is a dictionary of the list, and where it is.
type entry struct {
	name  string // empty: the frame itself
	value any
}

// at returns a value below an entry that must be of a type.
func at[T any](e entry, keys ...string) (value T, err error) {
	for _, key := range keys {
		below, ok := e.value.(map[string]any)
		if !ok {
			return value, fmt.Errorf("%s is not a dictionary", e.place())
		}
		e.name = strings.TrimPrefix(e.name+"."+key, ".")
		if e.value, ok = below[key]; !ok {
			return value, fmt.Errorf("%s is missing", e.name)
		}
	}
	value, ok := e.value.(T)
	if !ok {
		return value, fmt.Errorf("%s is %s, must be %s", e.name, kind(e.value), kind(value))
	}
	return value, nil
}

func (e entry) place() string {
	if e.name == "" {
		return "it"
	}
	return e.name
}

// kind names the type of a value as users of Python do.
func kind(v any) string {
	switch v.(type) {
	case int64:
		return "a whole number"
	case string:
		return "a text"
	case []any, []int64:
		return "a list"
	case *pickle.Array:
		return "an array"
	}
	return fmt.Sprintf("%T", v)
}

// numbers returns an array of n finite numbers.
func (e entry) numbers(n int, keys ...string) ([]float64, error) {
	array, err := at[*pickle.Array](e, keys...)
	if err != nil {
		return nil, err
	}
	place := strings.TrimPrefix(e.name+"."+strings.Join(keys, "."), ".")
	if array.Len() != n {
		return nil, fmt.Errorf("%s has %d numbers (%v), must have %d", place, array.Len(), array.Shape, n)
	}
	list, err := array.Numbers()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	for i, v := range list {
		if f := float32(v); f-f != 0 {
			return nil, fmt.Errorf("number %d of %s is %v", i, place, v)
		}
	}
	return list, nil
}

// matrix reads four rows of four numbers.
func (e entry) matrix(m *Matrix, keys ...string) error {
	list, err := e.numbers(len(m), keys...)
	for i, v := range list {
		m[i] = float32(v)
	}
	return err
}
