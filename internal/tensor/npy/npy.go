package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

const (
	magic = "\x93NUMPY"

	// maxHeader bounds the memory for a header. NumPy itself refuses more than 10,000 bytes
	// unless told otherwise.
	maxHeader = 1 << 16

	// alignment of the array's first byte in the file, and the digits for which NumPy leaves
	// room in the header, so that the first axis can grow in place.
	alignment  = 64
	growDigits = 21
)

// codes are NumPy's names of element types, without the byte order.
var codes = map[tensor.DType]string{
	tensor.Float16: "f2", tensor.Float32: "f4", tensor.Float64: "f8",
	tensor.Int8: "i1", tensor.Int16: "i2", tensor.Int32: "i4", tensor.Int64: "i8",
	tensor.Uint8: "u1", tensor.Uint16: "u2", tensor.Uint32: "u4", tensor.Uint64: "u8",
	tensor.Bool: "b1",
}

// A Reader reads one array from a stream, in pieces.
type Reader struct {
	Type    tensor.DType
	Shape   tensor.Shape
	Swapped bool // the file is big-endian; Read reverses the bytes

	r       io.Reader
	left    int64 // bytes not read yet
	texts   bool  // arrays of texts are read
	size    int   // of an element in bytes
	unicode bool  // texts have four bytes a character
}

// NewReader reads the header of an array of numbers, and nothing beyond.
func NewReader(r io.Reader) (*Reader, error) { return newReader(r, false) }

// NewTextReader is NewReader for arrays of numbers or texts. Texts are NumPy's S (bytes) and U (Unicode), whose elements all have the length of
// the longest: zeros at their ends are no part of them.
func NewTextReader(r io.Reader) (*Reader, error) { return newReader(r, true) }

func newReader(r io.Reader, texts bool) (*Reader, error) {
	var start [len(magic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, fmt.Errorf("reading the NumPy signature: %w", err)
	}
	if string(start[:len(magic)]) != magic {
		return nil, fmt.Errorf("file begins with % X, expected the NumPy signature % X", start[:len(magic)], magic)
	}
	lengthSize := 4
	switch version := start[len(magic)]; version {
	case 1:
		lengthSize = 2
	case 2, 3:
	default:
		return nil, fmt.Errorf("NumPy format version is %d: must be 1 to 3", version)
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:lengthSize]); err != nil {
		return nil, fmt.Errorf("reading the length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxHeader {
		return nil, fmt.Errorf("header has %d bytes, expected at most %d", n, maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	a := &Reader{r: r, texts: texts}
	if err := a.parse(string(text)); err != nil {
		return nil, fmt.Errorf("header %q: %w", strings.TrimSpace(string(text)), err)
	}
	return a, nil
}

// The entries of a header, a Python dictionary. Other writers than NumPy use other spaces,
// quotes and orders; Python 2 writes 2L for 2.
var (
	descrEntry = regexp.MustCompile(`['"]descr['"]\s*:\s*(?:['"]([<>|=]?)(\w+)['"]|\[)`)
	orderEntry = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	shapeEntry = regexp.MustCompile(`['"]shape['"]\s*:\s*\(\s*((?:\d+L?\s*,\s*)*(?:\d+L?)?)\s*\)`)
)

// parse sets what the text of a header says of the array.
func (r *Reader) parse(text string) error {
	descr, order, shape := descrEntry.FindStringSubmatch(text), orderEntry.FindStringSubmatch(text), shapeEntry.FindStringSubmatch(text)
	if descr == nil || order == nil || shape == nil {
		return errors.New("expected the keys descr, fortran_order and shape as NumPy writes them")
	}
	if order[1] == "True" {
		return errors.New("array is in Fortran order: must be C order")
	}
	for d, code := range codes {
		if code == descr[2] {
			r.Type, r.size = d, d.Size()
		}
	}
	if r.texts {
		if err := r.parseText(descr[2]); err != nil {
			return err
		}
	}
	if r.Type == tensor.Invalid {
		return fmt.Errorf("element type %q is not supported", descr[1]+descr[2])
	}
	r.Swapped = descr[1] == ">"
	for axis := range strings.FieldsFuncSeq(shape[1], func(c rune) bool { return c < '0' || c > '9' }) {
		n, err := strconv.ParseInt(axis, 10, 64)
		if err != nil {
			return fmt.Errorf("shape: %w", err)
		}
		r.Shape = append(r.Shape, n)
	}
	n := r.Shape.Len()
	if n < 0 {
		return fmt.Errorf("shape %v is too large", r.Shape)
	}
	if n > math.MaxInt64/int64(r.size) {
		return fmt.Errorf("shape %v is too large", r.Shape)
	}
	r.left = n * int64(r.size)
	return nil
}

// parseText reads the type of texts: S5 has five bytes, U5 five characters.
func (r *Reader) parseText(code string) error {
	length, bytes := strings.CutPrefix(code, "S")
	length, unicode := strings.CutPrefix(length, "U")
	if bytes == unicode {
		return nil
	}
	const longest = 1 << 24
	n, err := strconv.Atoi(length)
	if err != nil || n < 1 || n > longest {
		return fmt.Errorf("element type %q: texts must be as long as 1 to %d", code, longest)
	}
	r.Type, r.size, r.unicode = tensor.String, n, unicode
	if unicode {
		r.size *= 4
	}
	return nil
}

// Bytes is how many bytes of the file the elements take that are not read yet.
func (r *Reader) Bytes() int64 { return r.left }

// Read fills dst, of any shape, with the array's next elements. It returns io.EOF if none are
// left, and fails if dst holds more than are left or has another type.
func (r *Reader) Read(dst tensor.Tensor) error {
	if dst.Type != r.Type {
		return fmt.Errorf("array has elements of type %v, expected %v", r.Type, dst.Type)
	}
	if r.Type == tensor.String {
		return r.readTexts(dst.Strings())
	}
	mem, size := dst.Bytes(), r.size
	if len(mem) > 0 && r.left == 0 {
		return io.EOF
	}
	if int64(len(mem)) > r.left {
		return fmt.Errorf("array has %d elements left, expected %d", r.left/int64(size), dst.Len())
	}
	if _, err := io.ReadFull(r.r, mem); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading %v%v: %w", r.Type, r.Shape, err)
	}
	r.left -= int64(len(mem))
	if r.Swapped {
		for ; len(mem) > 0; mem = mem[size:] {
			slices.Reverse(mem[:size])
		}
	}
	return nil
}

// readTexts reads the next texts.
func (r *Reader) readTexts(dst []string) error {
	if len(dst) > 0 && r.left == 0 {
		return io.EOF
	}
	if int64(len(dst)) > r.left/int64(r.size) {
		return fmt.Errorf("array has %d elements left, expected %d", r.left/int64(r.size), len(dst))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if r.Swapped {
		order = binary.BigEndian
	}
	element := make([]byte, r.size)
	for i := range dst {
		if _, err := io.ReadFull(r.r, element); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("reading text %d of %v: %w", i, r.Shape, err)
		}
		r.left -= int64(r.size)
		if !r.unicode {
			dst[i] = string(bytes.TrimRight(element, "\x00"))
			continue
		}
		var text strings.Builder
		for at := 0; at < len(element); at += 4 {
			text.WriteRune(rune(order.Uint32(element[at:]))) // what is no character becomes U+FFFD
		}
		dst[i] = strings.TrimRight(text.String(), "\x00")
	}
	return nil
}

// Write writes t as an array of its own.
func Write(w io.Writer, t tensor.Tensor) error {
	if err := WriteHeader(w, t.Type, t.Shape); err != nil {
		return err
	}
	if _, err := w.Write(t.Bytes()); err != nil {
		return fmt.Errorf("writing %v: %w", t, err)
	}
	return nil
}

// WriteHeader writes what precedes the elements of an array, which the caller writes behind it.
func WriteHeader(w io.Writer, d tensor.DType, shape tensor.Shape) error {
	header, err := encodeHeader(d, shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	return nil
}

// WriteFile replaces the file name with the array t. If it fails, the old file stays.
func WriteFile(name string, t tensor.Tensor) error {
	if err := fileio.WriteAtomic(name, 0o644, func(w io.Writer) error { return Write(w, t) }); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// encodeHeader returns everything that precedes the elements in a file.
func encodeHeader(d tensor.DType, shape tensor.Shape) ([]byte, error) {
	descr, ok := codes[d]
	if !ok {
		return nil, fmt.Errorf("NumPy has no element type %v", d)
	}
	order := "<"
	if d.Size() == 1 {
		order = "|"
	}
	var axes strings.Builder // as Python writes a tuple: (), (2,) and (2, 3)
	for i, n := range shape {
		if i > 0 {
			axes.WriteString(", ")
		}
		fmt.Fprint(&axes, n)
	}
	if len(shape) == 1 {
		axes.WriteString(",")
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, descr, axes.String())
	if len(shape) > 0 {
		text += strings.Repeat(" ", growDigits-len(fmt.Sprint(shape[0])))
	}
	const fixed = len(magic) + 2 + 2 // with version and length
	size := (fixed + len(text) + 1 + alignment - 1) / alignment * alignment
	text += strings.Repeat(" ", size-fixed-len(text)-1) + "\n"
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...), nil
}
