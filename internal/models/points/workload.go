package points

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// The tensors of a sample: the pictures of the cameras first.
const (
	pointsSlot      = waymo.Cameras + iota // float32[points 5]: those inside come first
	calibrationSlot                        // float32[11 4 4]: P0 to P4, R0_rect, Tr_velo_to_cam_0 to 4
	frameSlot                              // int64[2]: image_idx, and how many points are inside
	slots
)

const calibrationMatrices = 2*waymo.Cameras + 1

// A frames is PointPainting with its data set.
type frames struct {
	data    *waymo.Data
	scratch sync.Pool
}

func open(s workload.Setup) (*workload.Workload, error) {
	w := &frames{scratch: sync.Pool{New: func() any { return new(preprocess.Scratch) }}}
	var err error
	if w.data, err = waymo.Open(s.DatasetDir, s.Count); err != nil {
		return nil, err
	}
	outputs, err := w.bind(s.Ports)
	if err != nil {
		return nil, err
	}
	return w.workload(outputs), nil
}

// bind checks the ports of the two files, and returns the outputs that are read.
func (w *frames) bind(ports map[string]workload.Ports) (outputs map[string]string, err error) {
	in := ports[segmentation].Inputs
	if len(in) != 1 {
		return nil, fmt.Errorf("the model's %s has the inputs %s, must have one picture", segmentation, workload.DescribePorts(in))
	}
	for i, f := range w.data.Frames {
		for camera, size := range f.Pictures {
			if shape := pictureShape(size); !in[0].Fits(tensor.Float32, shape) {
				return nil, fmt.Errorf("input %s of the model's %s is %v%v: picture %d of frame %d is float32%v", in[0].Name, segmentation,
					in[0].Type, in[0].Shape, camera, i, shape)
			}
		}
	}
	const some = 7
	want := []workload.Slot{
		{Type: tensor.Float32, Shape: tensor.Shape{some, pillarPoints, painted}}, {Type: tensor.Int64, Shape: tensor.Shape{some, 4}}, {Type: tensor.Int32, Shape: tensor.Shape{some}},
	}
	in = ports[detection].Inputs
	if len(in) != len(want) || !slices.EqualFunc(in, want, func(p backend.Port, s workload.Slot) bool { return p.Fits(s.Type, s.Shape) }) {
		return nil, fmt.Errorf(
			"the model's %s has the inputs %s, must have float32[P %d %d], int64[P 4] and int32[P]: pillars, their places, and their numbers of points",
			detection, workload.DescribePorts(in), pillarPoints, painted)
	}
	outputs = map[string]string{}
	for role, axes := range map[string]int{segmentation: 4, detection: 2} {
		is := func(p backend.Port) bool { return p.Type == tensor.Float32 && (p.AnyShape || len(p.Shape) == axes) }
		list := ports[role].Outputs
		at := slices.IndexFunc(list, is)
		if at < 0 {
			return nil, fmt.Errorf("the model's %s has the outputs %s, none of which is float32 with %d axes", role, workload.DescribePorts(list), axes)
		}
		outputs[role] = list[at].Name
	}
	return outputs, nil
}

// pictureShape is that of the first model's input.
func pictureShape(size waymo.Size) tensor.Shape {
	return tensor.Shape{1, 3, int64(size.Height), int64(size.Width)}
}

func (w *frames) workload(outputs map[string]string) *workload.Workload {
	return &workload.Workload{
		Samples: len(w.data.Frames), Row: w.row, Prepare: w.prepare, Batch: 1,
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return newPredictor(sessions), nil
		},
		Outputs:  func(role string) []string { return []string{outputs[role]} },
		Notes:    []string{w.note()},
		Exchange: &workload.Exchange{Inputs: exchanged(), Complete: complete, Check: check},
	}
}

// note says what samples are.
func (w *frames) note() string {
	sizes, points := []string{}, 0
	for i, f := range w.data.Frames {
		points += w.data.Points(i)
		for _, size := range f.Pictures {
			if text := fmt.Sprintf("%d×%d", size.Height, size.Width); !slices.Contains(sizes, text) {
				sizes = append(sizes, text)
			}
		}
	}
	shown, more := sizes, ""
	if len(shown) > 4 {
		shown, more = shown[:4], " …"
	}
	return fmt.Sprintf("input: float32, of five pictures (%s%s pixels; officially 1280×1920 and 886×1920) and %d points on average, on %d×%d pillars",
		strings.Join(shown, ", "), more, points/len(w.data.Frames), side, side)
}

func (w *frames) row(index int) []workload.Slot {
	return rowOf(w.data.Frames[index].Pictures, w.data.Points(index))
}

func rowOf(pictures [waymo.Cameras]waymo.Size, points int) []workload.Slot {
	row := make([]workload.Slot, slots)
	for i, size := range pictures {
		row[i] = workload.Slot{Type: tensor.Uint8, Shape: tensor.Shape{int64(size.Height), int64(size.Width), 3}}
	}
	row[pointsSlot] = workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{int64(points), waymo.Features}}
	row[calibrationSlot] = workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{calibrationMatrices, 4, 4}}
	row[frameSlot] = workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{2}}
	return row
}

// prepare fills a row. Pictures stay bytes, which are a quarter of what the model takes.
func (w *frames) prepare(index int, row []tensor.Tensor) error {
	f := &w.data.Frames[index]
	scratch := w.scratch.Get().(*preprocess.Scratch)
	defer w.scratch.Put(scratch)
	for camera, size := range f.Pictures {
		file, err := w.data.Picture(index, camera)
		if err != nil {
			return fmt.Errorf("sample %d: %w", index, err)
		}
		picture, err := scratch.Decode(file)
		if got := (waymo.Size{Height: picture.Height, Width: picture.Width}); err == nil && got != size {
			err = fmt.Errorf("the picture has %d×%d pixels, %s says %d×%d", got.Height, got.Width, waymo.InfoFile, size.Height, size.Width)
		}
		if err != nil {
			return fmt.Errorf("sample %d, %s: %w", index, w.data.PicturePath(index, camera), err)
		}
		copy(row[camera].Bytes(), picture.Pix)
	}
	points := tensor.Data[float32](row[pointsSlot])
	n, err := w.data.ReadPoints(index, points)
	if err != nil {
		return fmt.Errorf("sample %d: %w", index, err)
	}
	clear(points[n*waymo.Features:])
	matrices := tensor.Data[float32](row[calibrationSlot])
	for i, m := range slices.Concat(f.Project[:], []waymo.Matrix{f.Rectify}, f.ToCamera[:]) {
		copy(matrices[16*i:], m[:])
	}
	copy(tensor.Data[int64](row[frameSlot]), []int64{f.ID, int64(n)})
	return nil
}

// exchanged are the tensors of a sample for another machine.
func exchanged() (inputs []workload.Input) {
	for i, slot := range rowOf([waymo.Cameras]waymo.Size{}, 0) {
		name := map[int]string{pointsSlot: "points", calibrationSlot: "calibration", frameSlot: "frame"}[i]
		if i < waymo.Cameras {
			name = fmt.Sprint("image_", i)
			slot.Shape[0], slot.Shape[1] = -1, -1
		}
		if i == pointsSlot {
			slot.Shape[0] = -1
		}
		inputs = append(inputs, workload.Input{Name: name, Slot: slot})
	}
	return inputs
}

func complete(sent []tensor.Shape) ([]workload.Slot, error) {
	var pictures [waymo.Cameras]waymo.Size
	for i := range pictures {
		pictures[i] = waymo.Size{Height: int(sent[i][0]), Width: int(sent[i][1])}
		if pictures[i].Height < 1 || pictures[i].Width < 1 {
			return nil, fmt.Errorf("image_%d has %d×%d pixels", i, pictures[i].Height, pictures[i].Width)
		}
	}
	return rowOf(pictures, int(sent[pointsSlot][0])), nil
}

// check says what is wrong with a row that was sent.
func check(row []tensor.Tensor) error {
	frame, points := tensor.Data[int64](row[frameSlot]), row[pointsSlot]
	if n := frame[1]; n < 0 || n > points.Shape[0] {
		return fmt.Errorf("frame: %d points, there are %d", n, points.Shape[0])
	}
	for slot, name := range map[int]string{pointsSlot: "points", calibrationSlot: "calibration"} {
		if i := slices.IndexFunc(tensor.Data[float32](row[slot]), func(v float32) bool { return v-v != 0 }); i >= 0 {
			return fmt.Errorf("%s: number %d is not finite", name, i)
		}
	}
	return nil
}

// score scores a log as accuracy_waymo.py does.
func score(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	verbose, err := s.Options.On(verboseOption)
	if err != nil {
		return nil, err
	}
	if _, err := s.Options.On(inverseMapOption); err != nil {
		return nil, err
	}
	list, _, err := waymo.ReadInfos(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	if s.Samples > 0 && s.Samples < len(list) {
		list = list[:s.Samples]
	}
	truth := make([]accuracy.WaymoFrame, len(list))
	for i := range list {
		truth[i] = list[i].WaymoFrame
	}
	return accuracy.ScoreWaymo(log, truth, verbose)
}

// newReader makes the first model's input of a picture.
func newReader(workload.Values) (*workload.Reader, error) {
	scratch := &preprocess.Scratch{}
	return &workload.Reader{Name: "waymo_camera", Read: func(file []byte) (tensor.Tensor, error) {
		picture, err := scratch.Decode(file)
		if err != nil {
			return tensor.Tensor{}, err
		}
		t := tensor.New(tensor.Float32, 3, int64(picture.Height), int64(picture.Width))
		normalise(tensor.Data[float32](t), picture.Pix)
		return t, nil
	}}, nil
}

// painted is how many numbers a painted point has.
const painted = waymo.Features + paints
