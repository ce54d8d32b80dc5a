package jpeg

import (
	"bytes"
	"fmt"
)

// Marker codes (ITU-T T.81, table B.1).
const (
	markerTEM   = 0x01
	markerSOF0  = 0xC0
	markerSOF1  = 0xC1
	markerSOF2  = 0xC2
	markerDHT   = 0xC4
	markerSOF15 = 0xCF
	markerDAC   = 0xCC
	markerRST0  = 0xD0
	markerRST7  = 0xD7
	markerSOI   = 0xD8
	markerEOI   = 0xD9
	markerSOS   = 0xDA
	markerDQT   = 0xDB
	markerDNL   = 0xDC
	markerDRI   = 0xDD
	markerAPP0  = 0xE0
	markerAPP1  = 0xE1
	markerAPP14 = 0xEE
	markerAPP15 = 0xEF
	markerCOM   = 0xFE
)

// A source hands out the bytes of a file. Beyond the end it goes on for ever with
// FF D9, FF D9, …, the end-of-image marker that libjpeg's file reader makes up, so
// truncated files end in the same way there and here.
type source struct {
	data    []byte
	pos     int
	pending byte   // marker already read but not yet acted upon; 0 if there is none
	tail    []byte // holds what next returns across the end of data
}

func (s *source) reset(data []byte) {
	s.data, s.pos, s.pending = data, 0, 0
}

// byte returns the next byte.
func (s *source) byte() byte {
	p := s.pos
	s.pos++
	if p < len(s.data) {
		return s.data[p]
	}
	return madeUp(p - len(s.data))
}

func madeUp(i int) byte {
	if i&1 == 0 {
		return 0xFF
	}
	return markerEOI
}

// next returns the next n bytes, valid until the following call.
func (s *source) next(n int) []byte {
	first := s.pos
	s.pos += n
	if s.pos <= len(s.data) {
		return s.data[first:s.pos]
	}
	s.tail = append(s.tail[:0], s.data[min(first, len(s.data)):]...)
	for p := max(first, len(s.data)); p < s.pos; p++ {
		s.tail = append(s.tail, madeUp(p-len(s.data)))
	}
	return s.tail
}

// segment returns what a marker segment holds behind its two length bytes, valid
// until the following call.
func (s *source) segment() ([]byte, error) {
	n := int(s.byte())<<8 | int(s.byte())
	if n < 2 {
		return nil, fmt.Errorf("segment has length %d, want at least 2", n)
	}
	return s.next(n - 2), nil
}

// marker returns the pending marker, if there is one, else the next.
func (s *source) marker() byte {
	if m := s.pending; m != 0 {
		s.pending = 0
		return m
	}
	return s.skipToMarker()
}

// skipToMarker reads the next marker. Bytes that belong to no segment, stuffed zeros
// and fill bytes are passed over.
func (s *source) skipToMarker() byte {
	for {
		if i := bytes.IndexByte(s.rest(), 0xFF); i >= 0 {
			s.pos += i
		} else {
			s.pos = max(s.pos, len(s.data))
		}
		for s.byte() != 0xFF { // past the end only
		}
		if m := s.afterFF(); m != 0 {
			return m
		}
	}
}

// afterFF returns the first byte that is not FF; behind an FF this is either the
// code of a marker or 0 for a data byte FF.
func (s *source) afterFF() byte {
	for {
		if b := s.byte(); b != 0xFF {
			return b
		}
	}
}

func (s *source) rest() []byte {
	return s.data[min(s.pos, len(s.data)):]
}

// entropyCoded appends the entropy-coded bytes up to the next marker to buf, without
// the stuffed zeros. The marker becomes the pending one.
func (s *source) entropyCoded(buf []byte) []byte {
	for {
		rest := s.rest()
		i := bytes.IndexByte(rest, 0xFF)
		if i < 0 {
			buf = append(buf, rest...)
			if s.pos = max(s.pos, len(s.data)); (s.pos-len(s.data))&1 != 0 {
				buf = append(buf, s.byte()) // in the middle of a made-up marker
			}
			s.pending = s.skipToMarker()
			return buf
		}
		buf = append(buf, rest[:i]...)
		s.pos += i + 1
		// libjpeg takes FF FF 00 for one data byte FF.
		if m := s.afterFF(); m != 0 {
			s.pending = m
			return buf
		}
		buf = append(buf, 0xFF)
	}
}
