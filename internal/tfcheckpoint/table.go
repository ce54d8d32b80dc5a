package tfcheckpoint

import (
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
	if len(file) < footerBytes {
		return errCut
	}
	footer := file[len(file)-footerBytes:]
	if magic := binary.LittleEndian.Uint64(footer[footerBytes-8:]); magic != tableMagic {
		return fmt.Errorf("the file ends with %016x, want %016x: it is no index of a checkpoint, or is cut off", magic, uint64(tableMagic))
	}
	_, rest, err := readHandle(footer) // of blocks with statistics
	if err != nil {
		return err
	}
	index, _, err := readHandle(rest)
	if err != nil {
		return err
	}
	blocks, err := block(file, index)
	if err != nil {
		return fmt.Errorf("the list of blocks: %w", err)
	}
	return entries(blocks, func(_, value []byte) error {
		at, _, err := readHandle(value)
		if err != nil {
			return err
		}
		data, err := block(file, at)
		if err != nil {
			return fmt.Errorf("the block at byte %d: %w", at.offset, err)
		}
		return entries(data, found)
	})
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
	var key []byte
	for len(b) > 0 {
		var sizes [3]uint64 // of what is shared, of the rest of the key, of the value
		var err error
		for i := range sizes {
			if sizes[i], b, err = uvarint(b); err != nil {
				return err
			}
		}
		shared, rest, value := sizes[0], sizes[1], sizes[2]
		if shared > uint64(len(key)) || rest > uint64(len(b)) || value > uint64(len(b))-rest {
			return errCut
		}
		key = append(key[:shared:shared], b[:rest]...)
		if err := found(key, b[rest:rest+value]); err != nil {
			return err
		}
		b = b[rest+value:]
	}
	return nil
}
