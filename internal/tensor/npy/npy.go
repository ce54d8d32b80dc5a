package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Reader reads one array from a stream, in pieces.
type Reader struct {
	header
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
	return &Reader{header: h, r: r, swap: bigEndian == littleEndian(), left: n}, nil
}

// Swapped reports whether the elements are not in this machine's order of bytes, which Read
// makes good.
func (r *Reader) Swapped() bool { return r.swap }

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

// Write writes t as a whole array.
func Write(w io.Writer, t tensor.Tensor) error {
	start, err := header{t.Type, t.Shape}.encode()
	if err != nil {
		return err
	}
	if _, err := w.Write(start); err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	mem := t.Bytes()
	if !littleEndian() {
		mem = slices.Clone(mem)
		swap(mem, t.Type.Size())
	}
	if _, err := w.Write(mem); err != nil {
		return fmt.Errorf("writing %v: %w", t, err)
	}
	return nil
}

// WriteFile writes t to a file, which it creates or replaces: whole, or what is there stays.
func WriteFile(name string, t tensor.Tensor) error {
	if err := fileio.WriteAtomic(name, 0o644, func(w io.Writer) error { return Write(w, t) }); err != nil {
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
