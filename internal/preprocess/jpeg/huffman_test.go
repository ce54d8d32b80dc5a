package jpeg

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// counted is a table with so many codes of each length from 1 on, and symbols from 0 on.
func counted(counts ...uint8) *huffSpec {
	var spec huffSpec
	copy(spec.counts[1:], counts)
	for i := range spec.values {
		spec.values[i] = uint8(i)
	}
	return &spec
}

func TestTablesThatAreNoCodeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		spec *huffSpec
		dc   bool
		want string // of the error; empty: the table is right
	}{
		{"no codes at all", counted(), false, ""},
		{"one of one bit", counted(1), false, ""},
		{"two of one bit, of which one is all ones", counted(2), false, "too many codes of length 1 in a Huffman table"},
		{"three of two bits", counted(0, 3), false, ""},
		{"four of two bits", counted(0, 4), false, "too many codes of length 2 in a Huffman table"},
		{"as many as there can be", counted(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), false, ""},
		{"one more of the longest", counted(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), false, "too many codes of length 16 in a Huffman table"},
		{"a length that nothing is left for", counted(1, 1, 2, 0, 0, 1), false, "too many codes of length 3 in a Huffman table"},
		{"symbol 15 for DC", counted(0, 0, 0, 0, 16), true, ""},
		{"symbol 16 for DC", counted(0, 0, 0, 0, 17), true, "symbol 16 in a DC Huffman table, want at most 15"},
		{"symbol 16 for AC", counted(0, 0, 0, 0, 17), false, ""},
	} {
		var h huffman
		err := h.build(c.spec, c.dc)
		if (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A table has all that one step of decoding needs, or says that it has not: what it says is what bit by bit comes out.
func TestTheTableOfValuesIsThatOfTheSymbols(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	resolved := 0
	for range 100 {
		spec := randomSpec(rng, 162, func(i int) uint8 { return standardAC[0].values[i] })
		var h huffman
		if err := h.build(spec, false); err != nil {
			t.Fatal(err)
		}
		h.buildValues()
		codes := codeOf(spec)
		for i, v := range h.values {
			p := &plainBits{data: []byte{byte(i >> (valueBits - 8)), byte(i << (16 - valueBits))}}
			symbol, ok := codes.read(p)
			length, size := p.at, int(symbol&15)
			switch {
			case !ok || length > symbolBits:
				if v != unresolved {
					t.Fatalf("%010b is no short code, and its value %x", i, v)
				}
			case size > 0 && length+size > valueBits:
				if v != value(length)|unresolved|value(symbol)<<8 {
					t.Fatalf("%010b leaves the value of symbol %x open, but %x", i, symbol, v)
				}
			default:
				resolved++
				skip, number := int(symbol>>4), extendByDefinition(p.take(size), size)
				if size == 0 && skip < 15 {
					skip = 63
				}
				if int(v&63) != p.at || v&unresolved != 0 || int(v>>8&127) != skip || int(int16(v>>16)) != number {
					t.Fatalf("%010b takes %d bits, skips %d and is %d; the value is %x", i, p.at, skip, number, v)
				}
			}
		}
	}
	if resolved == 0 {
		t.Error("nothing is resolved")
	}
}

func TestSegmentsOfTablesAreRead(t *testing.T) {
	a, b := standardDC[0].segment(0x02), standardAC[1].segment(0x11)
	var tab tables
	if err := tab.readHuffman(append(append([]byte{}, a...), b...)); err != nil {
		t.Fatal(err)
	}
	if !tab.dcOK[2] || !tab.acOK[1] || tab.dc[2] != standardDC[0] || tab.ac[1] != standardAC[1] {
		t.Error("the tables are others than those in the segment")
	}
	for i := range 4 {
		if tab.dcOK[i] != (i == 2) || tab.acOK[i] != (i == 1) {
			t.Errorf("table %d is there: DC %v, AC %v", i, tab.dcOK[i], tab.acOK[i])
		}
	}
	// Cut off anywhere, a segment is an error, but between its tables.
	both := append(append([]byte{}, a...), b...)
	for n := range both {
		var tab tables
		if err := tab.readHuffman(both[:n]); (err == nil) != (n == 0 || n == len(a)) {
			t.Errorf("the first %d of %d bytes: %v", n, len(both), err)
		}
	}
	tab.reset()
	if tab.dcOK != [4]bool{} || tab.acOK != [4]bool{} || tab.quantOK != [4]bool{} {
		t.Error("tables are left of the file before")
	}
}

func TestSegmentsOfStepsAreRead(t *testing.T) {
	narrow, wide := []byte{0x01}, []byte{0x13}
	for k := range 64 {
		narrow = append(narrow, byte(k+1))
		wide = append(wide, byte(k), byte(255-k))
	}
	var tab tables
	if err := tab.readQuant(append(append([]byte{}, wide...), narrow...)); err != nil {
		t.Fatal(err)
	}
	for k := range 64 {
		if tab.quant[1][k] != uint16(k+1) || tab.quant[3][k] != uint16(k<<8|255-k) {
			t.Errorf("step %d is %d and %d", k, tab.quant[1][k], tab.quant[3][k])
		}
	}
	if tab.quantOK != [4]bool{1: true, 3: true} {
		t.Errorf("tables that are there: %v", tab.quantOK)
	}
	for n := 1; n < len(wide); n++ {
		err := tab.readQuant(wide[:n])
		if err == nil || !strings.Contains(err.Error(), "quantisation table 3 has ") || !strings.HasSuffix(err.Error(), " bytes, want 128") {
			t.Errorf("the first %d of %d bytes: %v", n, len(wide), err)
		}
	}
	if err := tab.readQuant([]byte{0x04}); err == nil || err.Error() != "quantisation table has number 4, want 0 to 3" {
		t.Errorf("a fifth table: %v", err)
	}
}

// What a file has of its own stays; what it lacks is the standard's, of the first two.
func TestTheStandardFillsUpOnly(t *testing.T) {
	var tab tables
	own := *counted(0, 3)
	tab.dc[1], tab.dcOK[1] = own, true
	tab.ac[0], tab.acOK[0] = own, true
	tab.addStandard()
	if tab.dc[0] != standardDC[0] || tab.dc[1] != own || tab.ac[0] != own || tab.ac[1] != standardAC[1] {
		t.Error("the tables are not those of the file and of the standard")
	}
	if tab.dcOK != [4]bool{true, true} || tab.acOK != [4]bool{true, true} {
		t.Errorf("there are %v and %v", tab.dcOK, tab.acOK)
	}
}
