package synth

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A WaymoSpec says everything about a built-in data set of frames, in the layout of the Waymo Open Dataset that PointPainting reads.
// Equal specs make equal sets.
type WaymoSpec struct {
	Seed   uint64 `json:"seed"`
	Frames int    `json:"frames"`
	// Full gives pictures the official size: 64 times the pixels.
	Full bool `json:"full,omitempty"`
	// Truth names the way in which the Judge chooses objects. It may be empty.
	Truth string `json:"truth,omitempty"`
}

func (s WaymoSpec) check() error {
	if s.Frames < 1 || s.Frames > 100_000 {
		return fmt.Errorf("frames is %d: must be 1 to 100000", s.Frames)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal frames.
func (s WaymoSpec) Key() string {
	return "waymo-" + keyOf("waymo seed %d frames %d full %v truth %q", s.Seed, s.Frames, s.Full, s.Truth)
}

// WriteWaymo makes a data set: waymo_infos_val.pkl, points and pictures, and the Manifest. Objects are those that the points are of, until
// the judge, if there is one, writes others.
//
// Folder, errors and ctx are as with WriteImageNet. Progress, if it is not nil, is told after each frame.
func WriteWaymo(ctx context.Context, dir string, spec WaymoSpec, judge Judge, progress func(done, total int)) error {
	return publish(ctx, dir, "Waymo", &spec, func(folder string) error { return spec.fill(ctx, folder, progress) }, judge)
}

// Sizes are those of the pictures of a frame: three to the front, two to the sides.
func (s WaymoSpec) Sizes() (sizes [waymo.Cameras]waymo.Size) {
	front, beside := waymo.Size{Height: 160, Width: 240}, waymo.Size{Height: 112, Width: 240}
	if s.Full {
		front, beside = waymo.Size{Height: 1280, Width: 1920}, waymo.Size{Height: 886, Width: 1920}
	}
	return [...]waymo.Size{front, front, front, beside, beside}
}

// id is the number of a frame, as those of the validation set are: 198 of a drive.
func (s WaymoSpec) id(frame int) int64 {
	const drive = 198
	return int64(1_000_000 + frame/drive*1000 + frame%drive)
}

func (s WaymoSpec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	for _, name := range []string{"velodyne", "image_0", "image_1", "image_2", "image_3", "image_4"} {
		if err := fileio.MkdirIn(folder, filepath.Join("training", name)); err != nil {
			return err
		}
	}
	objects := make([][]accuracy.WaymoObject, s.Frames)
	err := draw(ctx, s.Frames, func() func(i int) error {
		p := &painter{}
		return func(i int) error {
			scene := s.street(i)
			objects[i] = scene.objects()
			name := strconv.FormatInt(s.id(i), 10)
			if err := fileio.WriteFile(filepath.Join(folder, "training", "velodyne", name+".bin"), scene.points(), 0o644); err != nil {
				return err
			}
			for camera, size := range s.Sizes() {
				picture := NewScene(deriveSeed("waymo picture", s.Seed, uint64(i), uint64(camera)))
				path := filepath.Join(folder, "training", "image_"+strconv.Itoa(camera), name+".jpg")
				if err := p.write(path, &picture, frame{width: size.Width, height: size.Height, quality: 90}); err != nil {
					return err
				}
			}
			return nil
		}
	}, progress)
	if err != nil {
		return err
	}
	return s.WriteObjects(folder, objects)
}

// A street is what a scanner sees: ground, and things on it.
type street struct {
	r      *stream
	things []thing
}

// A thing stands on the ground, in the axes of the scanner, turned by an angle in turns.
type thing struct {
	class             int
	x, y, angle       float64
	width, long, tall float64
}

func (s WaymoSpec) street(i int) *street {
	const far, near = 70, 4
	w := &street{r: newStream("waymo street", s.Seed, uint64(i))}
	for range w.r.between(14, 26) {
		t := thing{class: w.r.pick([]int{3, 2, 4}), angle: w.r.uniform()}
		for t.x*t.x+t.y*t.y < near*near {
			t.x, t.y = far*(2*w.r.uniform()-1), far*(2*w.r.uniform()-1)
		}
		size := [...][3]float64{{0.84, 0.91, 1.74}, {0.84, 1.81, 1.77}, {2.08, 4.73, 1.77}}[t.class]
		for axis, to := range []*float64{&t.width, &t.long, &t.tall} {
			*to = float64(size[axis] * (0.9 + float64(0.2*w.r.uniform())))
		}
		w.things = append(w.things, t)
	}
	return w
}

// points is the file of the points: the ground, which is denser where it is near, and the sides of things. The last point is the
// Mark, far outside of the room that is looked at.
func (w *street) points() []byte {
	const ground, most, least = 14000, 300, 12
	var file []byte
	add := func(numbers ...float64) {
		for _, v := range numbers {
			file = binary.LittleEndian.AppendUint32(file, math.Float32bits(float32(v)))
		}
	}
	for range ground {
		u := w.r.uniform()
		distance, angle := 2+float64(73*float64(u*u)), w.r.uniform()
		add(float64(distance*cosine(angle)), float64(distance*sine(angle)), float64(0.03*w.r.normal()), float64(0.3*w.r.uniform()),
			float64(0.05*w.r.uniform()), 0)
	}
	for _, t := range w.things {
		away := math.Sqrt(float64(t.x*t.x) + float64(t.y*t.y))
		for range int(min(most, max(least, 3000/away))) {
			a, b, up := w.r.uniform()-0.5, w.r.uniform()-0.5, w.r.uniform()
			switch w.r.below(5) {
			case 0:
				a = 0.5
			case 1:
				a = -0.5
			case 2:
				b = 0.5
			case 3:
				b = -0.5
			default:
				up = 1
			}
			dx, dy := float64(a*t.width), float64(b*t.long)
			c, s := cosine(t.angle), sine(t.angle)
			add(t.x+float64(dx*c)-float64(dy*s), t.y+float64(dx*s)+float64(dy*c), float64(up*t.tall),
				float64(float64(t.class+1)*0.2)+float64(0.1*w.r.uniform()), float64(0.2*w.r.uniform()), 0)
		}
	}
	return append(file, fmt.Sprintf("%-24s", Mark)...)
}

// objects are the things before the first camera.
func (w *street) objects() (list []accuracy.WaymoObject) {
	toCamera := cameraAt(0)
	for _, t := range w.things {
		var at [3]float32
		for i := range at {
			at[i] = float32(float64(toCamera[4*i]*t.x) + float64(toCamera[4*i+1]*t.y) + toCamera[4*i+3])
		}
		list = append(list, accuracy.WaymoObject{Name: accuracy.WaymoClasses()[t.class], WaymoBox: accuracy.WaymoBox{
			Location: at, Dimensions: [3]float32{float32(t.long), float32(t.tall), float32(t.width)},
			Rotation: float32(float64((t.angle - 0.5) * 2 * math.Pi)),
		}})
	}
	return list
}

// cameraAt is Tr_velo_to_cam of a camera: the first looks ahead, two half and two a quarter turn to the left and right.
func cameraAt(camera int) [16]float64 {
	turn := [...]float64{0, 0.125, -0.125, 0.25, -0.25}[camera]
	c, s, i := cosine(turn), sine(turn), float64(camera)
	return [16]float64{s, -c, 0, 0.02 * i, 0, 0, -1, 1.8 + float64(0.01*i), c, s, 0, -0.3, 0, 0, 0, 1}
}

// lens is P of a camera.
func lens(size waymo.Size) [16]float64 {
	w, h := float64(size.Width), float64(size.Height)
	return [16]float64{0.95 * w, 0, 0.5 * w, 0, 0, 0.95 * w, 0.5 * h, 0, 0, 0, 1, 0, 0, 0, 0, 1}
}

// WriteObjects replaces the objects of all frames.
func (s WaymoSpec) WriteObjects(folder string, objects [][]accuracy.WaymoObject) error {
	if len(objects) != s.Frames {
		return fmt.Errorf("objects of %d frames for %d", len(objects), s.Frames)
	}
	var p pickler
	p.start()
	p.list(s.Frames, func(i int) { s.info(&p, i, objects[i]) })
	return fileio.WriteFile(filepath.Join(folder, waymo.InfoFile), p.end(), 0o644)
}

// info writes the entry of a frame.
func (s WaymoSpec) info(p *pickler, i int, objects []accuracy.WaymoObject) {
	sizes, n := s.Sizes(), len(objects)
	shape := func(size waymo.Size) {
		p.array("i4", []int{2}, func(add func(float64)) { add(float64(size.Height)); add(float64(size.Width)) })
	}
	matrix := func(m [16]float64) func() {
		return func() {
			p.array("f8", []int{4, 4}, func(add func(float64)) {
				for _, v := range m {
					add(v)
				}
			})
		}
	}
	calibration := []field{{"R0_rect", matrix([16]float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1})}}
	for camera, size := range sizes {
		calibration = append(calibration, field{fmt.Sprint("P", camera), matrix(lens(size))},
			field{fmt.Sprint("Tr_velo_to_cam_", camera), matrix(cameraAt(camera))})
	}
	columns := func(width int, of func(o *accuracy.WaymoObject) []float32) func() {
		return func() {
			extents := []int{n}
			if width > 1 {
				extents = append(extents, width)
			}
			p.array("f8", extents, func(add func(float64)) {
				for k := range objects {
					for _, v := range of(&objects[k]) {
						add(float64(v))
					}
				}
			})
		}
	}
	annotations := func() {
		p.dict(
			field{"name", func() { p.names(objects) }},
			field{"location", columns(3, func(o *accuracy.WaymoObject) []float32 { return o.Location[:] })},
			field{"dimensions", columns(3, func(o *accuracy.WaymoObject) []float32 { return o.Dimensions[:] })},
			field{"rotation_y", columns(1, func(o *accuracy.WaymoObject) []float32 { return []float32{o.Rotation} })},
			field{"bbox", columns(4, func(*accuracy.WaymoObject) []float32 { return make([]float32, 4) })},
			field{"difficulty", func() {
				p.array("i8", []int{n}, func(add func(float64)) {
					for _, o := range objects {
						add(float64(o.Difficulty))
					}
				})
			}},
		)
	}
	p.dict(
		field{"image", func() {
			p.dict(
				field{"image_idx", func() { p.int(int32(s.id(i))) }},
				field{"image_shape", func() { shape(sizes[0]) }},
				field{"camera", func() {
					p.list(len(sizes), func(camera int) { p.dict(field{"image_shape", func() { shape(sizes[camera]) }}) })
				}},
			)
		}},
		field{"point_cloud", func() {
			p.dict(field{"num_features", func() { p.int(6) }}, field{"velodyne_path", func() { p.text(fmt.Sprintf("training/velodyne/%d.bin", s.id(i))) }})
		}},
		field{"calib", func() { p.dict(calibration...) }},
		field{"annos", annotations}, field{"cam_sync_annos", annotations},
	)
}

// A pickler writes a pickle of protocol 3 of lists, dictionaries and NumPy arrays (Lib/pickletools.py describes the instructions).
type pickler struct{ bytes.Buffer }

// A field is an entry of a dictionary.
type field struct {
	name  string
	value func()
}

func (p *pickler) start() { p.WriteString("\x80\x03") }

// end ends the pickle. Readers do not look at what is behind it: the Mark.
func (p *pickler) end() []byte { return append(append(p.Bytes(), '.'), markComment...) }

func (p *pickler) number(op byte, n uint32) {
	p.WriteByte(op)
	p.Write(binary.LittleEndian.AppendUint32(nil, n))
}

func (p *pickler) int(n int32) { p.number('J', uint32(n)) }

func (p *pickler) text(s string) {
	p.number('X', uint32(len(s)))
	p.WriteString(s)
}

func (p *pickler) list(n int, item func(i int)) {
	p.WriteString("](")
	for i := range n {
		item(i)
	}
	p.WriteByte('e')
}

func (p *pickler) dict(fields ...field) {
	p.WriteString("}(")
	for _, f := range fields {
		p.text(f.name)
		f.value()
	}
	p.WriteByte('u')
}

// array writes an array of f8, i4 or i8.
func (p *pickler) array(code string, shape []int, fill func(add func(float64))) {
	var data []byte
	fill(func(v float64) {
		switch code {
		case "f8":
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		case "i4":
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
		default:
			data = binary.LittleEndian.AppendUint64(data, uint64(int64(v)))
		}
	})
	p.content(code, shape, data)
}

// names writes the array of the names of objects.
func (p *pickler) names(objects []accuracy.WaymoObject) {
	data := make([]byte, 4*longestName*len(objects))
	for i, o := range objects {
		for k, c := range []byte(o.Name) {
			data[4*(longestName*i+k)] = c
		}
	}
	p.content(fmt.Sprint("U", longestName), []int{len(objects)}, data)
}

// longestName is the length of the longest of accuracy.WaymoClasses.
const longestName = 10

// content writes an array of a type, little-endian.
func (p *pickler) content(code string, shape []int, data []byte) {
	p.WriteString("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01(")
	for _, n := range shape {
		p.int(int32(n))
	}
	p.WriteString("tcnumpy\ndtype\n")
	p.text(code)
	size := "J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00" // that of the type
	if code[0] == 'U' {
		size = string([]byte{'K', 4 * longestName, 'K', 4, 'K', 8}) // of an element, its alignment, and a flag
	}
	p.WriteString("\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNN" + size + "tb\x89")
	p.number('B', uint32(len(data)))
	p.Write(data)
	p.WriteString("tb")
}
