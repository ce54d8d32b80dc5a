package jpeg

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainBits reads bits one by one; behind the end come zeros.
type plainBits struct {
	data []byte
	at   int
}

func (p *plainBits) bit() uint32 {
	i := p.at
	p.at++
	if i/8 >= len(p.data) {
		return 0
	}
	return uint32(p.data[i/8]>>(7-i%8)) & 1
}

func (p *plainBits) take(n int) (v uint32) {
	for range n {
		v = v<<1 | p.bit()
	}
	return v
}

// reader is the fast one of the same bits.
func reader(data []byte) *bitReader {
	r := new(bitReader)
	r.reset(append(slices.Clone(data), make([]byte, padding)...))
	return r
}

func TestBitsAreThoseOfTheData(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	for range 300 {
		data := make([]byte, rng.IntN(40))
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		fast, slow := reader(data), &plainBits{data: data}
		for slow.at < 8*len(data)+100 {
			if rng.IntN(4) == 0 {
				if got, want := fast.bit(), slow.bit() == 1; got != want {
					t.Fatalf("bit %d of % X is %v", slow.at-1, data, got)
				}
			} else {
				n := 1 + rng.IntN(16)
				if fast.n < 32 {
					fast.refill()
				}
				if got, want := fast.take(uint(n)), slow.take(n); got != want {
					t.Fatalf("%d bits before %d of % X are %b, want %b", n, slow.at, data, got, want)
				}
			}
			if got, want := fast.overrun(), slow.at > 8*len(data); got != want {
				t.Fatalf("after %d of %d bits: overrun is %v", slow.at, 8*len(data), got)
			}
		}
	}
}

// A symbolCode is a Huffman code by the letter of T.81 annex C: symbols by their bits.
type symbolCode map[string]uint8

func codeOf(spec *huffSpec) symbolCode {
	code, next, codes := 0, 0, symbolCode{}
	for length := 1; length <= 16; length++ {
		for range spec.counts[length] {
			codes[fmt.Sprintf("%0*b", length, code)] = spec.values[next]
			code++
			next++
		}
		code *= 2
	}
	return codes
}

// read decodes a symbol bit by bit; false: no code of up to 16 bits, of which libjpeg takes 17.
func (c symbolCode) read(p *plainBits) (uint8, bool) {
	bits := ""
	for range 16 {
		bits += fmt.Sprint(p.bit())
		if s, ok := c[bits]; ok {
			return s, true
		}
	}
	p.bit()
	return 0, false
}

// randomSpec is a code with a place left for the one that is all ones; symbols are distinct.
func randomSpec(rng *rand.Rand, most int, symbols func(i int) uint8) *huffSpec {
	var spec huffSpec
	left, n := 1, 0 // codes of the length that are free
	for length := 1; length <= 16; length++ {
		left *= 2
		take := 0
		if free := min(left-1, most-n); free > 0 {
			take = rng.IntN(min(free, 1+length*2) + 1)
		}
		spec.counts[length] = uint8(take)
		left -= take
		n += take
	}
	for i, p := range rng.Perm(most)[:n] {
		spec.values[i] = symbols(p)
	}
	return &spec
}

func TestSymbolsAreThoseOfTheCode(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 2))
	for range 60 {
		spec := randomSpec(rng, 256, func(i int) uint8 { return uint8(i) })
		var h huffman
		if err := h.build(spec, false); err != nil {
			t.Fatalf("%v: %v", spec.counts, err)
		}
		codes := codeOf(spec)
		data := make([]byte, 100)
		for i := range data {
			data[i] = byte(rng.IntN(256))
			if rng.IntN(5) == 0 {
				data[i] = 0xFF
			}
		}
		fast, slow := reader(data), &plainBits{data: data}
		bad := false
		for slow.at < 8*len(data) {
			want, ok := codes.read(slow)
			bad = bad || !ok
			if got := fast.symbol(&h); got != want || fast.bad != bad {
				t.Fatalf("%v: the symbol before bit %d is %d (wrong codes: %v), want %d (%v)", spec.counts, slow.at, got, fast.bad, want, bad)
			}
			if fast.n < 15 {
				t.Fatalf("%d bits are left for what belongs to the symbol", fast.n)
			}
		}
	}
}

// extendByDefinition is figure F.12 of T.81.
func extendByDefinition(v uint32, size int) int {
	if size == 0 {
		return 0
	}
	if int(v) < 1<<(size-1) {
		return int(v) + (-1 << size) + 1
	}
	return int(v)
}

func TestNumbersBehindASymbolAreExtended(t *testing.T) {
	for size := 1; size <= 16; size++ {
		for _, bits := range []uint32{0, 1, 1<<(size-1) - 1, 1 << (size - 1), 1<<size - 1} {
			if got, want := int(extend(int32(bits), size)), extendByDefinition(bits, size); got != want {
				t.Errorf("%b of %d bits is %d, want %d", bits, size, got, want)
			}
		}
	}
	// And back: sizeOf is what writes them.
	for v := -2000; v <= 2000; v++ {
		if v == 0 {
			continue
		}
		size, bits := sizeOf(v)
		if got := extend(int32(bits&(1<<size-1)), size); int(got) != v {
			t.Errorf("%d is written as %b of %d bits, which is %d", v, bits, size, got)
		}
	}
}

// plainBlock decodes a block of a sequential scan as T.81 §F.2.2 says, in zigzag order.
func plainBlock(p *plainBits, dc, ac symbolCode, pred *int) (b [64]int) {
	size, _ := dc.read(p)
	*pred += extendByDefinition(p.take(int(size&15)), int(size&15))
	b[0] = *pred
	for k := 1; k < 64; k++ {
		symbol, _ := ac.read(p)
		run, size := int(symbol>>4), int(symbol&15)
		if size == 0 {
			if run != 15 {
				break
			}
			k += 15
			continue
		}
		k += run
		b[min(k, 63)] = extendByDefinition(p.take(size), size)
	}
	return b
}

func TestBlocksAreThoseOfTheStandard(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 3))
	for range 60 {
		dcSpec := randomSpec(rng, 12, func(i int) uint8 { return uint8(i) })
		acSpec := randomSpec(rng, 162, func(i int) uint8 { return standardAC[0].values[i] })
		var dc, ac huffman
		if err := dc.build(dcSpec, true); err != nil {
			t.Fatal(err)
		}
		if err := ac.build(acSpec, false); err != nil {
			t.Fatal(err)
		}
		dc.buildValues()
		ac.buildValues()
		dcCode, acCode := codeOf(dcSpec), codeOf(acSpec)
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		fast, slow := reader(data), &plainBits{data: data}
		var pred int32
		slowPred := 0
		for slow.at < 8*len(data)-64 {
			want := plainBlock(slow, dcCode, acCode, &slowPred)
			var got block
			fast.block(&got, &dc, &ac, &inOrder, &pred)
			for k, v := range want {
				if int(got[k]) != int(int16(v)) {
					t.Fatalf("coefficient %d before bit %d is %d, want %d", k, slow.at, got[k], v)
				}
			}
		}
	}
}

func TestBlocksTellWhatIsInThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 4))
	var dc, ac huffman
	if dc.build(&standardDC[0], true) != nil || ac.build(&standardAC[0], false) != nil {
		t.Fatal("the tables of the standard are refused")
	}
	dc.buildValues()
	ac.buildValues()
	for range 300 {
		data := make([]byte, 64)
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		var deq dequantiser
		for k := range deq {
			deq[k] = uint32(1+rng.IntN(255))<<8 | uint32(naturalOrder[k])
			if k > 63 { // beyond the block
				deq[k] = deq[63]
			}
		}
		var plain, b block
		var pred, pred2 int32
		reader(data).block(&plain, &dc, &ac, &inOrder, &pred)
		nonZero, sum := reader(data).block(&b, &dc, &ac, &deq, &pred2)
		total := int64(0)
		for k, v := range plain {
			place := naturalOrder[k]
			want := int64(v) * int64(deq[k]>>8)
			if int64(b[place]) != int64(int16(want)) {
				t.Fatalf("coefficient %d of step %d is %d, want %d", k, deq[k]>>8, b[place], want)
			}
			if v != 0 && nonZero>>place&1 == 0 {
				t.Fatalf("coefficient %d is %d and not among %b", k, v, nonZero)
			}
			total += abs(want)
		}
		if sum < total {
			t.Fatalf("the sum of all is %d, want at least %d", sum, total)
		}
	}
}

func TestAbsIsTheSize(t *testing.T) {
	for v, want := range map[int64]int64{0: 0, 1: 1, -1: 1, 1 << 40: 1 << 40, -(1 << 40): 1 << 40} {
		if got := abs(v); got != want {
			t.Errorf("abs(%d) = %d", v, got)
		}
	}
}

// Codes that no table has decode as 0, as in libjpeg, and the picture counts as damaged, though no byte is missing.
func TestCodesThatAreNoneAreDamage(t *testing.T) {
	p := random(rand.New(rand.NewPCG(22, 5)), 8, 8, [2]int{1, 1})
	var quant [64]byte
	for k := range quant {
		quant[k] = 1
	}
	for _, frame := range []byte{markerSOF0, markerSOF2} {
		scan := script{[]int{0}, 0, 63, 0, 0}
		if frame == markerSOF2 {
			scan.se = 0
		}
		file := p.write(frame, 0, quant, []script{scan})
		if img, err := new(Decoder).Decode(file, nil); err != nil || img.Damaged != (frame == markerSOF2) { // of which bits are left to come
			t.Fatalf("frame %02X: damaged %v, %v", frame, img.Damaged, err)
		}
		at := bytes.Index(file, []byte{0xFF, markerSOS}) + 10
		file = slices.Concat(file[:at], bytes.Repeat([]byte{0xFF, 0}, 60), []byte{0xFF, markerEOI})
		img, err := new(Decoder).Decode(file, nil)
		if err != nil || !img.Damaged {
			t.Errorf("frame %02X: damaged %v, %v", frame, img.Damaged, err)
		}
		if frame == markerSOF0 && img.Pix[0] != 128 {
			t.Errorf("a difference that is no number makes %d of grey", img.Pix[0])
		}
	}
}
