package synth

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The oracle is the picture: what changes when the colours of a shape do is the shape.
func TestBoxesAreThoseOfTheRenderedPixels(t *testing.T) {
	const width, height = 160, 120
	kindsSeen := map[Kind]bool{}
	for seed := range uint64(60) {
		s := quiet(NewScene(seed))
		want := visibleBoxes(&s, width, height)
		got := s.Objects(width, height)
		if len(got) != len(want) {
			t.Errorf("scene %d: %d objects %v, want boxes %v", seed, len(got), got, want)
			continue
		}
		for i, object := range got {
			kindsSeen[object.Kind] = true
			if object.Box != want[i] {
				t.Errorf("scene %d: the %v has the box %v, want %v", seed, object.Kind, object.Box, want[i])
			}
		}
	}
	if len(kindsSeen) != int(kinds) {
		t.Errorf("only the kinds %v were seen", kindsSeen)
	}
}

// visibleBoxes paints each shape once black and once white. Where it makes up half of a
// pixel, that changes by half of what is possible.
func visibleBoxes(s *Scene, width, height int) (boxes [][4]int) {
	for i := range s.shapeCount {
		dark := plain(*s)
		light := dark
		dark.shapes[i].colours = [2]colour{{0, 0.5, 0.5}, {0, 0.5, 0.5}}
		light.shapes[i].colours = [2]colour{{1, 0.5, 0.5}, {1, 0.5, 0.5}}
		var a, b painter
		a.place(&dark, width, height)
		b.place(&light, width, height)
		const half = 115<<levelBits - 8 // of the difference between black and white, but for rounding
		var box extent
		for y := range height {
			a.drawRow(y, height)
			b.drawRow(y, height)
			for x := range width {
				if b.line[3*x]-a.line[3*x] >= half {
					box.add(x, y)
				}
			}
		}
		if box.right > 0 {
			boxes = append(boxes, [4]int{box.left, box.top, box.right - box.left, box.bottom - box.top})
		}
	}
	return boxes
}

// plain returns the scene in medium grey, so that no pixel is ever too dark or too light.
func plain(s Scene) Scene {
	shapes := s.shapes
	s.each(func(p *float64) { *p = 0.5 })
	s.shapes = shapes
	for i := range s.shapes {
		s.shapes[i].colours = [2]colour{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}}
	}
	for i := range s.waves {
		s.waves[i].strength = 0
	}
	return s
}

// Cover is computed from spans; the oracle asks for each of many points in a pixel
// whether it is inside.
func TestCoverIsTheShareOfPointsInside(t *testing.T) {
	const width, height, points = 90, 70, 16
	cover := make([]uint8, width)
	scenes := uint64(1)
	if testenv.Long() {
		scenes = 8
	}
	for seed := range scenes {
		s := NewScene(seed)
		for i := range s.shapeCount {
			f := s.shapes[i].place(newView(width, height), width)
			for y := range height {
				clear(cover)
				f.cover(y, cover)
				for x := range width {
					want := float64(insideCount(&f, x, y, points)) / (points * points)
					if got := float64(cover[x]) / opaque; got < want-0.13 || got > want+0.13 {
						t.Fatalf("scene %d: the %v covers %.2f of pixel (%d, %d), want %.2f", seed, f.kind, got, x, y, want)
					}
				}
			}
		}
	}
}

func insideCount(f *figure, x, y, points int) (n int) {
	for j := range points {
		for i := range points {
			px := float64(x) + (float64(i)+0.5)/float64(points)
			py := float64(y) + (float64(j)+0.5)/float64(points)
			if inside(f.kind, f.own.x.at(px, py), f.own.y.at(px, py)) {
				n++
			}
		}
	}
	return n
}

// inside knows the shapes by their corners.
func inside(kind Kind, u, v float64) bool {
	switch kind {
	case Ellipse:
		return u*u+v*v <= 1
	case Triangle:
		const x, low = 0.8660254037844386, -0.5 // corners (0, -1), (±x, 1/2) in the picture
		return v <= -low && v >= -1+(u*1.5)/x && v >= -1-(u*1.5)/x
	}
	return u >= -1 && u <= 1 && v >= -1 && v <= 1
}

func TestObjectsScaleWithTheFrame(t *testing.T) {
	for seed := range uint64(20) {
		small, large := NewScene(seed).Objects(200, 150), NewScene(seed).Objects(400, 300)
		if len(small) > len(large) {
			t.Errorf("scene %d has %d objects, enlarged only %d", seed, len(small), len(large))
		}
		for i := range min(len(small), len(large)) {
			for j, v := range small[i].Box {
				if d := large[i].Box[j] - 2*v; len(small) == len(large) && (d < -4 || d > 4) {
					t.Errorf("scene %d: box %v becomes %v at twice the size", seed, small[i].Box, large[i].Box)
				}
			}
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	for kind, want := range map[Kind]string{
		Ellipse: "ellipse", Rectangle: "rectangle", Triangle: "triangle", Stripes: "stripes", kinds: "unknown shape",
	} {
		if got := kind.String(); got != want {
			t.Errorf("Kind(%d) = %q, want %q", int(kind), got, want)
		}
	}
}
