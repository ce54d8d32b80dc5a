package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Reader reads one array from a stream, in pieces.
type Reader struct {
	Header
	r    io.Reader
	swap bool  // bytes of an element are not in this machine's order
	left int64 // bytes not read yet
}

// NewReader reads the header of an array. It reads nothing beyond.
func NewReader(r io.Reader) (*Reader, error) {
	h, bigEndian, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	n, err := h.bytes()
	if err != nil {
		return nil, err
	}
	return &Reader{Header: h, r: r, swap: bigEndian == littleEndian(), left: n}, nil
}

// Read fills dst, of any shape, with the array's next elements. It returns io.EOF if
// there are none left, and fails if there are fewer than dst holds or their type is
// another.
func (r *Reader) Read(dst tensor.Tensor) error {
	if dst.Type != r.Type {
		return fmt.Errorf("array has elements of type %v, want %v", r.Type, dst.Type)
	}
	mem := dst.Bytes()
	if len(mem) > 0 && r.left == 0 {
		return io.EOF
	}
	if int64(len(mem)) > r.left {
		return fmt.Errorf("array has %d elements left, want %d", r.left/int64(r.Type.Size()), dst.Len())
	}
	return r.fill(mem)
}

func (r *Reader) fill(mem []byte) error {
	if _, err := io.ReadFull(r.r, mem); err != nil {
		return fmt.Errorf("reading %v%v: %w", r.Type, r.Shape, unexpected(err))
	}
	r.left -= int64(len(mem))
	if r.swap {
		swap(mem, r.Type.Size())
	}
	return nil
}

// unexpected says that the end of a stream is not expected here.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Read reads a whole array.
func Read(r io.Reader) (tensor.Tensor, error) {
	array, err := NewReader(r)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return array.all()
}

// all reads all elements. Memory grows with what is really there, whatever the header
// promises.
func (r *Reader) all() (tensor.Tensor, error) {
	const step = 1 << 20
	total := int(r.left)
	words := make([]uint64, 0, (min(total, step)+7)/8)
	for read := 0; read < total; {
		n := min(total-read, max(step, read))
		words = slices.Grow(words, (read+n+7)/8-len(words))
		words = words[:(read+n+7)/8]
		if err := r.fill(tensor.Of(words, int64(len(words))).Bytes()[read : read+n]); err != nil {
			return tensor.Tensor{}, err
		}
		read += n
	}
	return tensor.FromBytes(r.Type, tensor.Of(words, int64(len(words))).Bytes()[:total], r.Shape...)
}

// ReadFile reads the array in a file.
func ReadFile(name string) (tensor.Tensor, error) {
	f, err := os.Open(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// A Writer writes one array to a stream, in pieces.
type Writer struct {
	header Header
	w      io.Writer
	left   int64 // bytes not written yet
}

// NewWriter writes the header of an array.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	start, err := h.encode()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(start); err != nil {
		return nil, fmt.Errorf("writing the header: %w", err)
	}
	n, err := h.bytes()
	return &Writer{header: h, w: w, left: n}, err
}

// Write writes the elements of t, of any shape, as the array's next ones.
func (w *Writer) Write(t tensor.Tensor) error {
	if t.Type != w.header.Type {
		return fmt.Errorf("elements are of type %v, want %v", t.Type, w.header.Type)
	}
	mem := t.Bytes()
	if int64(len(mem)) > w.left {
		return fmt.Errorf("array %v%v has room for %d bytes, got %d", w.header.Type, w.header.Shape, w.left, len(mem))
	}
	if !littleEndian() {
		mem = slices.Clone(mem)
		swap(mem, t.Type.Size())
	}
	if _, err := w.w.Write(mem); err != nil {
		return fmt.Errorf("writing %v: %w", t, err)
	}
	w.left -= int64(len(mem))
	return nil
}

// Close fails if elements are missing. It does not close the stream.
func (w *Writer) Close() error {
	if w.left > 0 {
		return fmt.Errorf("array %v%v lacks its last %d bytes", w.header.Type, w.header.Shape, w.left)
	}
	return nil
}

// Write writes t as a whole array.
func Write(w io.Writer, t tensor.Tensor) error {
	array, err := NewWriter(w, Header{t.Type, t.Shape})
	if err != nil {
		return err
	}
	if err := array.Write(t); err != nil {
		return err
	}
	return array.Close()
}

// WriteFile writes t to a file, which it creates or replaces.
func WriteFile(name string, t tensor.Tensor) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := Write(f, t); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// swap reverses the bytes of each element.
func swap(mem []byte, size int) {
	for ; len(mem) >= size; mem = mem[size:] {
		slices.Reverse(mem[:size])
	}
}
