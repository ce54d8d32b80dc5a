package tfcheckpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

const (
	indexExt    = ".index"
	largestFile = 1 << 26 // bytes of an index; that of GNMT has 2 KB
)

// A Checkpoint is an index. It holds no file open.
type Checkpoint struct {
	prefix    string // of the files
	shards    uint64
	variables map[string]Variable
}

// Open reads the index of a checkpoint. The path is its folder or the one above, which must have no
// other checkpoint, its prefix (dir/translate.ckpt) or one of its files.
func Open(path string) (*Checkpoint, error) {
	prefix, err := prefixOf(path)
	if err != nil {
		return nil, fmt.Errorf("opening the checkpoint: %w", err)
	}
	file, err := fileio.ReadFile(prefix+indexExt, largestFile)
	if err != nil {
		return nil, fmt.Errorf("opening the checkpoint: %w", err)
	}
	c, err := parseIndex(file)
	if err != nil {
		return nil, fmt.Errorf("opening the checkpoint: %s: %w", prefix+indexExt, err)
	}
	c.prefix = prefix
	return c, nil
}

// DataFile is the path of a file with elements, counted from 0.
func (c *Checkpoint) DataFile(shard uint64) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", c.prefix, shard, c.shards)
}

// fileExt follows the prefix in the names of a checkpoint's files.
var fileExt = regexp.MustCompile(`\.(index|meta|data-[0-9]{5}-of-[0-9]{5})$`)

// prefixOf finds the index.
func prefixOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return onlyIn(path)
	}
	prefix := fileExt.ReplaceAllString(path, "")
	if _, missing := os.Stat(prefix + indexExt); missing == nil {
		return prefix, nil
	}
	if err == nil {
		return "", fmt.Errorf("%s is not a checkpoint of TensorFlow: expected files %[2]s%[3]s and %[2]s.data-…", path, prefix, indexExt)
	}
	return "", fmt.Errorf("%w, and no %s%s", err, prefix, indexExt)
}

// onlyIn finds the index in a folder. An unpacked archive may lie one folder deeper.
func onlyIn(folder string) (string, error) {
	found := fileio.Glob(folder, "*"+indexExt)
	if len(found) == 0 {
		for _, inner := range fileio.Glob(folder, "*") {
			found = append(found, fileio.Glob(inner, "*"+indexExt)...)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d files *%s, expected one", folder, len(found), indexExt)
	}
	return strings.TrimSuffix(found[0], indexExt), nil
}

// A Variable is an entry of the index (tensorflow/core/protobuf/tensor_bundle.proto,
// BundleEntryProto).
type Variable struct {
	Name string
	Dims []int64

	dtype, shard uint64
	offset, size uint64
	sum          uint32
	sliced       bool
}

// float32Type is DT_FLOAT.
const float32Type = 1

func parseIndex(file []byte) (*Checkpoint, error) {
	c := &Checkpoint{variables: make(map[string]Variable)}
	err := readTable(file, func(key string, value []byte) error {
		if key == "" { // BundleHeaderProto
			return Fields(value, func(field protowire.Number, number uint64, _ []byte) error {
				switch {
				case field == 1:
					c.shards = number
				case field == 2 && number != 0:
					return errors.New("the elements are big-endian")
				}
				return nil
			})
		}
		v := Variable{Name: key}
		err := Fields(value, func(field protowire.Number, number uint64, content []byte) error {
			switch field {
			case 1:
				v.dtype = number
			case 2:
				return v.parseShape(content)
			case 3:
				v.shard = number
			case 4:
				v.offset = number
			case 5:
				v.size = number
			case 6:
				v.sum = uint32(number)
			case 7:
				v.sliced = true
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("variable %q: %w", key, err)
		}
		c.variables[key] = v
		return nil
	})
	if err == nil && (c.shards < 1 || c.shards > 99999) {
		err = fmt.Errorf("the header says %d files with elements, expected 1 to 99999", c.shards)
	}
	return c, err
}

// parseShape reads the extents (TensorShapeProto).
func (v *Variable) parseShape(shape []byte) error {
	return Fields(shape, func(field protowire.Number, number uint64, dim []byte) error {
		if field == 3 && number != 0 {
			return errors.New("the shape is not known")
		}
		if field != 2 {
			return nil
		}
		extent := uint64(0)
		err := Fields(dim, func(field protowire.Number, number uint64, _ []byte) error {
			if field == 1 {
				extent = number
			}
			return nil
		})
		if err == nil && extent > math.MaxInt32 {
			err = fmt.Errorf("an axis has %d elements", extent)
		}
		v.Dims = append(v.Dims, int64(extent))
		return err
	})
}

// Fields calls found for each field of a message, with its number or its bytes.
func Fields(b []byte, found func(field protowire.Number, number uint64, content []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var fixed uint32
			fixed, n = protowire.ConsumeFixed32(b)
			number = uint64(fixed)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := found(field, number, content); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// Find returns the variable of the first name that the checkpoint has. Its shape must be dims; −1 is
// any extent.
func (c *Checkpoint) Find(dims []int64, names ...string) (Variable, error) {
	for _, name := range names {
		v, ok := c.variables[name]
		if !ok {
			continue
		}
		if !slices.EqualFunc(v.Dims, dims, func(have, want int64) bool { return want == -1 || have == want }) {
			return v, fmt.Errorf("variable %q has shape %v, expected %v", name, v.Dims, dims)
		}
		want := uint64(4)
		for _, d := range v.Dims {
			if d < 1 || want > math.MaxInt32*16/uint64(d) {
				return v, fmt.Errorf("variable %q has shape %v", v.Name, v.Dims)
			}
			want *= uint64(d)
		}
		switch {
		case v.sliced:
			return v, fmt.Errorf("variable %q is stored in slices, which this program does not read", v.Name)
		case v.dtype != float32Type:
			return v, fmt.Errorf("variable %q is of type %d: must be float32 (%d)", v.Name, v.dtype, float32Type)
		case v.size != want:
			return v, fmt.Errorf("variable %q has %d bytes, expected %d for its shape %v", v.Name, v.size, want, v.Dims)
		}
		return v, nil
	}
	return Variable{}, fmt.Errorf("the checkpoint has no variable %q (it has %d others)", names[0], len(c.variables))
}

// Read returns the elements of a variable, in row-major order.
func (c *Checkpoint) Read(v Variable) ([]float32, error) {
	if v.shard >= c.shards {
		return nil, fmt.Errorf("variable %q is in file %d of %d", v.Name, v.shard, c.shards)
	}
	path := c.DataFile(v.shard)
	f, err := fileio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("variable %q: %w", v.Name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("variable %q: %w", v.Name, err)
	}
	if size := uint64(info.Size()); v.offset > size || v.size > size-v.offset {
		return nil, fmt.Errorf("variable %q: %s has %d bytes, expected %d at byte %d: the file is cut off", v.Name, path, size, v.size, v.offset)
	}
	data := make([]byte, v.size)
	if _, err := f.ReadAt(data, int64(v.offset)); err != nil {
		return nil, fmt.Errorf("variable %q: reading %s: %w", v.Name, path, err)
	}
	if sum := masked(crc32.Checksum(data, castagnoli)); sum != v.sum {
		return nil, fmt.Errorf("variable %q: the check sum of its bytes in %s is %08x: must be %08x: the file is damaged", v.Name, path, sum, v.sum)
	}
	numbers := make([]float32, len(data)/4)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return numbers, nil
}

// The format of a table (LevelDB, doc/table_format.md).
const (
	footerBytes  = 48
	tableMagic   = 0xdb4775248b80fb57
	trailerBytes = 5 // kind of compression, check sum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns a check sum as it is stored.
func masked(sum uint32) uint32 { return (sum>>15 | sum<<17) + 0xa282ead8 }

var errCut = errors.New("the table is cut off")

// readTable calls found for each entry.
func readTable(file []byte, found func(key string, value []byte) error) error {
	if len(file) < footerBytes {
		return errCut
	}
	blocks, footer := file[:len(file)-footerBytes], file[len(file)-footerBytes:]
	if magic := binary.LittleEndian.Uint64(footer[footerBytes-8:]); magic != tableMagic {
		return fmt.Errorf("the file ends with %016x, expected %016x: it is not an index of a checkpoint, or is cut off", magic, uint64(tableMagic))
	}
	r := bytes.NewReader(footer)
	var handles [4]uint64 // offset and size of the block of statistics, and of the list of blocks
	for i := range handles {
		var err error
		if handles[i], err = binary.ReadUvarint(r); err != nil {
			return errCut
		}
	}
	return readBlock(blocks, handles[2], handles[3], func(_ string, value []byte) error {
		offset, n := binary.Uvarint(value)
		if n <= 0 {
			return errCut
		}
		size, n := binary.Uvarint(value[n:])
		if n <= 0 {
			return errCut
		}
		return readBlock(blocks, offset, size, found)
	})
}

// readBlock calls found for each entry of a block. Keys share their beginnings with the one before.
func readBlock(file []byte, offset, size uint64, found func(key string, value []byte) error) error {
	if n := uint64(len(file)); offset > n || size > n-offset || n-offset-size < trailerBytes {
		return errCut
	}
	block, trailer := file[offset:][:size], file[offset+size:][:trailerBytes]
	sum := binary.LittleEndian.Uint32(trailer[1:])
	if got := masked(crc32.Checksum(file[offset:][:size+1], castagnoli)); got != sum {
		return fmt.Errorf("the check sum of the block at byte %d is %08x: must be %08x: the file is damaged", offset, got, sum)
	}
	if kind := trailer[0]; kind != 0 {
		return fmt.Errorf("the block at byte %d is compressed (kind %d), which TensorFlow does not do", offset, kind)
	}
	if size < 4 {
		return errCut
	}
	restarts := uint64(binary.LittleEndian.Uint32(block[size-4:]))
	if restarts > (size-4)/4 {
		return errCut
	}
	var key []byte
	for r := bytes.NewReader(block[:size-4-4*restarts]); r.Len() > 0; {
		var sizes [3]uint64 // of the shared and the own part of the key, and of the value
		for i := range sizes {
			var err error
			if sizes[i], err = binary.ReadUvarint(r); err != nil {
				return errCut
			}
		}
		shared, own, left := sizes[0], sizes[1], uint64(r.Len())
		if shared > uint64(len(key)) || own > left || sizes[2] > left-own {
			return errCut
		}
		content := make([]byte, own+sizes[2])
		if _, err := io.ReadFull(r, content); err != nil {
			return err
		}
		key = append(key[:shared:shared], content[:own]...)
		if err := found(string(key), content[own:]); err != nil {
			return err
		}
	}
	return nil
}
