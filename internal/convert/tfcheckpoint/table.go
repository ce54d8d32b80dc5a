package tfcheckpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The format of a table (LevelDB, doc/table_format.md).
const (
	footerBytes  = 48
	tableMagic   = 0xdb4775248b80fb57
	trailerBytes = 5 // kind of compression, check sum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is how check sums are stored.
func masked(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

// A handle is where a block is.
type handle struct{ offset, size uint64 }

var errCut = errors.New("the table is cut off")

// readTable calls found for each entry, in the order of the keys.
func readTable(file []byte, found func(key, value []byte) error) error {
	at, err := indexOf(file)
	if err != nil {
		return err
	}
	blocks, err := block(file, at)
	if err != nil {
		return fmt.Errorf("the list of blocks: %w", err)
	}
	r := &tableReader{file: file, found: found}
	return entries(blocks, func(_, value []byte) error {
		at, _, err := readHandle(value)
		if err != nil {
			return err
		}
		return r.block(at)
	})
}

// indexOf reads the end of a table: where the list of blocks is.
func indexOf(file []byte) (handle, error) {
	if len(file) < footerBytes {
		return handle{}, errCut
	}
	footer := file[len(file)-footerBytes:]
	if magic := binary.LittleEndian.Uint64(footer[footerBytes-8:]); magic != tableMagic {
		return handle{}, fmt.Errorf("the file ends with %016x, want %016x: it is no index of a checkpoint, or is cut off", magic, uint64(tableMagic))
	}
	_, rest, err := readHandle(footer) // of blocks with statistics
	if err != nil {
		return handle{}, err
	}
	index, _, err := readHandle(rest)
	return index, err
}

// A tableReader reads blocks one after the other. Neither blocks nor keys come twice: a short file that
// repeats them would keep the reader busy for ever.
type tableReader struct {
	file  []byte
	found func(key, value []byte) error
	end   uint64 // of the last block
	last  []byte // key; nil: there was none
}

func (r *tableReader) block(at handle) error {
	data, err := block(r.file, at)
	if err != nil {
		return fmt.Errorf("the block at byte %d: %w", at.offset, err)
	}
	if at.offset < r.end {
		return fmt.Errorf("the block at byte %d begins before the end of the last one, byte %d", at.offset, r.end)
	}
	r.end = at.offset + at.size + trailerBytes
	return entries(data, r.entry)
}

func (r *tableReader) entry(key, value []byte) error {
	if r.last != nil && bytes.Compare(key, r.last) <= 0 {
		return fmt.Errorf("%q comes after %q: the table is not in order", key, r.last)
	}
	r.last = append([]byte{}, key...)
	return r.found(key, value)
}

func readHandle(b []byte) (h handle, rest []byte, err error) {
	if h.offset, b, err = uvarint(b); err != nil {
		return h, b, err
	}
	h.size, b, err = uvarint(b)
	return h, b, err
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, errCut
	}
	return v, b[n:], nil
}

// block returns the content of a block.
func block(file []byte, h handle) ([]byte, error) {
	size := uint64(len(file) - footerBytes)
	if h.offset > size || h.size > size-h.offset || size-h.offset-h.size < trailerBytes {
		return nil, errCut
	}
	data := file[h.offset:][:h.size+trailerBytes]
	sum := binary.LittleEndian.Uint32(data[h.size+1:])
	if got := masked(crc32.Checksum(data[:h.size+1], castagnoli)); got != sum {
		return nil, fmt.Errorf("the check sum is %08x, want %08x: the file is damaged", got, sum)
	}
	if kind := data[h.size]; kind != 0 {
		return nil, fmt.Errorf("the block is compressed (kind %d), which TensorFlow does not do", kind)
	}
	return data[:h.size], nil
}

// entries calls found for each entry of a block. Keys share their beginnings with the one
// before.
func entries(b []byte, found func(key, value []byte) error) error {
	if len(b) < 4 {
		return errCut
	}
	restarts := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if restarts > uint64(len(b)-4)/4 {
		return errCut
	}
	b = b[:uint64(len(b))-4-4*restarts]
	var key, value []byte
	for len(b) > 0 {
		var err error
		if key, value, b, err = readEntry(key, b); err != nil {
			return err
		}
		if err := found(key, value); err != nil {
			return err
		}
	}
	return nil
}

// longestKey is far more than the names of variables have. Each key is copied as a whole.
const longestKey = 1 << 12

// readEntry reads an entry: the sizes of what its key shares with the last one, of the rest of the key and of
// the value, and then these two.
func readEntry(last, b []byte) (key, value, rest []byte, err error) {
	var sizes [3]uint64
	for i := range sizes {
		if sizes[i], b, err = uvarint(b); err != nil {
			return nil, nil, nil, err
		}
	}
	shared, own, size := sizes[0], sizes[1], sizes[2]
	if shared > uint64(len(last)) || own > uint64(len(b)) || size > uint64(len(b))-own {
		return nil, nil, nil, errCut
	}
	if shared+own > longestKey {
		return nil, nil, nil, fmt.Errorf("a name of %d bytes, want at most %d", shared+own, longestKey)
	}
	key = append(last[:shared:shared], b[:own]...)
	return key, b[own : own+size], b[own+size:], nil
}
