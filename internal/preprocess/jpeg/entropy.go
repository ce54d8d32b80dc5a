package jpeg

import "fmt"

// A block holds the coefficients of 8×8 samples, row by row.
type block [64]int16

// entropy is the state of decoding the entropy-coded data of a scan.
type entropy struct {
	bits bitReader
	buf  []byte // the current segment without stuffed zeros, and padding

	huffDC, huffAC [4]huffman // by slot
	slots          [4]struct{ dc, ac *huffman }
	dcPred         [4]int32 // by position of the component in the scan
	eobRun         int      // blocks still to come that are at their end of band
	coefs          block    // zero between blocks

	restart  int // interval in MCUs; 0 if there is none
	toGo     int // MCUs until the next restart marker
	nextRST  int // its number, 0 to 7
	lastGood int // row of interleaved MCUs that the latest data of a scan belong to
	damaged  bool

	// short says that the current segment has ended too early. Its remaining MCUs are
	// not decoded, their coefficients stay as they are (insufficient_data in libjpeg's
	// jdhuff.c).
	short bool
}

// start prepares for the first segment of a scan.
func (e *entropy) start(src *source, f *frame, s *scan, t *tables) error {
	for i, c := range s.comps {
		needDC := !f.progressive || s.ss == 0 && s.ah == 0
		needAC := !f.progressive || s.ss > 0
		if err := e.buildTables(i, s, t, needDC, needAC); err != nil {
			return fmt.Errorf("component %d: %w", c.id, err)
		}
		if !f.progressive {
			e.slots[i].dc.buildValues()
			e.slots[i].ac.buildValues()
		}
	}
	e.restart, e.toGo, e.nextRST = f.restart, f.restart, 0
	e.resetPredictions()
	e.nextSegment(src)
	return nil
}

// buildTables builds the Huffman tables of the scan's i-th component.
func (e *entropy) buildTables(i int, s *scan, t *tables, needDC, needAC bool) error {
	if needDC {
		if err := e.buildDC(i, s.dcSlot[i], t); err != nil {
			return err
		}
	}
	if needAC {
		return e.buildAC(i, s.acSlot[i], t)
	}
	return nil
}

func (e *entropy) buildDC(i int, slot uint8, t *tables) error {
	if slot >= 4 || !t.dcOK[slot] {
		return fmt.Errorf("DC Huffman table %d is missing", slot)
	}
	e.slots[i].dc = &e.huffDC[slot]
	return e.huffDC[slot].build(&t.dc[slot], true)
}

func (e *entropy) buildAC(i int, slot uint8, t *tables) error {
	if slot >= 4 || !t.acOK[slot] {
		return fmt.Errorf("AC Huffman table %d is missing", slot)
	}
	e.slots[i].ac = &e.huffAC[slot]
	return e.huffAC[slot].build(&t.ac[slot], false)
}

func (e *entropy) resetPredictions() {
	e.dcPred = [4]int32{}
	e.eobRun = 0
}

// nextSegment goes on with the data behind the last marker.
func (e *entropy) nextSegment(src *source) {
	e.buf = src.entropyCoded(e.buf[:0])
	e.buf = append(e.buf, make([]byte, padding)...)
	e.bits.reset(e.buf)
	e.short = false
}

// beginMCU sees to a restart marker if one is due.
func (e *entropy) beginMCU(src *source) {
	if e.restart == 0 {
		return
	}
	if e.toGo == 0 {
		e.resync(src)
		e.resetPredictions()
		e.toGo = e.restart
		e.nextRST = (e.nextRST + 1) & 7
	}
	e.toGo--
}

// endMCU notes whether the segment has ended within the MCU.
func (e *entropy) endMCU() {
	if !e.short && e.bits.overrun() {
		e.short = true
		e.damaged = true
	}
	e.damaged = e.damaged || e.bits.bad
}

// exhausted reports whether no further MCU of the scan can get any data.
func (e *entropy) exhausted(src *source) bool {
	m := src.pending
	return e.restart == 0 || m >= markerSOF0 && (m < markerRST0 || m > markerRST7)
}

// resync goes on behind the expected restart marker. If another marker is there, it
// decides by the rules of libjpeg's jpeg_resync_to_restart (jdmarker.c): look for a
// later one, pretend that the expected one was here, or treat the data as missing
// and leave the marker for later.
func (e *entropy) resync(src *source) {
	for {
		m := src.pending
		ahead := (int(m) - markerRST0 - e.nextRST) & 7
		switch {
		case m < markerSOF0: // no marker at all
		case m < markerRST0 || m > markerRST7 || ahead == 1 || ahead == 2:
			e.bits.reset(append(e.buf[:0], make([]byte, padding)...))
			e.damaged = true
			return
		case ahead < 6:
			e.damaged = e.damaged || ahead != 0
			src.pending = 0
			e.nextSegment(src)
			return
		}
		e.damaged = true
		src.pending = src.skipToMarker()
	}
}
