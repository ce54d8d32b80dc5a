package jpeg

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// endless is a file as libjpeg's file reader sees it: behind its end FF D9 without end.
func endless(data []byte) func(i int) byte {
	return func(i int) byte {
		if i < len(data) {
			return data[i]
		}
		return []byte{0xFF, markerEOI}[(i-len(data))%2]
	}
}

func TestBehindTheEndComesTheMarkerOfTheEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for range 300 {
		data := make([]byte, rng.IntN(12))
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		at := endless(data)
		var s source
		s.reset(data)
		for pos := 0; pos < 30; {
			if rng.IntN(2) == 0 {
				if b := s.byte(); b != at(pos) {
					t.Fatalf("byte %d of % X is %02X, want %02X", pos, data, b, at(pos))
				}
				pos++
				continue
			}
			n := rng.IntN(8)
			got := s.next(n)
			if len(got) != n {
				t.Fatalf("%d bytes from %d of % X are % X", n, pos, data, got)
			}
			for i, b := range got {
				if b != at(pos+i) {
					t.Fatalf("%d bytes from %d of % X are % X, want %02X at %d", n, pos, data, got, at(pos+i), i)
				}
			}
			pos += n
		}
	}
}

func TestSegmentsHaveTheirLength(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want, err  string
	}{
		{"an empty one", "\x00\x02abc", "", ""},
		{"three bytes", "\x00\x05abcdef", "abc", ""},
		{"one that goes beyond the file", "\x00\x07ab", "ab\xFF\xD9\xFF", ""},
		{"one whose length is not there", "\x00", "", ""}, // 00 FF: 253 bytes of what is made up
		{"no length at all", "\x00\x00abc", "", "segment has length 0, want at least 2"},
		{"half a length", "\x00\x01abc", "", "segment has length 1, want at least 2"},
	} {
		var s source
		s.reset([]byte(c.data))
		got, err := s.segment()
		if (err != nil) != (c.err != "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if c.name != "one whose length is not there" && string(got) != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.name == "one whose length is not there" && len(got) != 253 {
			t.Errorf("%s: %d bytes", c.name, len(got))
		}
	}
}

func TestMarkersAreFoundBehindAnything(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       []byte
	}{
		{"one after the other", "\xFF\xDB\xFF\xC4\xFF\xDA", []byte{markerDQT, markerDHT, markerSOS}},
		{"bytes that belong to nothing", "abc\xFF\xDBxyz\xFF\xC4", []byte{markerDQT, markerDHT}},
		{"fill bytes", "\xFF\xFF\xFF\xFF\xDB", []byte{markerDQT}},
		{"a data byte FF", "a\xFF\x00b\xFF\x00\xFF\xDB", []byte{markerDQT}},
		{"fill bytes and a data byte", "\xFF\xFF\x00\xFF\xFF\xC4", []byte{markerDHT}},
		{"an FF at the end is that of the marker that is made up", "\xFF", []byte{markerEOI, markerEOI}},
		{"nothing", "", []byte{markerEOI, markerEOI, markerEOI}},
	} {
		var s source
		s.reset([]byte(c.data))
		for i, want := range c.want {
			if got := s.marker(); got != want {
				t.Errorf("%s: marker %d is %02X, want %02X", c.name, i, got, want)
			}
		}
	}
}

func TestAPendingMarkerComesOnce(t *testing.T) {
	var s source
	s.reset([]byte("\xFF\xDB"))
	s.pending = markerSOS
	if a, b, c := s.marker(), s.marker(), s.marker(); a != markerSOS || b != markerDQT || c != markerEOI {
		t.Errorf("markers %02X, %02X, %02X", a, b, c)
	}
	s.pending = markerSOS
	if s.reset(nil); s.marker() != markerEOI {
		t.Error("the marker of another file was kept")
	}
}

// coded by the letter of T.81 §B.1.1.5: FF 00 is a data byte FF, any number of FF may come before a marker, and what libjpeg
// adds to it: FF FF 00 is a data byte, too.
func plainSegment(data []byte) (coded []byte, marker byte, rest int) {
	at := endless(data)
	for i := 0; ; i++ {
		if at(i) != 0xFF {
			coded = append(coded, at(i))
			continue
		}
		for at(i) == 0xFF {
			i++
		}
		if at(i) != 0 {
			return coded, at(i), i + 1
		}
		coded = append(coded, 0xFF)
	}
}

func TestEntropyCodedDataEndAtAMarker(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 2))
	pieces := [][]byte{{0xFF, 0}, {0xFF, 0xFF, 0}, {0x12}, {0x34, 0x56}, {0}, {0xFF, 0xD0}, {0xFF, 0xFF, 0xD9}, {0xFF}}
	for range 2000 {
		var data []byte
		for range rng.IntN(10) {
			data = append(data, pieces[rng.IntN(len(pieces))]...)
		}
		want, marker, rest := plainSegment(data)
		var s source
		s.reset(data)
		got := s.entropyCoded([]byte("before"))
		if !bytes.Equal(got, append([]byte("before"), want...)) || s.pending != marker {
			t.Fatalf("% X: % X and marker %02X, want % X and %02X", data, got, s.pending, want, marker)
		}
		if rest <= len(data) && s.pos != rest {
			t.Fatalf("% X: goes on at %d, want %d", data, s.pos, rest)
		}
	}
}

// Encoders stuff a zero behind each FF; the decoder takes it out again.
func TestStuffedBytesComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 3))
	for range 200 {
		var e Encoder
		var want []byte
		for range rng.IntN(40) {
			b := byte(rng.IntN(256))
			if rng.IntN(3) == 0 {
				b = 0xFF
			}
			want = append(want, b)
			e.put(uint32(b), 8)
		}
		e.align()
		if bytes.Contains(e.buf, []byte{0xFF, 0xFF}) || len(e.buf) != len(want)+bytes.Count(want, []byte{0xFF}) {
			t.Fatalf("% X is stuffed as % X", want, e.buf)
		}
		var s source
		s.reset(append(e.buf, 0xFF, markerEOI))
		if got := s.entropyCoded(nil); !slices.Equal(got, want) {
			t.Fatalf("% X comes back as % X", want, got)
		}
	}
}
