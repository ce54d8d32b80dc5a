package jpeg

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

var errOverflow = errors.New("DC coefficient exceeds 32 bits")

// noteProgression checks the parameters of a progressive scan and keeps account of
// how exactly each coefficient is known: the position of the lowest bit received, -1
// for none.
func (s *scan) noteProgression() error {
	if !s.allowed() {
		return fmt.Errorf("progression Ss=%d Se=%d Ah=%d Al=%d of %d components is not allowed",
			s.ss, s.se, s.ah, s.al, len(s.comps))
	}
	for _, c := range s.comps {
		for k := min(s.ss, 1); k <= max(s.se, smoothed-1); k++ {
			c.prevBits[k] = 0
			if s.number > 1 {
				c.prevBits[k] = c.bits[k]
			}
		}
		for k := s.ss; k <= s.se; k++ {
			c.bits[k] = int8(s.al)
		}
	}
	return nil
}

// allowed reports whether a scan is one of those that T.81 table G.1 knows.
func (s *scan) allowed() bool {
	if s.al > 13 || s.ah != 0 && s.al != s.ah-1 {
		return false
	}
	if s.ss == 0 { // DC
		return s.se == 0
	}
	return s.ss <= s.se && s.se <= 63 && len(s.comps) == 1
}

// blockDecoder returns what decodes one block of the scan into a coefficient buffer;
// pos is the position of its component in the scan.
func (e *entropy) blockDecoder(progressive bool, s *scan) func(b *codedBlock, pos int) error {
	switch {
	case !progressive:
		return e.sequential
	case s.ss == 0 && s.ah == 0:
		return func(b *codedBlock, pos int) error { return e.dcFirst(b, pos, s.al) }
	case s.ss == 0:
		return func(b *codedBlock, _ int) error { return e.dcRefine(b, s.al) }
	case s.ah == 0:
		return func(b *codedBlock, _ int) error { return e.acFirst(b, s) }
	}
	return func(b *codedBlock, _ int) error { return e.acRefine(b, s) }
}

func (e *entropy) sequential(b *codedBlock, pos int) error {
	if !e.short {
		slot := &e.slots[pos]
		nonZero, _ := e.bits.block(&b.coefs, slot.dc, slot.ac, &inOrder, &e.dcPred[pos])
		b.nonZero |= nonZero
	}
	return nil
}

// dcFirst decodes the DC coefficient but for its al lowest bits (T.81 G.1.2.1).
func (e *entropy) dcFirst(b *codedBlock, pos, al int) error {
	if e.short {
		return nil
	}
	r := &e.bits
	size := uint(r.symbol(e.slots[pos].dc))
	var diff int32
	if size > 0 {
		diff = extend(int32(r.take(size)), int(size))
	}
	dc := int64(e.dcPred[pos]) + int64(diff)
	if dc != int64(int32(dc)) {
		return errOverflow
	}
	e.dcPred[pos] = int32(dc)
	b.set(0, int16(int32(dc)<<al))
	return nil
}

// dcRefine decodes one more bit of the DC coefficient.
func (e *entropy) dcRefine(b *codedBlock, al int) error {
	if !e.short && e.bits.bit() {
		b.set(0, b.coefs[0]|1<<al)
	}
	return nil
}

// acFirst decodes a band of AC coefficients but for their al lowest bits (T.81 G.1.2.2).
func (e *entropy) acFirst(b *codedBlock, s *scan) error {
	if e.short {
		return nil
	}
	if e.eobRun > 0 {
		e.eobRun--
		return nil
	}
	r, ac := &e.bits, e.slots[0].ac
	for k := s.ss; k <= s.se; k++ {
		symbol := r.symbol(ac)
		run, size := int(symbol>>4), uint(symbol&15)
		k += run
		if size > 0 {
			b.set(k, int16(extend(int32(r.take(size)), int(size))<<s.al))
		} else if run < 15 {
			e.eobRun = r.endOfBand(run) - 1
			break
		}
	}
	return nil
}

// endOfBand returns the number of blocks that an end-of-band symbol speaks of, this
// one included.
func (r *bitReader) endOfBand(run int) int {
	return 1<<run + int(r.take(uint(run)))
}

// acRefine decodes one more bit of a band of AC coefficients (T.81 G.1.2.3).
func (e *entropy) acRefine(b *codedBlock, s *scan) error {
	if e.short {
		return nil
	}
	r, ac := &e.bits, e.slots[0].ac
	k := s.ss
	for e.eobRun == 0 && k <= s.se {
		symbol := r.symbol(ac)
		run, size := int(symbol>>4), symbol&15
		if size == 0 && run < 15 {
			e.eobRun = r.endOfBand(run)
			break
		}
		var fresh int16
		if size > 0 { // should be 1, but libjpeg does not insist
			fresh = -1 << s.al
			if r.bit() {
				fresh = 1 << s.al
			}
		}
		k = r.refine(b, k, s.se, run, s.al)
		if fresh != 0 {
			b.set(k, fresh)
		}
		k++
	}
	if e.eobRun > 0 {
		r.refine(b, k, s.se, math.MaxInt, s.al)
		e.eobRun--
	}
	return nil
}

// refine reads a bit for each coefficient from k to last that is not zero, and passes
// over run zeros. It returns the index of the zero behind these, or last+1.
func (r *bitReader) refine(b *codedBlock, k, last, run, al int) int {
	band := b.nonZero >> k << k & (2<<last - 1)
	for {
		next := last + 1
		if band != 0 {
			next = bits.TrailingZeros64(band)
		}
		if run < next-k {
			return k + run
		}
		if next > last {
			return next
		}
		run -= next - k
		k = next + 1
		band &= band - 1
		c := &b.coefs[next&63]
		if !r.bit() || *c&(1<<al) != 0 {
			continue
		}
		if *c > 0 {
			*c += 1 << al
		} else {
			*c -= 1 << al
		}
	}
}
