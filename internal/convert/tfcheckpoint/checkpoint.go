package tfcheckpoint

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

const (
	indexExt    = ".index"
	largestFile = 1 << 26 // bytes of an index; that of GNMT has 2 KB
)

// A Checkpoint is an index. It holds nothing open.
type Checkpoint struct {
	prefix    string // of the files
	shards    uint64
	variables map[string]Variable
}

// Open reads the index of a checkpoint: the only one in a folder or in the folders in it, that of a prefix,
// dir/translate.ckpt, or that of one of its files.
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

// fileExt is what the names of a checkpoint's files have behind its prefix.
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
		return "", fmt.Errorf("%s is no checkpoint of TensorFlow, which is files %[2]s%[3]s and %[2]s.data-…", path, prefix, indexExt)
	}
	return "", fmt.Errorf("%w, and no %s%s", err, prefix, indexExt)
}

// onlyIn finds the index in a folder. What is unpacked of an archive may lie one folder deeper.
func onlyIn(folder string) (string, error) {
	found := fileio.Glob(folder, "*"+indexExt)
	if len(found) == 0 {
		for _, inner := range fileio.Glob(folder, "*") {
			found = append(found, fileio.Glob(inner, "*"+indexExt)...) // of a file that is none
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d files *%s, want one", folder, len(found), indexExt)
	}
	return strings.TrimSuffix(found[0], indexExt), nil
}

func parseIndex(file []byte) (*Checkpoint, error) {
	c := &Checkpoint{variables: make(map[string]Variable)}
	err := readTable(file, func(key, value []byte) (err error) {
		name := string(key)
		if name == "" {
			c.shards, err = parseHeader(value)
			return err
		}
		v, err := parseVariable(name, value)
		if err != nil {
			return fmt.Errorf("variable %q: %w", name, err)
		}
		c.variables[name] = v
		return nil
	})
	if err == nil && c.shards == 0 {
		err = fmt.Errorf("there is no header")
	}
	return c, err
}

// Find returns a variable by the first of its names that is there. The extents that are known
// must be those; −1 is any.
func (c *Checkpoint) Find(dims []int64, names ...string) (Variable, error) {
	for _, name := range names {
		v, ok := c.variables[name]
		if !ok {
			continue
		}
		if !slices.EqualFunc(v.Dims, dims, func(have, want int64) bool { return want == -1 || have == want }) {
			return v, fmt.Errorf("variable %q has shape %v, want %v", name, v.Dims, dims)
		}
		return v, v.check()
	}
	return Variable{}, fmt.Errorf("the checkpoint has no variable %q (it has %d others)", names[0], len(c.variables))
}

// check refuses what cannot be read.
func (v Variable) check() error {
	want := uint64(4)
	for _, d := range v.Dims {
		if d < 1 || want > math.MaxInt32*16/uint64(d) {
			return fmt.Errorf("variable %q has shape %v", v.Name, v.Dims)
		}
		want *= uint64(d)
	}
	switch {
	case v.sliced:
		return fmt.Errorf("variable %q is stored in slices, which this program does not read", v.Name)
	case v.dtype != float32Type:
		return fmt.Errorf("variable %q is of type %d, want float32 (%d)", v.Name, v.dtype, float32Type)
	case v.size != want:
		return fmt.Errorf("variable %q has %d bytes, want %d for its shape %v", v.Name, v.size, want, v.Dims)
	}
	return nil
}

// Read returns the elements of a variable, in row-major order.
func (c *Checkpoint) Read(v Variable) ([]float32, error) {
	if v.shard >= c.shards {
		return nil, fmt.Errorf("variable %q is in file %d of %d", v.Name, v.shard, c.shards)
	}
	path := fmt.Sprintf("%s.data-%05d-of-%05d", c.prefix, v.shard, c.shards)
	data, err := v.bytesIn(path)
	if err != nil {
		return nil, fmt.Errorf("variable %q: %w", v.Name, err)
	}
	if sum := masked(crc32.Checksum(data, castagnoli)); sum != v.sum {
		return nil, fmt.Errorf("variable %q: the check sum of its bytes in %s is %08x, want %08x: the file is damaged", v.Name, path, sum, v.sum)
	}
	numbers := make([]float32, len(data)/4)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return numbers, nil
}

// bytesIn reads the elements from their file.
func (v Variable) bytesIn(path string) ([]byte, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size := uint64(info.Size()); v.offset > size || v.size > size-v.offset {
		return nil, fmt.Errorf("%s has %d bytes, want %d at byte %d: the file is cut off", path, size, v.size, v.offset)
	}
	data := make([]byte, v.size)
	if _, err := f.ReadAt(data, int64(v.offset)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, nil
}
