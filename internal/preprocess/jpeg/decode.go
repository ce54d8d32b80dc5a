package jpeg

import (
	"errors"
	"fmt"
	"image"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// DefaultMaxPixels is the largest image that a Decoder accepts by default. An image takes up
// to 16 bytes of memory per pixel while it is decoded.
const DefaultMaxPixels = 1 << 26

// A Config is what the headers of a file say.
type Config struct {
	Width, Height int // as stored, before any rotation
	Orientation   int // EXIF orientation 1…8 as OpenCV reads it; 1 if the file has none
}

// An Image is a decoded file.
type Image struct {
	Config
	Pix []byte // Height rows of Width pixels, R, G, B each; top row first
}

// A Decoder decodes one image after the other and keeps its working memory in between. The
// zero value is ready for use. A Decoder serves one goroutine.
type Decoder struct {
	MaxPixels int // refuse larger images; 0 means DefaultMaxPixels

	src    source
	tables tables
	frame  frame
	scan   scan
	ent    entropy
	rows   [maxComponents][]uint8 // one row of each component at the size of the image
}

var errDamaged = errors.New("the image is damaged or cut off; fetch the file again")

// DecodeConfig reads the headers of data up to the first scan.
func DecodeConfig(data []byte) (Config, error) {
	var d Decoder
	return d.readConfig(data)
}

// Decode decodes the first image in data. It writes the pixels to pix if its capacity
// suffices, else to new memory, and keeps neither data nor pix. A part that is not nil gets
// the Config and returns the rectangle of pixels that the caller needs; the others are
// unspecified then.
func (d *Decoder) Decode(data, pix []byte, part func(Config) image.Rectangle) (Image, error) {
	c, err := d.readConfig(data)
	defer func() { d.src.data = nil }()
	if err != nil {
		return Image{}, err
	}
	limit := d.MaxPixels
	if limit == 0 {
		limit = DefaultMaxPixels
	}
	if c.Width > limit/c.Height { // the product may exceed an int
		return Image{}, fmt.Errorf("image of %d×%d pixels exceeds the limit of %d pixels", c.Width, c.Height, limit)
	}
	wanted := image.Rect(0, 0, c.Width, c.Height)
	if part != nil {
		wanted = part(c).Intersect(wanted)
	}
	d.frame.want(wanted)
	for i := range d.frame.comps {
		c := &d.frame.comps[i]
		c.samples = tensor.Grown(c.samples, c.stride*8*c.blocksY)
	}
	if !d.frame.progressive && len(d.scan.comps) == len(d.frame.comps) {
		err = d.decodeOnePass()
	} else {
		err = d.decodeBuffered()
	}
	if err != nil {
		return Image{}, err
	}
	img := Image{Config: c, Pix: tensor.Grown(pix, 3*c.Width*c.Height)}
	d.convert(img.Pix, wanted)
	return img, nil
}

// decodeOnePass decodes a sequential file of a single scan straight into samples. It ignores
// what follows the scan, as libjpeg does.
func (d *Decoder) decodeOnePass() error {
	if err := d.startScan(); err != nil {
		return err
	}
	s, e := &d.scan, &d.ent
	for my := range s.mcusY {
		for mx := range s.mcusX {
			if err := d.beginMCU(); err != nil {
				return err
			}
			for i := range s.blocks {
				m := &s.blocks[i]
				c, x, y := m.comp, mx*m.mx+m.dx, my*m.my+m.dy
				slot := &e.slots[m.pos]
				nonZero := e.bits.block(&e.coefs, slot.dc, slot.ac, &c.deq, &e.dcPred[m.pos])
				// Blocks that are not wanted, or only fill up the last MCU of a row or column, are
				// decoded to get past them.
				if w := &c.wanted; x >= w.Min.X && x < w.Max.X && y >= w.Min.Y && y < w.Max.Y {
					inverse(c.samples[8*(y*c.stride+x):], c.stride, &e.coefs, nonZero)
				}
				if nonZero != 0 {
					e.coefs = block{}
				}
			}
			if e.bits.overrun() || e.bits.bad {
				return errDamaged
			}
		}
	}
	return nil
}

// firstCoefs are the coefficients that libjpeg estimates if the scans leave them inexact.
const firstCoefs = 1<<10 - 1

// decodeBuffered reads all scans of a file into the coefficient buffers and transforms these.
func (d *Decoder) decodeBuffered() error {
	f := &d.frame
	for i := range f.comps {
		c := &f.comps[i]
		c.coefStride = f.mcusX * c.h
		c.coefs = tensor.Grown(c.coefs, c.coefStride*f.mcusY*c.v)
		clear(c.coefs)
	}
	for found := true; found; {
		err := d.startScan()
		if err == nil {
			err = d.decodeCoefs()
		}
		if err == nil {
			found, err = d.readMarkers()
		}
		if err != nil {
			return err
		}
	}
	for i := range f.comps {
		c := &f.comps[i]
		if c.exact&firstCoefs != firstCoefs {
			return errDamaged
		}
		for y := c.wanted.Min.Y; y < c.wanted.Max.Y; y++ {
			for x := c.wanted.Min.X; x < c.wanted.Max.X; x++ {
				b, nonZero := c.coefs[y*c.coefStride+x].dequantised(&c.deq)
				inverse(c.samples[8*(y*c.stride+x):], c.stride, &b, nonZero)
			}
		}
	}
	return nil
}

// decodeCoefs decodes one scan into the coefficient buffers.
func (d *Decoder) decodeCoefs() error {
	s, e := &d.scan, &d.ent
	decode := (*entropy).sequential
	switch {
	case !d.frame.progressive:
	case s.ss == 0 && s.ah == 0:
		decode = (*entropy).dcFirst
	case s.ss == 0:
		decode = (*entropy).dcRefine
	case s.ah == 0:
		decode = (*entropy).acFirst
	default:
		decode = (*entropy).acRefine
	}
	for my := range s.mcusY {
		for mx := range s.mcusX {
			if err := d.beginMCU(); err != nil {
				return err
			}
			for i := range s.blocks {
				m := &s.blocks[i]
				decode(e, &m.comp.coefs[(my*m.my+m.dy)*m.comp.coefStride+mx*m.mx+m.dx], m.pos, s)
			}
			if e.bits.overrun() || e.bits.bad {
				return errDamaged
			}
		}
	}
	for _, c := range s.comps {
		switch {
		case !d.frame.progressive:
			c.exact = firstCoefs
		case s.al == 0:
			c.exact |= 2<<s.se - 1<<s.ss
		}
	}
	return nil
}

// startScan lays out the MCUs of the scan whose header was read, fixes the quantisation
// tables of components that have their first scan, and builds the Huffman tables.
func (d *Decoder) startScan() error {
	s, f, e := &d.scan, &d.frame, &d.ent
	s.blocks = s.blocks[:0]
	s.mcusX, s.mcusY = f.mcusX, f.mcusY
	if len(s.comps) == 1 { // not interleaved: an MCU is one block
		c := s.comps[0]
		s.mcusX, s.mcusY = c.blocksX, c.blocksY
		s.blocks = append(s.blocks, mcuBlock{comp: c, mx: 1, my: 1})
	}
	for i, c := range s.comps {
		if len(s.comps) > 1 {
			for dy := range c.v {
				for dx := range c.h {
					s.blocks = append(s.blocks, mcuBlock{comp: c, pos: i, dx: dx, dy: dy, mx: c.h, my: c.v})
				}
			}
		}
		if c.quantOK {
			continue
		}
		if c.quantSlot >= 4 || !d.tables.quantOK[c.quantSlot] {
			return fmt.Errorf("component %d has no quantisation table %d", c.id, c.quantSlot)
		}
		c.quantOK = true
		for k := range c.deq {
			c.deq[k] = uint32(d.tables.quant[c.quantSlot][min(k, 63)])<<8 | uint32(naturalOrder[k])
		}
	}
	if len(s.blocks) > maxMCUBlocks {
		return fmt.Errorf("MCU has %d blocks, expected at most %d", len(s.blocks), maxMCUBlocks)
	}
	if f.progressive && !s.allowed() {
		return fmt.Errorf("progression Ss=%d Se=%d Ah=%d Al=%d of %d components is not allowed", s.ss, s.se, s.ah, s.al, len(s.comps))
	}
	for i, c := range s.comps {
		if !f.progressive || s.ss == 0 && s.ah == 0 {
			slot := s.dcSlot[i]
			if slot >= 4 || !d.tables.dcOK[slot] {
				return fmt.Errorf("component %d: DC Huffman table %d is missing", c.id, slot)
			}
			e.slots[i].dc = &e.huffDC[slot]
			if err := e.huffDC[slot].build(&d.tables.dc[slot], true, !f.progressive); err != nil {
				return fmt.Errorf("component %d: %w", c.id, err)
			}
		}
		if !f.progressive || s.ss > 0 {
			slot := s.acSlot[i]
			if slot >= 4 || !d.tables.acOK[slot] {
				return fmt.Errorf("component %d: AC Huffman table %d is missing", c.id, slot)
			}
			e.slots[i].ac = &e.huffAC[slot]
			if err := e.huffAC[slot].build(&d.tables.ac[slot], false, !f.progressive); err != nil {
				return fmt.Errorf("component %d: %w", c.id, err)
			}
		}
	}
	e.restart, e.toGo, e.nextRST = f.restart, f.restart, 0
	e.dcPred, e.eobRun = [4]int32{}, 0
	e.nextSegment(&d.src)
	return nil
}

// beginMCU reads a restart marker if one is due.
func (d *Decoder) beginMCU() error {
	e := &d.ent
	if e.restart == 0 {
		return nil
	}
	if e.toGo == 0 {
		if d.src.pending != markerRST0+e.nextRST {
			return errDamaged
		}
		e.nextSegment(&d.src)
		e.dcPred, e.eobRun = [4]int32{}, 0
		e.toGo = e.restart
		e.nextRST = (e.nextRST + 1) & 7
	}
	e.toGo--
	return nil
}
