package jpeg

import (
	"image"
	"math/rand/v2"
	"testing"
)

// T.81 §A.1.1 and §A.2: a component has ⌈X·H/Hmax⌉ samples across, MCUs cover the picture.
func TestSizesFollowFromTheFactors(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 1))
	ceil := func(a, b int) int { // by counting
		n := 0
		for ; a > 0; a -= b {
			n++
		}
		return n
	}
	for range 2000 {
		f := frame{width: 1 + rng.IntN(300), height: 1 + rng.IntN(300)}
		maxH, maxV := 1, 1
		for i := range 1 + rng.IntN(4) {
			c := component{id: uint8(i), h: 1 + rng.IntN(4), v: 1 + rng.IntN(4)}
			f.comps = append(f.comps, c)
			maxH, maxV = max(maxH, c.h), max(maxV, c.v)
		}
		whole := true
		for _, c := range f.comps {
			whole = whole && maxH%c.h == 0 && maxV%c.v == 0
		}
		err := f.layOut()
		if (err == nil) != whole {
			t.Fatalf("%+v: %v", f.comps, err)
		}
		if err != nil {
			continue
		}
		if f.mcusX != ceil(f.width, 8*maxH) || f.mcusY != ceil(f.height, 8*maxV) {
			t.Fatalf("%d×%d pixels are %d×%d MCUs of %d×%d blocks", f.width, f.height, f.mcusX, f.mcusY, maxH, maxV)
		}
		for _, c := range f.comps {
			if c.width != ceil(f.width*c.h, maxH) || c.height != ceil(f.height*c.v, maxV) {
				t.Fatalf("%d×%d pixels are %d×%d samples of %d×%d of %d×%d", f.width, f.height, c.width, c.height, c.h, c.v, maxH, maxV)
			}
			if c.blocksX != ceil(c.width, 8) || c.blocksY != ceil(c.height, 8) || c.stride != 8*c.blocksX {
				t.Fatalf("%d×%d samples are %d×%d blocks in rows of %d", c.width, c.height, c.blocksX, c.blocksY, c.stride)
			}
			if c.blocksX > f.mcusX*c.h || c.blocksY > f.mcusY*c.v {
				t.Fatalf("%d×%d blocks are more than %d×%d MCUs have", c.blocksX, c.blocksY, f.mcusX, f.mcusY)
			}
		}
	}
}

// The blocks that it takes are those of the samples that upsampling looks at for one of the pixels: those below them, and
// the neighbours on each side. There may be a block more, but no more than that.
func TestWantedBlocksHaveWhatIsLookedAt(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 2))
	for range 500 {
		f := frame{width: 1 + rng.IntN(100), height: 1 + rng.IntN(100), comps: []component{{h: 1 << rng.IntN(3), v: 1 << rng.IntN(3)}, {h: 1, v: 1}}}
		if err := f.layOut(); err != nil {
			t.Fatal(err)
		}
		x, y := rng.IntN(f.width), rng.IntN(f.height)
		pixels := image.Rect(x, y, x+1+rng.IntN(f.width-x), y+1+rng.IntN(f.height-y))
		f.want(pixels)
		for _, c := range f.comps {
			sx, sy := f.maxH/c.h, f.maxV/c.v
			inside := image.Rect(0, 0, c.blocksX, c.blocksY)
			for py := pixels.Min.Y; py < pixels.Max.Y; py++ {
				for _, px := range []int{pixels.Min.X, pixels.Max.X - 1} {
					for _, at := range []image.Point{{px/sx - 1, py / sy}, {px/sx + 1, py / sy}, {px / sx, py/sy - 1}, {px / sx, py/sy + 1}} {
						if at.X < 0 || at.Y < 0 || at.X >= c.width || at.Y >= c.height {
							continue // it repeats the edge
						}
						if block := image.Pt(at.X/8, at.Y/8); !block.In(c.wanted) {
							t.Fatalf("pixels %v of %d×%d: block %v of %v is not among %v", pixels, f.width, f.height, block, inside, c.wanted)
						}
					}
				}
			}
			if most := pixels.Dx()/sx/8 + 3; c.wanted.Dx() > most || !c.wanted.In(inside) {
				t.Fatalf("pixels %v: %v of %v blocks", pixels, c.wanted, inside)
			}
		}
	}
}

func TestFactorsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name  string
		comps []component
		want  string
	}{
		{"none across", []component{{id: 7, h: 0, v: 1}}, "component 7 has sampling factors 0×1, want 1 to 4"},
		{"none down", []component{{id: 7, h: 1, v: 0}}, "component 7 has sampling factors 1×0, want 1 to 4"},
		{"five", []component{{id: 1, h: 1, v: 1}, {id: 2, h: 5, v: 1}}, "component 2 has sampling factors 5×1, want 1 to 4"},
		{"two to three", []component{{id: 1, h: 3, v: 1}, {id: 2, h: 2, v: 1}}, "unsupported kind of JPEG: sampling ratio 3/2×1/1 is not a whole number"},
		{"three to four", []component{{id: 1, h: 1, v: 4}, {id: 2, h: 1, v: 3}}, "unsupported kind of JPEG: sampling ratio 1/1×4/3 is not a whole number"},
	} {
		f := frame{width: 10, height: 10, comps: c.comps}
		if err := f.layOut(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// The frame of one file leaves memory to that of the next, and nothing else.
func TestAFrameKeepsMemoryOnly(t *testing.T) {
	var f frame
	f.seen, f.progressive, f.jfif, f.adobe, f.app1, f.orientation, f.restart, f.transform = true, true, true, true, true, 6, 5, 2
	if err := f.setComponents([]byte{1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1}, 3); err != nil {
		t.Fatal(err)
	}
	f.comps[2].samples, f.comps[2].quantOK = make([]uint8, 10), true
	f.reset()
	if f.seen || f.progressive || f.jfif || f.adobe || f.app1 || f.orientation != 1 || f.restart != 0 || f.transform != 0 || len(f.comps) != 0 {
		t.Errorf("%+v", f)
	}
	if err := f.setComponents([]byte{9, 0x41, 2}, 1); err != nil || f.comps[0].id != 9 || f.comps[0].h != 4 || f.comps[0].v != 1 || f.comps[0].quantSlot != 2 {
		t.Errorf("%+v, %v", f.comps, err)
	}
	if err := f.setComponents([]byte{1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 4, 0x11, 0}, 4); err != nil || len(f.comps[2].samples) != 10 || f.comps[2].quantOK {
		t.Errorf("memory of %d samples, a table that is fixed: %v, %v", len(f.comps[2].samples), f.comps[2].quantOK, err)
	}
}
