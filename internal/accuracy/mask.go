package accuracy

import (
	"errors"
	"fmt"
	"math"
)

// A Mask is a set of pixels as COCO encodes it: the lengths of runs, column by column
// from the top left, of pixels that are outside and inside by turns. The first run is
// outside and may be empty. The runs cover the image exactly.
type Mask struct {
	Height, Width int
	Counts        []uint32
}

// maxPixels keeps positions within the 32 bits that COCO has for them.
const maxPixels = math.MaxInt32

func checkSize(height, width int) error {
	if height < 1 || width < 1 || height > maxPixels/width {
		return fmt.Errorf("mask of %d × %d pixels: want positive sizes and at most %d pixels", height, width, maxPixels)
	}
	return nil
}

// MaskFromCounts makes a mask of run lengths, which COCO calls uncompressed RLE.
func MaskFromCounts(height, width int, counts []uint32) (Mask, error) {
	if err := checkSize(height, width); err != nil {
		return Mask{}, err
	}
	sum := uint64(0)
	for _, n := range counts {
		sum += uint64(n)
	}
	if sum != uint64(height*width) {
		return Mask{}, fmt.Errorf("mask: runs cover %d pixels, the image of %d × %d has %d", sum, height, width, height*width)
	}
	return Mask{height, width, counts}, nil
}

// MaskFromString decodes COCO's compressed RLE: base-32 digits in the characters from '0'
// to 'o', least significant first, of each run's difference to the run before the last.
func MaskFromString(height, width int, text string) (Mask, error) {
	var counts []uint32
	for p := 0; p < len(text); {
		n, size := decodeRun(text[p:])
		if size == 0 {
			return Mask{}, fmt.Errorf("mask: character %d: want a run length in characters from '0' to 'o', got %.8q", p, text[p:])
		}
		p += size
		if len(counts) > 2 {
			n += int64(counts[len(counts)-2])
		}
		if n < 0 || n > maxPixels {
			return Mask{}, fmt.Errorf("mask: run %d has length %d", len(counts), n)
		}
		counts = append(counts, uint32(n))
	}
	return MaskFromCounts(height, width, counts)
}

// decodeRun decodes the first number of text and returns how long it is, 0 if it is none.
func decodeRun(text string) (n int64, size int) {
	const digitBits, more, sign, maxSize = 5, 0x20, 0x10, 8
	for i := range min(len(text), maxSize) {
		c := int64(text[i]) - '0'
		if c < 0 || c > 63 {
			return 0, 0
		}
		n |= c & (more - 1) << (digitBits * i)
		if c&more == 0 {
			if c&sign != 0 {
				n |= -1 << (digitBits * (i + 1))
			}
			return n, i + 1
		}
	}
	return 0, 0
}

// Compress encodes the mask as MaskFromString decodes it.
func (m Mask) Compress() string {
	var text []byte
	for i, count := range m.Counts {
		n := int64(count)
		if i > 2 {
			n -= int64(m.Counts[i-2])
		}
		for more := true; more; {
			c := byte(n & 0x1f)
			n >>= 5
			more = n != 0
			if c&0x10 != 0 {
				more = n != -1
			}
			if more {
				c |= 0x20
			}
			text = append(text, c+'0')
		}
	}
	return string(text)
}

// EncodeMask makes a mask of the pixels that are not zero. They are in row-major order.
func EncodeMask(height, width int, pixels []uint8) (Mask, error) {
	if err := checkSize(height, width); err != nil {
		return Mask{}, err
	}
	if len(pixels) != height*width {
		return Mask{}, fmt.Errorf("mask: %d pixels, want %d × %d", len(pixels), height, width)
	}
	m := Mask{Height: height, Width: width}
	inside, run := false, uint32(0)
	for x := range width {
		for y := range height {
			if (pixels[y*width+x] != 0) != inside {
				m.Counts = append(m.Counts, run)
				inside, run = !inside, 0
			}
			run++
		}
	}
	m.Counts = append(m.Counts, run)
	return m, nil
}

// Decode returns the pixels in row-major order, 1 inside and 0 outside.
func (m Mask) Decode() []uint8 {
	pixels := make([]uint8, m.Height*m.Width)
	at := 0
	for i, n := range m.Counts {
		for range n {
			if i%2 == 1 {
				pixels[at%m.Height*m.Width+at/m.Height] = 1
			}
			at++
		}
	}
	return pixels
}

// Area returns the number of pixels inside.
func (m Mask) Area() int {
	n := 0
	for i := 1; i < len(m.Counts); i += 2 {
		n += int(m.Counts[i])
	}
	return n
}

// Box returns the smallest box around the pixels, the zero Box if there are none.
func (m Mask) Box() Box {
	left, top, right, bottom := m.Width, m.Height, 0, 0 // right and bottom are not in it
	at := 0
	for i, n := range m.Counts {
		start, end := at, at+int(n)
		at = end
		if i%2 == 0 || n == 0 {
			continue
		}
		firstColumn, lastColumn := start/m.Height, (end-1)/m.Height
		left, right = min(left, firstColumn), max(right, lastColumn+1)
		if firstColumn < lastColumn { // the run goes through the end of a column
			top, bottom = 0, m.Height
			continue
		}
		top, bottom = min(top, start%m.Height), max(bottom, (end-1)%m.Height+1)
	}
	if right == 0 {
		return Box{}
	}
	return Box{float64(left), float64(top), float64(right - left), float64(bottom - top)}
}

// overlay calls run with the length of each piece of the image in which neither mask changes.
func overlay(a, b Mask, run func(n uint32, inA, inB bool)) {
	var i, j int
	var leftA, leftB uint32
	for {
		for leftA == 0 && i < len(a.Counts) {
			leftA = a.Counts[i]
			i++
		}
		for leftB == 0 && j < len(b.Counts) {
			leftB = b.Counts[j]
			j++
		}
		n := min(leftA, leftB)
		if n == 0 {
			return
		}
		run(n, i%2 == 0, j%2 == 0)
		leftA -= n
		leftB -= n
	}
}

// Union returns the pixels that are in any of the masks, which must have one size.
func Union(masks ...Mask) (Mask, error) {
	if len(masks) == 0 {
		return Mask{}, errors.New("union of no masks has no size")
	}
	all := masks[0]
	for _, m := range masks[1:] {
		if m.Height != all.Height || m.Width != all.Width {
			return Mask{}, fmt.Errorf("union of masks of %d × %d and %d × %d pixels", all.Height, all.Width, m.Height, m.Width)
		}
		counts := []uint32{0}
		overlay(all, m, func(n uint32, inA, inB bool) {
			if inside := len(counts)%2 == 0; inside != (inA || inB) {
				counts = append(counts, 0)
			}
			counts[len(counts)-1] += n
		})
		all.Counts = counts
	}
	return all, nil
}

// MaskIoU is IoU for masks. Those of different sizes cannot be compared, which is -1.
func MaskIoU(detection, truth Mask, crowd bool) float64 {
	if IoU(detection.Box(), truth.Box(), crowd) <= 0 {
		return 0
	}
	if detection.Height != truth.Height || detection.Width != truth.Width {
		return -1
	}
	var intersection, union int
	overlay(detection, truth, func(n uint32, inA, inB bool) {
		if inA && inB {
			intersection += int(n)
		}
		if inA || inB && !crowd {
			union += int(n)
		}
	})
	if intersection == 0 {
		return 0
	}
	return float64(intersection) / float64(union)
}
