package synth

// An Object is a shape of a scene, where it can be seen in a frame.
type Object struct {
	Kind Kind
	// Box is [x, y, width, height] in pixels, around the pixels that the shape makes up
	// at least half of.
	Box [4]int
}

// Objects returns the shapes of the scene as Render draws them in a frame of the same
// size, the farthest first. Shapes of which nothing is to be seen are left out.
func (s Scene) Objects(width, height int) []Object {
	width, height = max(0, width), max(0, height)
	var p painter
	p.place(&s, width, height)
	boxes := make([]extent, len(p.figures))
	unseen := make([]uint32, width) // of each pixel, what is not taken by nearer shapes
	for y := range height {
		for x := range unseen {
			unseen[x] = untaken
		}
		for i := len(p.figures) - 1; i >= 0; i-- {
			p.take(i, y, unseen, &boxes[i])
		}
	}
	var objects []Object
	for i, b := range boxes {
		if b.right > 0 {
			box := [4]int{b.left, b.top, b.right - b.left, b.bottom - b.top}
			objects = append(objects, Object{p.figures[i].kind, box})
		}
	}
	return objects
}

// untaken is a whole pixel, in units so small that it can be divided by opaque for each
// shape without a remainder.
const untaken = opaque * opaque * opaque * opaque * opaque

// An extent is the box around some pixels. It is empty if right is 0.
// take takes from row y what is seen of a figure, and adds pixels that are mostly its own to its box.
func (p *painter) take(figure, y int, unseen []uint32, box *extent) {
	first, last := p.figures[figure].cover(y, p.cover)
	for x := first; x < last; x++ {
		taken := unseen[x] / opaque * uint32(p.cover[x])
		unseen[x] -= taken
		if taken >= untaken/2 {
			box.add(x, y)
		}
	}
}

type extent struct{ left, top, right, bottom int }

func (b *extent) add(x, y int) {
	if b.right == 0 {
		*b = extent{x, y, x + 1, y + 1}
		return
	}
	b.left, b.right = min(b.left, x), max(b.right, x+1)
	b.bottom = y + 1
}
