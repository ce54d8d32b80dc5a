package jpeg

import (
	"errors"
	"fmt"
	"slices"
)

// maxScans bounds the work that a small hostile file can ask for. Encoders write
// about ten scans; libjpeg has no limit.
const maxScans = 1000

// A scan is what SOS says, and how its MCUs are laid out.
type scan struct {
	number int // counts from 1
	comps  []*component
	dcSlot [4]uint8 // by position in comps, like the following
	acSlot [4]uint8

	ss, se, ah, al int // spectral selection and successive approximation

	mcusX, mcusY int
	rowsPerMCU   int // rows of MCUs of this scan in one row of interleaved MCUs
	blocks       []mcuBlock
}

// An mcuBlock is the place of one block in an MCU.
type mcuBlock struct {
	comp   *component
	pos    int // of comp in the scan
	dx, dy int // in blocks, from the MCU's first block of that component
	mx, my int // size of the MCU, in blocks of that component
}

// readScanHeader reads a SOS segment.
func (d *Decoder) readScanHeader() error {
	s, f := &d.scan, &d.frame
	if !f.seen {
		return errors.New("scan without a frame header")
	}
	seg, err := d.src.segment()
	if err != nil {
		return fmt.Errorf("scan header: %w", err)
	}
	if err := s.read(seg, f); err != nil {
		return err
	}
	s.number++
	if s.number > maxScans {
		return fmt.Errorf("more than %d scans", maxScans)
	}
	return nil
}

// read takes the components of a scan, and what part of their coefficients it has.
func (s *scan) read(seg []byte, f *frame) error {
	if len(seg) < 1 || seg[0] < 1 || seg[0] > maxComponents || len(seg) != 4+2*int(seg[0]) {
		return fmt.Errorf("scan header has a wrong length of %d bytes", len(seg))
	}
	n := int(seg[0])
	s.comps = s.comps[:0]
	for i := range n {
		id, slots := seg[1+2*i], seg[2+2*i]
		if err := s.add(f, id); err != nil {
			return err
		}
		s.dcSlot[i], s.acSlot[i] = slots>>4, slots&15
	}
	tail := seg[1+2*n:]
	s.ss, s.se, s.ah, s.al = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	return nil
}

// add appends the component with the given id. As in libjpeg, the order must be that
// of the frame header.
func (s *scan) add(f *frame, id uint8) error {
	for ci := range f.comps {
		c := &f.comps[ci]
		if c.id == id && ci >= len(s.comps) && !slices.Contains(s.comps, c) {
			s.comps = append(s.comps, c)
			return nil
		}
	}
	return fmt.Errorf("scan %d has an unknown, repeated or misplaced component %d", s.number+1, id)
}

// start lays out the MCUs of the scan and fixes the quantisation tables of components
// that have their first scan.
func (s *scan) start(f *frame, t *tables) error {
	s.blocks = s.blocks[:0]
	if len(s.comps) == 1 { // not interleaved: an MCU is one block
		c := s.comps[0]
		s.mcusX, s.mcusY, s.rowsPerMCU = c.blocksX, c.blocksY, c.v
		s.blocks = append(s.blocks, mcuBlock{comp: c, mx: 1, my: 1})
		return c.latch(t)
	}
	s.mcusX, s.mcusY, s.rowsPerMCU = f.mcusX, f.mcusY, 1
	for i, c := range s.comps {
		for dy := range c.v {
			for dx := range c.h {
				s.blocks = append(s.blocks, mcuBlock{comp: c, pos: i, dx: dx, dy: dy, mx: c.h, my: c.v})
			}
		}
		if err := c.latch(t); err != nil {
			return err
		}
	}
	if len(s.blocks) > maxMCUBlocks {
		return fmt.Errorf("MCU has %d blocks, want at most %d", len(s.blocks), maxMCUBlocks)
	}
	return nil
}

// latch keeps the quantisation table that is current when the component's first scan
// begins.
func (c *component) latch(t *tables) error {
	if c.quantOK {
		return nil
	}
	if c.quantSlot >= 4 || !t.quantOK[c.quantSlot] {
		return fmt.Errorf("component %d has no quantisation table %d", c.id, c.quantSlot)
	}
	c.quant, c.quantOK = t.quant[c.quantSlot], true
	for k := range c.deq {
		c.deq[k] = uint32(c.quant[min(k, 63)])<<8 | uint32(naturalOrder[k])
	}
	return nil
}
