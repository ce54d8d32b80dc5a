package jpeg

import "fmt"

// decodeScans decodes everything up to the samples of the components.
func (d *Decoder) decodeScans() error {
	f := &d.frame
	if !f.progressive && len(d.scan.comps) == len(f.comps) {
		if err := d.startScan(); err != nil {
			return err
		}
		f.allocateSamples()
		d.decodeOnePass()
		return nil // libjpeg does not mind what follows
	}
	if err := d.decodeBuffered(); err != nil {
		return err
	}
	f.allocateSamples()
	if f.progressive && f.needsSmoothing(d.scan.number) {
		d.ent.damaged = true
		d.transformSmoothed()
	} else {
		f.transformAll()
	}
	return nil
}

func (f *frame) allocateSamples() {
	for i := range f.comps {
		c := &f.comps[i]
		c.samples = resized(c.samples, c.stride*8*c.blocksY)
	}
}

// startScan prepares the first or a later scan for decoding.
func (d *Decoder) startScan() error {
	if err := d.scan.start(&d.frame, &d.tables); err != nil {
		return err
	}
	if d.frame.progressive {
		if err := d.scan.noteProgression(); err != nil {
			return fmt.Errorf("scan %d: %w", d.scan.number, err)
		}
	}
	if err := d.ent.start(&d.src, &d.frame, &d.scan, &d.tables); err != nil {
		return fmt.Errorf("scan %d: %w", d.scan.number, err)
	}
	return nil
}

// decodeOnePass decodes a sequential file of a single scan straight into samples.
func (d *Decoder) decodeOnePass() {
	s, e := &d.scan, &d.ent
	for my := range s.mcusY {
		for mx := range s.mcusX {
			e.beginMCU(&d.src)
			for i := range s.blocks {
				b := &s.blocks[i]
				d.decodeSamples(b, mx*b.mx+b.dx, my*b.my+b.dy)
			}
			e.endMCU()
		}
	}
}

// decodeSamples decodes one block to the samples at block position x, y. Blocks that
// are not wanted, or only fill up the last MCU of a row or column, are decoded to get
// past them.
func (d *Decoder) decodeSamples(m *mcuBlock, x, y int) {
	e, c := &d.ent, m.comp
	var nonZero uint64
	var sum int64
	if !e.short {
		slot := &e.slots[m.pos]
		nonZero, sum = e.bits.block(&e.coefs, slot.dc, slot.ac, &c.deq, &e.dcPred[m.pos])
	}
	if w := &c.wanted; x >= w.Min.X && x < w.Max.X && y >= w.Min.Y && y < w.Max.Y {
		inverse(c.samples[8*(y*c.stride+x):], c.stride, &e.coefs, nonZero, sum)
	}
	if nonZero != 0 {
		e.coefs = block{}
	}
}

// decodeBuffered reads all scans of a file into the coefficient buffers.
func (d *Decoder) decodeBuffered() error {
	d.frame.allocateCoefs()
	for {
		if err := d.startScan(); err != nil {
			return err
		}
		if err := d.decodeCoefs(); err != nil {
			return fmt.Errorf("scan %d: %w", d.scan.number, err)
		}
		found, err := d.readMarkers()
		if err != nil || !found {
			return err
		}
	}
}

func (f *frame) allocateCoefs() {
	for i := range f.comps {
		c := &f.comps[i]
		c.coefStride = f.mcusX * c.h
		c.coefs = resized(c.coefs, c.coefStride*f.mcusY*c.v)
		clear(c.coefs)
		for k := range c.bits {
			c.bits[k], c.prevBits[k] = -1, -1
		}
	}
}

// decodeCoefs decodes one scan into the coefficient buffers.
func (d *Decoder) decodeCoefs() error {
	s, e := &d.scan, &d.ent
	decode := e.blockDecoder(d.frame.progressive, s)
	for my := range s.mcusY {
		for mx := range s.mcusX {
			if !e.short {
				e.lastGood = my / s.rowsPerMCU
			} else if e.exhausted(&d.src) {
				return nil
			}
			e.beginMCU(&d.src)
			for i := range s.blocks {
				b := &s.blocks[i]
				at := (my*b.my+b.dy)*b.comp.coefStride + mx*b.mx + b.dx
				if err := decode(&b.comp.coefs[at], b.pos); err != nil {
					return err
				}
			}
			e.endMCU()
		}
	}
	return nil
}
