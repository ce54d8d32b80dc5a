package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// WaymoClasses are the classes of PointPainting, in the order of their numbers in responses.
func WaymoClasses() []string { return []string{"Pedestrian", "Cyclist", "Car"} }

// WaymoRow is how many numbers of a response a box has, all float32.
const WaymoRow = 14

// A WaymoBox stands in the axes of a camera, x to the right, y down, z to the front: its lower side has its middle at Location,
// and it reaches Dimensions[0] along x, [1] up and [2] along z, all in metres, before it is turned about y by Rotation, in radians.
type WaymoBox struct {
	Location, Dimensions [3]float32
	Rotation             float32
}

// A WaymoObject is an object of the ground truth. Objects of difficulty 0 are to be found, others may be.
type WaymoObject struct {
	Name       string // one of WaymoClasses counts
	Difficulty int
	WaymoBox
}

// A WaymoFrame is the ground truth of a sample.
type WaymoFrame struct {
	ID      int64 // image_idx; each occurs once
	Objects []WaymoObject
}

// waymoIoUs are the overlaps above which a box is an object of its class (tools/evaluate.py).
var waymoIoUs = [...]float32{0.5, 0.5, 0.7}

// ScoreWaymo scores a log of boxes as accuracy_waymo.py of PointPainting does: the average precision of each class as KITTI has it, at
// 11 of 41 recalls, with the overlap of volumes. The first record of a sample counts. The first value is "mAP", as a share of 1, as in the
// table of targets; the line of the script has percent. Every frame must be in the log: the script fails otherwise.
func ScoreWaymo(log Input, frames []WaymoFrame, verbose bool) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(frames)}, Classes: &Classes{Metric: "AP", Unit: "%", Of: "objects"}}
	byID := make(map[int64]*waymoFrame, len(frames))
	all := make([]*waymoFrame, len(frames))
	for i := range frames {
		all[i] = newWaymoFrame(&frames[i])
		byID[frames[i].ID] = all[i]
	}
	named, elsewhere := map[int64]bool{}, 0
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		rows, at, err := float32s.numbers(rec.Data)
		if err == nil && rows%WaymoRow != 0 {
			err = fmt.Errorf("%d numbers are not rows of %d", rows, WaymoRow)
		}
		for i := 0; i < rows && err == nil; i += WaymoRow {
			var row [WaymoRow]float32
			for k := range row {
				row[k] = float32(at(i + k))
			}
			var id int64
			if id, err = waymoNumbers(row); err != nil {
				err = fmt.Errorf("box %d: %w", i/WaymoRow, err)
				break
			}
			named[id] = true
			if id != frames[rec.QSLIndex].ID {
				elsewhere++
			}
			if frame := byID[id]; frame != nil {
				if err = frame.add(row); err != nil {
					err = fmt.Errorf("box %d: %w", i/WaymoRow, err)
				}
			}
		}
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
	}
	if score.Coverage.Scored == 0 {
		return nil, errNoRecord(log)
	}
	for i, frame := range all {
		if !frame.logged {
			return nil, fmt.Errorf("%s: frame %d of sample %d is not in the log: the official script requires every frame", log.Name(), frames[i].ID, i)
		}
	}
	var parts []string
	total := 0.0
	for class, name := range WaymoClasses() {
		ap, objects := waymoPrecision(all, class)
		total += ap
		parts = append(parts, fmt.Sprintf("'%s': [%s]", name, pythonFloat(ap)))
		score.Classes.add(name, int64(class), ap, objects)
	}
	total /= float64(len(waymoIoUs))
	score.Values = []Value{{Name: "mAP", Value: total / 100}}
	score.printf("{%s, 'Total': %s}", strings.Join(parts, ", "), pythonFloat(total))
	if verbose {
		score.printf("found %d results", score.Coverage.records())
		score.printf("found %d images", len(named))
		score.printf("found 0 images with no results") // the script never counts them
		score.printf("ignored %d dupes", score.Coverage.Repeated)
	}
	if elsewhere > 0 {
		score.warnf("%d boxes have the number of another frame than that of their sample; the official script goes by their number", elsewhere)
	}
	return score, nil
}

// pythonFloat is the repr of a float of Python.
func pythonFloat(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if small := v != 0 && math.Abs(v) < 1e-4; small || math.Abs(v) >= 1e16 {
		text = strconv.FormatFloat(v, 'e', -1, 64)
	} else if !strings.Contains(text, ".") && v-v == 0 {
		text += ".0"
	}
	return strings.ToLower(text)
}

// waymoNumbers wants numbers in a row, and returns its frame.
func waymoNumbers(row [WaymoRow]float32) (frame int64, err error) {
	for k, v := range row {
		if v-v != 0 {
			return 0, fmt.Errorf("number %d is %v", k, v)
		}
	}
	return truncate(float64(row[WaymoRow-1]))
}

// A waymoFrame is a frame with the boxes that were found in it.
type waymoFrame struct {
	truth   []waymoTruth
	found   []waymoFound
	objects [len(waymoIoUs)]int // that are to be found
	logged  bool
}

// A waymoTruth is an object of a class, or one that looks like it.
type waymoTruth struct {
	class     int
	ignored   bool // it may be found
	ground    Rectangle
	box       WaymoBox
	candidate []waymoOverlap // boxes that overlap it by enough, in the order of the log
}

type waymoOverlap struct {
	found int
	iou   float32
}

type waymoFound struct {
	class   int
	ignored bool
	score   float32
}

func newWaymoFrame(f *WaymoFrame) *waymoFrame {
	w := &waymoFrame{}
	for _, o := range f.Objects {
		name, alike := o.Name, false
		switch name {
		case "Person_sitting":
			name, alike = "Pedestrian", true
		case "Van":
			name, alike = "Car", true
		}
		class := slices.Index(WaymoClasses(), name)
		if class < 0 {
			continue
		}
		t := waymoTruth{class: class, ignored: alike || o.Difficulty != 0, ground: o.ground(), box: o.WaymoBox}
		if !t.ignored {
			w.objects[class]++
		}
		w.truth = append(w.truth, t)
	}
	return w
}

// ground is what a box covers of the ground, seen from above.
func (b *WaymoBox) ground() Rectangle {
	low := func(axis int) float64 { return float64(b.Location[axis] - b.Dimensions[axis]/2) }
	high := func(axis int) float64 { return float64(b.Location[axis] + b.Dimensions[axis]/2) }
	return NewRectangle(low(0), low(2), high(0), high(2), float64(-b.Rotation))
}

// overlap is the volume that two boxes have in common, as a part of that of both (iou3d_camera of tools/process.py, in float32).
func (b *WaymoBox) overlap(o *WaymoBox, ground, other *Rectangle) float32 {
	height := min(b.Location[1], o.Location[1]) - max(b.Location[1]-b.Dimensions[1], o.Location[1]-o.Dimensions[1])
	if height <= 0 {
		return 0
	}
	common := float32(height * float32(ground.Overlap(other)))
	volume := func(d [3]float32) float32 { return float32(float32(d[0]*d[1]) * d[2]) }
	return common / (float32(volume(b.Dimensions)+volume(o.Dimensions)) - common + 1e-8)
}

// add adds a row of a response. One whose first dimension is not above 0 says that there is nothing.
func (w *waymoFrame) add(row [WaymoRow]float32) error {
	w.logged = true
	if row[0] <= 0 {
		return nil
	}
	class, err := truncate(float64(row[11]))
	if err != nil || class < 0 || class >= int64(len(waymoIoUs)) {
		return fmt.Errorf("class %v, the last one is %d", row[11], len(waymoIoUs)-1)
	}
	// The script leaves out boxes that are lower than -1 in the picture, which is that of the last camera, whatever they are.
	const lowest = -1
	f := waymoFound{class: int(class), ignored: float64(row[10])-float64(row[8]) < lowest, score: row[12]}
	box := WaymoBox{Dimensions: [3]float32(row[:3]), Location: [3]float32(row[3:6]), Rotation: row[6]}
	ground := box.ground()
	for i := range w.truth {
		t := &w.truth[i]
		if !f.ignored && f.class != t.class {
			continue
		}
		if iou := t.box.overlap(&box, &t.ground, &ground); iou > waymoIoUs[t.class] {
			t.candidate = append(t.candidate, waymoOverlap{len(w.found), iou})
		}
	}
	w.found = append(w.found, f)
	return nil
}

// waymoPrecision is the average precision of a class, in percent, and how many objects it has.
func waymoPrecision(frames []*waymoFrame, class int) (ap float64, objects int) {
	var right []float32
	for _, f := range frames {
		objects += f.objects[class]
		f.match(class, func(assigned []bool, t *waymoTruth) int {
			best, score := -1, float32(-1)
			for _, c := range t.candidate {
				if found := f.found[c.found]; !assigned[c.found] && found.score > score {
					best, score = c.found, found.score
				}
			}
			if best >= 0 && !t.ignored && !f.found[best].ignored {
				right = append(right, score)
			}
			return best
		})
	}
	var precisions []float64
	for _, threshold := range waymoThresholds(right, objects) {
		good, wrong := 0, 0
		for _, f := range frames {
			assigned := f.match(class, func(assigned []bool, t *waymoTruth) int {
				best, iou := -1, float32(-1)
				for _, c := range t.candidate {
					switch found := f.found[c.found]; {
					case assigned[c.found] || found.score < threshold:
					case !found.ignored && c.iou > iou:
						best, iou = c.found, c.iou
					case found.ignored && iou == -1:
						best = c.found
					}
				}
				if best >= 0 && !t.ignored && !f.found[best].ignored {
					good++
				}
				return best
			})
			for k, found := range f.found {
				if found.class == class && !found.ignored && found.score >= threshold && !assigned[k] {
					wrong++
				}
			}
		}
		precisions = append(precisions, float64(good)/float64(good+wrong))
	}
	sum := 0.0
	for i := len(precisions) - 2; i >= 0; i-- {
		precisions[i] = max(precisions[i], precisions[i+1])
	}
	for i := 0; i < len(precisions); i += 4 {
		sum += precisions[i]
	}
	return sum / 11 * 100, objects
}

// match gives each object of a class the box that choose names, -1 for none, and says which boxes were given.
func (w *waymoFrame) match(class int, choose func(assigned []bool, t *waymoTruth) int) (assigned []bool) {
	assigned = make([]bool, len(w.found))
	for i := range w.truth {
		if t := &w.truth[i]; t.class == class {
			if best := choose(assigned, t); best >= 0 {
				assigned[best] = true
			}
		}
	}
	return assigned
}

// waymoThresholds are the scores at which about 41 recalls are reached, of the scores of right boxes.
func waymoThresholds(right []float32, objects int) (thresholds []float32) {
	const points = 41
	slices.Sort(right)
	slices.Reverse(right)
	recall := 0.0
	for i, score := range right {
		low, high := float64(i+1)/float64(objects), float64(i+2)/float64(objects)
		if i < len(right)-1 && (low+high)/2 < recall {
			continue
		}
		thresholds = append(thresholds, score)
		recall = float64(len(thresholds)) / (points - 1)
	}
	return thresholds
}
