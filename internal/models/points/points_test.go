package points

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The golden values are those of the reference's modules (testdata/README.md of package waymo).
const golden = "../../dataset/waymo/testdata"

type expected struct {
	Loader []struct {
		Points int       `json:"points"`
		Sums   []float64 `json:"image_sum"`
		At     []float64 `json:"image_at_0_1_10_20"`
	} `json:"loader"`
	Pillars string `json:"pillars0_sha256_f32le"`
	Empty   string `json:"payload_empty_hex"`
}

func ports(a arch.Architecture) workload.Ports {
	list := func(values []onnx.Value) (pointers []*onnx.Value) {
		for i := range values {
			pointers = append(pointers, &values[i])
		}
		return pointers
	}
	return workload.Ports{Inputs: backend.PortsOf(list(a.Inputs)), Outputs: backend.PortsOf(list(a.Outputs))}
}

func setup() workload.Setup {
	return workload.Setup{
		DatasetDir: filepath.Join(golden, "kitti_format"), Count: 2,
		Ports: map[string]workload.Ports{segmentation: ports(arch.PaintingSegmentation()), detection: ports(arch.PaintingDetection())},
	}
}

// sample opens the golden frames, and prepares one.
func sample(t testing.TB, index int) (*workload.Workload, *workload.Store) {
	t.Helper()
	w, err := open(setup())
	testenv.Must(t, err)
	store, err := workload.NewStore(1, func(int) []workload.Slot { return w.Row(index) })
	testenv.Must(t, err)
	t.Cleanup(func() { store.Close() })
	testenv.Must(t, w.Prepare(index, store.Row(0)))
	return w, store
}

func TestSamplesAreThoseOfTheReference(t *testing.T) {
	want := testenv.JSON[expected](t, golden+"/expected.json").Loader
	for i, e := range want {
		_, store := sample(t, i)
		row := store.Row(0)
		if n := tensor.Data[int64](row[frameSlot]); n[0] != int64(1000000+i) || n[1] != int64(e.Points) {
			t.Errorf("frame %d: %v, want %d points", i, n, e.Points)
		}
		for camera := range waymo.Cameras {
			picture := row[camera]
			floats := make([]float32, picture.Len())
			normalise(floats, picture.Bytes())
			sum := 0.0
			for _, v := range floats {
				sum += float64(v)
			}
			width := int(picture.Shape[1])
			if at := floats[int(picture.Shape[0])*width+10*width+20]; at != float32(e.At[camera]) || math.Abs(sum-e.Sums[camera]) > 1e-6 {
				t.Errorf("frame %d, picture %d: %v and sum %v, want %v and %v", i, camera, at, sum, e.At[camera], e.Sums[camera])
			}
		}
	}
}

// scoresOf are the golden scores of a picture, whose pixels are alike in squares of four.
func scoresOf(all tensor.Tensor, sizes []waymo.Size, camera int) []float32 {
	quarter, total := tensor.Data[float32](all), int(all.Shape[1])
	from := 0
	for _, s := range sizes[:camera] {
		from += s.Height / 4 * (s.Width / 4)
	}
	h, w := sizes[camera].Height, sizes[camera].Width
	scores := make([]float32, classes*h*w)
	for class := range classes {
		for y := range h {
			for x := range w {
				scores[(class*h+y)*w+x] = quarter[class*total+from+y/4*(w/4)+x/4]
			}
		}
	}
	return scores
}

var sizes = []waymo.Size{{Height: 64, Width: 96}, {Height: 64, Width: 96}, {Height: 64, Width: 96}, {Height: 44, Width: 96}, {Height: 44, Width: 96}}

// goldenSession answers as the golden data has it.
type goldenSession struct {
	backend.Session
	t       testing.TB
	runs    int
	answers func(run int, inputs []backend.Value) tensor.Tensor
}

func (s *goldenSession) Bind(t tensor.Tensor) (backend.Value, error) { return backend.NewView(t) }

func (s *goldenSession) Run(_ context.Context, inputs, outputs []backend.Value) (err error) {
	outputs[0], err = backend.NewView(s.answers(s.runs, inputs))
	s.runs++
	return err
}

// candidatesOf decodes the golden scores and deltas, which are those of 32×32 places, as the second model does.
func candidatesOf(arrays map[string]tensor.Tensor) tensor.Tensor {
	const n = 32
	at := func(name string, channel, place int) float32 {
		return tensor.Data[float32](arrays[name])[channel*n*n+place]
	}
	type anchor struct {
		row  [candidateRow]float32
		best float32
	}
	var list []anchor
	shapes := [3][3]float32{{0.84, 0.91, 1.74}, {0.84, 1.81, 1.77}, {2.08, 4.73, 1.77}}
	bottoms := [3]float32{-0.0345, 0, -0.1188}
	for i := range n * n * 6 {
		place, kind := i/6, i%6
		d := func(k int) float32 { return at("head_reg", 7*kind+k, place) }
		s, step := shapes[kind/2], float32(149.76)/n
		diagonal := float32(math.Sqrt(float64(s[0]*s[0] + s[1]*s[1])))
		a := anchor{best: -1}
		a.row[0] = d(0)*diagonal + waymo.Low[0] + (float32(place%n)+0.5)*step
		a.row[1] = d(1)*diagonal + waymo.Low[1] + (float32(place/n)+0.5)*step
		for k := range 3 {
			a.row[3+k] = s[k] * float32(math.Exp(float64(d(3+k))))
			a.row[7+k] = float32(1 / (1 + math.Exp(-float64(at("head_cls", 3*kind+k, place)))))
			a.best = max(a.best, a.row[7+k])
		}
		a.row[2] = d(2)*s[2] + bottoms[kind/2] + s[2]/2 - a.row[5]/2
		a.row[6] = [2]float32{0, 1.57}[kind%2] + d(6)
		if at("head_dir", 2*kind+1, place) > at("head_dir", 2*kind, place) {
			a.row[10] = 1
		}
		list = append(list, a)
	}
	slices.SortStableFunc(list, func(a, b anchor) int { return cmp.Compare(b.best, a.best) })
	var all []float32
	for _, a := range list[:4096] {
		all = append(all, a.row[:]...)
	}
	return tensor.Of(all, 4096, candidateRow)
}

// From the files to the response: painted points, pillars, suppressed boxes, those of the camera and of the picture.
func TestAnswersAsTheReference(t *testing.T) {
	arrays, want := npytest.Archive(t, golden+"/tensors.npz"), testenv.JSON[expected](t, golden+"/expected.json")
	w, store := sample(t, 0)
	var pillars, places, counts tensor.Tensor
	sessions := workload.Sessions{
		segmentation: &goldenSession{t: t, answers: func(run int, _ []backend.Value) tensor.Tensor {
			return tensor.Of(scoresOf(arrays["seg_quarter"], sizes, run), 1, classes, int64(sizes[run].Height), int64(sizes[run].Width))
		}},
		detection: &goldenSession{t: t, answers: func(_ int, inputs []backend.Value) tensor.Tensor {
			pillars, places, counts = inputs[0].Tensor(), inputs[1].Tensor(), inputs[2].Tensor()
			return candidatesOf(arrays)
		}},
	}
	predict, err := w.NewPredictor(sessions, 1)
	testenv.Must(t, err, predict.Use(store))
	got := answers{}
	testenv.Must(t, predict.Predict(t.Context(), []workload.Item{{Index: 0}}, got))

	painting := predict.(*predictor).canvas.points
	compare(t, "painted points", painting, tensor.Data[float32](arrays["painted0"]), 3e-7)
	for i, v := range tensor.Data[int32](arrays["coors0"]) {
		if tensor.Data[int64](places)[i] != int64(v) {
			t.Fatalf("place %d is %d, want %d", i, tensor.Data[int64](places)[i], v)
		}
	}
	if !slices.Equal(tensor.Data[int32](counts), tensor.Data[int32](arrays["npoints0"])) {
		t.Error("pillars have other numbers of points")
	}
	compare(t, "pillars", tensor.Data[float32](pillars)[:40*pillarPoints*painted], tensor.Data[float32](arrays["pillars0_first40"]), 3e-7)

	// The official painting, sorted into pillars, bit by bit.
	s := newPillarSet()
	for range 2 { // the second time in the memory of the first
		s.fill(tensor.Data[float32](arrays["painted0"]))
		if sum := sha256.Sum256(tensor.Of(s.points, int64(len(s.points))).Bytes()); hex.EncodeToString(sum[:]) != want.Pillars {
			t.Errorf("the SHA-256 of %d pillars is %x, want %s", len(s.counts), sum, want.Pillars)
		}
	}

	rows := make([]float32, len(got[0])/4)
	_, err = binary.Decode(got[0], binary.LittleEndian, rows)
	testenv.Must(t, err)
	official := tensor.Data[float32](arrays["payload_rows"])
	if len(rows) != len(official) {
		t.Fatalf("%d boxes, want %d", len(rows)/accuracy.WaymoRow, len(official)/accuracy.WaymoRow)
	}
	same := 0
	for i, v := range official {
		if rows[i] == v {
			same++
		}
		// Pixels of corners that are hardly before the camera are as large as they please.
		if d := math.Abs(float64(rows[i] - v)); d > 2e-5*max(1, math.Abs(float64(v))) && !(i%accuracy.WaymoRow >= 7 && i%accuracy.WaymoRow < 11 && d < 1e-3*math.Abs(float64(v))) {
			t.Errorf("number %d of box %d is %v, want %v", i%accuracy.WaymoRow, i/accuracy.WaymoRow, rows[i], v)
		}
	}
	t.Logf("%d of %d numbers of %d boxes are the same", same, len(official), len(official)/accuracy.WaymoRow)
}

func compare(t *testing.T, what string, got, want []float32, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	worst, same := 0.0, 0
	for i, v := range want {
		worst = max(worst, math.Abs(float64(got[i]-v)))
		if got[i] == v {
			same++
		}
	}
	if worst > most {
		t.Errorf("%s: the largest difference is %v", what, worst)
	}
	t.Logf("%s: %d of %d numbers are the same, the largest difference is %.1e", what, same, len(want), worst)
}

type answers map[int][]byte

func (answers) FirstToken(int, []byte)                    {}
func (a answers) Done(ticket int, response []byte, _ int) { a[ticket] = slices.Clone(response) }

func TestNothingFoundIsARow(t *testing.T) {
	var c waymo.Calibration
	if got := hex.EncodeToString(respond(nil, nil, &c, 1000005, waymo.Size{})); got != testenv.JSON[expected](t, golden+"/expected.json").Empty {
		t.Error(got)
	}
}

// The 32,001st pillar ends the frame.
func TestPillarsEnd(t *testing.T) {
	var points []float32
	add := func(i int) {
		p := make([]float32, painted)
		p[0], p[1] = waymo.Low[0]+cell*(float32(i%side)+0.5), waymo.Low[1]+cell*(float32(i/side)+0.5)
		points = append(points, p...)
	}
	for i := range mostPillars {
		add(i)
	}
	add(0)
	add(mostPillars)
	add(1)
	s := newPillarSet()
	s.fill(points)
	if len(s.counts) != mostPillars || s.counts[0] != 2 || s.counts[1] != 1 {
		t.Errorf("%d pillars, %d and %d points", len(s.counts), s.counts[0], s.counts[1])
	}
	for range pillarPoints + 3 {
		points = append(points[:0:0], points[:painted]...)
	}
	s.fill(slices.Repeat(points[:painted], pillarPoints+3))
	if len(s.counts) != 1 || s.counts[0] != pillarPoints {
		t.Errorf("%d pillars of %d points", len(s.counts), s.counts[0])
	}
}

func TestBadModels(t *testing.T) {
	for _, c := range []struct {
		name, role, want string
		change           func(p *workload.Ports)
	}{
		{"two pictures", segmentation, "must have one picture", func(p *workload.Ports) { p.Inputs = append(p.Inputs, p.Inputs[0]) }},
		{"a fixed size", segmentation, "input image of the model's segmentation is float32[1 3 64 96]: picture 3 of frame 0 is float32[1 3 44 96]", func(p *workload.Ports) { p.Inputs[0].Shape = tensor.Shape{1, 3, 64, 96} }},
		{"classes of pixels", segmentation, "none of which is float32 with 4 axes", func(p *workload.Ports) { p.Outputs[0].Type = tensor.Int64 }},
		{"unpainted points", detection, "must have float32[P 20 11]", func(p *workload.Ports) { p.Inputs[0].Shape = tensor.Shape{-1, 20, 5} }},
		{"no places", detection, "must have float32[P 20 11]", func(p *workload.Ports) { p.Inputs = p.Inputs[:1] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setup()
			p := s.Ports[c.role]
			c.change(&p)
			s.Ports[c.role] = p
			if _, err := open(s); !testenv.Names(err, c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// What models give is not trusted.
func TestBadAnswers(t *testing.T) {
	w, store := sample(t, 0)
	nan := float32(math.NaN())
	full := func(v float32, shape ...int64) tensor.Tensor {
		return tensor.Of(slices.Repeat([]float32{v}, int(tensor.Shape(shape).Len())), shape...)
	}
	boxes := func(v float32) func(int, []backend.Value) tensor.Tensor {
		return func(int, []backend.Value) tensor.Tensor { return full(v, 3, candidateRow) }
	}
	pixels := func(v float32) func(int, []backend.Value) tensor.Tensor {
		return func(run int, _ []backend.Value) tensor.Tensor {
			return full(v, 1, classes, int64(sizes[run].Height), int64(sizes[run].Width))
		}
	}
	for _, c := range []struct {
		name, want           string
		segments, detections func(int, []backend.Value) tensor.Tensor
	}{
		{"good", "", pixels(0), boxes(0)},
		{"scores that are not numbers", "of picture 0: not numbers", pixels(nan), boxes(0)},
		{"scores of another size", "the segmentation gave float32[1 19 2 2] of picture 0", func(int, []backend.Value) tensor.Tensor { return full(0, 1, 19, 2, 2) }, boxes(0)},
		{"boxes that are not numbers", "the detection: number 0 of candidate 0 is NaN", pixels(0), boxes(nan)},
		{"boxes without scores", "the detection gave float32[3 7]", pixels(0), func(int, []backend.Value) tensor.Tensor { return full(0, 3, 7) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := w.NewPredictor(workload.Sessions{segmentation: &goldenSession{t: t, answers: c.segments}, detection: &goldenSession{t: t, answers: c.detections}}, 1)
			testenv.Must(t, err, p.Use(store))
			got := answers{}
			err = p.Predict(t.Context(), []workload.Item{{Index: 0}}, got)
			if c.want == "" && (err != nil || len(got[0]) != 4*accuracy.WaymoRow) || c.want != "" && (err == nil || !strings.Contains(err.Error(), "sample 0: ") || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, %d bytes, want %q", err, len(got[0]), c.want)
			}
			testenv.Must(t, p.Close())
		})
	}
	p, err := w.NewPredictor(workload.Sessions{}, 1)
	testenv.Must(t, err)
	if err := p.Predict(t.Context(), make([]workload.Item, 1), answers{}); err == nil {
		t.Error("no samples are loaded, and there is no error")
	}
}

func TestBadPicture(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.CopyFS(dir, os.DirFS(filepath.Join(golden, "kitti_format"))))
	other := testenv.Read(t, filepath.Join(dir, "training/image_3/1000000.jpg"))
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "training/image_1/1000001.jpg"), other, 0o644), os.WriteFile(filepath.Join(dir, "training/image_4/1000000.jpg"), other[:500], 0o644))
	s := setup()
	s.DatasetDir = dir
	w, err := open(s)
	testenv.Must(t, err)
	for i, want := range []string{"image_4/1000000.jpg: decoding JPEG", "image_1/1000001.jpg: the picture has 44×96 pixels, waymo_infos_val.pkl says 64×96"} {
		store, err := workload.NewStore(1, func(int) []workload.Slot { return w.Row(i) })
		testenv.Must(t, err)
		if err := w.Prepare(i, store.Row(0)); !testenv.Names(err, want) {
			t.Errorf("%v, want %s", err, want)
		}
		testenv.Must(t, store.Close())
	}
}

// Rows that come from another machine are checked.
func TestExchangedRows(t *testing.T) {
	w, store := sample(t, 0)
	x, row := w.Exchange, store.Row(0)
	var shapes []tensor.Shape
	for i, in := range x.Inputs {
		shapes = append(shapes, row[i].Shape)
		if in.Type != row[i].Type || len(in.Shape) != len(row[i].Shape) {
			t.Errorf("%s is %v, a row has %v", in.Name, in.Slot, row[i])
		}
	}
	made, err := x.Complete(shapes)
	if err != nil || !slices.EqualFunc(made, w.Row(0), func(a, b workload.Slot) bool { return a.Type == b.Type && slices.Equal(a.Shape, b.Shape) }) {
		t.Errorf("%v, %v", made, err)
	}
	testenv.Must(t, x.Check(row))
	frame := tensor.Data[int64](row[frameSlot])
	frame[1] = row[pointsSlot].Shape[0] + 1
	if err := x.Check(row); err == nil {
		t.Error("more points than there are were taken")
	}
	frame[1] = 0
	tensor.Data[float32](row[calibrationSlot])[5] = float32(math.Inf(1))
	if err := x.Check(row); err == nil {
		t.Error("an infinite calibration was taken")
	}
}

func TestFilesHaveTwoNames(t *testing.T) {
	for _, names := range [][2]string{{"deeplabv3+.onnx", "pp.onnx"}, {"segmentation.onnx", "detection.onnx"}} {
		dir := t.TempDir()
		if _, err := files(dir); !testenv.Names(err, "pp.onnx … detection.onnx") {
			t.Error(err)
		}
		testenv.Tree(t, dir, map[string]string{names[0]: "", names[1]: ""})
		list, err := files(dir)
		if err != nil || len(list) != 2 || list[0] != (workload.File{Role: segmentation, Path: filepath.Join(dir, names[0])}) || filepath.Base(list[1].Path) != names[1] {
			t.Errorf("%v, %v", list, err)
		}
		if _, err := files(list[0].Path); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestScoreOptions(t *testing.T) {
	log := func() accuracy.Input {
		f, err := os.Open(golden + "/log_a.json")
		testenv.Must(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	want := string(testenv.Read(t, golden+"/score_a.txt"))
	got, err := score(t.Context(), log(), workload.Scoring{DatasetDir: golden, Options: workload.Values{verboseOption: "true", inverseMapOption: "true"}})
	if err != nil || strings.TrimSpace(got.Text()) != strings.TrimSpace(want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = score(t.Context(), log(), workload.Scoring{DatasetDir: golden}); err != nil || len(got.Lines) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err = score(t.Context(), log(), workload.Scoring{DatasetDir: golden, Samples: 5}); err == nil || !strings.Contains(err.Error(), "5 samples") {
		t.Error(err)
	}
}
