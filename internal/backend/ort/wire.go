package ort

import (
	"encoding/binary"
	"errors"
	"io"
)

// A cursor walks over the fields of a protobuf message in a file, reading only what is asked for: the
// weights of a model are stepped over, so that the head of a file of gigabytes is read in no
// time.
type cursor struct {
	file     io.ReaderAt
	pos, end int64

	window []byte // part of the file that was read last
	start  int64  // where it begins
}

// A field of a message: its number, and either a number or the place of its bytes.
type field struct {
	number     int
	value      uint64 // of a varint field
	begin, end int64  // of a field with bytes
}

var errWire = errors.New("not in protobuf format")

// next returns the next field, io.EOF after the last.
func (c *cursor) next() (field, error) {
	if c.pos == c.end {
		return field{}, io.EOF
	}
	key, err := c.varint()
	if err != nil || key>>3 == 0 || key>>3 > 1<<29 {
		return field{}, errWire
	}
	f := field{number: int(key >> 3)}
	switch key & 7 {
	case 0:
		f.value, err = c.varint()
	case 1:
		err = c.skip(8)
	case 2:
		var size uint64
		if size, err = c.varint(); err == nil {
			f.begin = c.pos
			err = c.skip(size)
			f.end = c.pos
		}
	case 5:
		err = c.skip(4)
	default:
		err = errWire
	}
	return f, err
}

func (c *cursor) skip(n uint64) error {
	if n > uint64(c.end-c.pos) {
		return errWire
	}
	c.pos += int64(n)
	return nil
}

func (c *cursor) varint() (uint64, error) {
	bytes := c.peek(min(binary.MaxVarintLen64, c.end-c.pos))
	v, n := binary.Uvarint(bytes)
	if n <= 0 {
		return 0, errWire
	}
	c.pos += int64(n)
	return v, nil
}

// peek returns the next n bytes, fewer if the file ends before.
func (c *cursor) peek(n int64) []byte {
	const windowSize = 4096
	if c.pos < c.start || c.pos+n > c.start+int64(len(c.window)) {
		if cap(c.window) == 0 {
			c.window = make([]byte, windowSize)
		}
		got, _ := c.file.ReadAt(c.window[:cap(c.window)], c.pos)
		c.window, c.start = c.window[:got], c.pos
	}
	offset := c.pos - c.start
	return c.window[offset:min(offset+n, int64(len(c.window)))]
}

// message visits the fields of the message within f, then comes back to where it was.
func (c *cursor) message(f field, visit func(field) error) error {
	pos, end := c.pos, c.end
	c.pos, c.end = f.begin, f.end
	defer func() { c.pos, c.end = pos, end }()
	return c.each(visit)
}

// each visits all fields from here to the end of the message.
func (c *cursor) each(visit func(field) error) error {
	for {
		f, err := c.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
	}
}

// text returns the bytes of f as a string. Names in models are short; a longer one is
// damage, and not worth the memory.
func (c *cursor) text(f field) (string, error) {
	const longest = 1 << 16
	if f.end-f.begin > longest {
		return "", errWire
	}
	buf := make([]byte, f.end-f.begin)
	if _, err := c.file.ReadAt(buf, f.begin); err != nil && err != io.EOF {
		return "", err
	}
	return string(buf), nil
}
