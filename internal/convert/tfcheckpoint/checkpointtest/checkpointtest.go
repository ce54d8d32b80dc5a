// Package checkpointtest writes checkpoints of TensorFlow for tests.
package checkpointtest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Variable is an array of float32.
type Variable struct {
	Dims    []int64
	Numbers []float32
}

// Write writes translate.ckpt.index and the files with the elements, of which each has every
// so many variables.
func Write(t testing.TB, dir string, shards int, variables map[string]Variable) {
	t.Helper()
	files := make([][]byte, shards)
	entries := map[string][]byte{"": header(shards)}
	for i, name := range names(variables) {
		v, shard := variables[name], i%shards
		var data []byte
		for _, x := range v.Numbers {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		entries[name] = entry(v.Dims, shard, len(files[shard]), data)
		files[shard] = append(files[shard], data...)
	}
	prefix := filepath.Join(dir, "translate.ckpt")
	write(t, prefix+".index", Table(entries))
	for i, data := range files {
		write(t, fmt.Sprintf("%s.data-%05d-of-%05d", prefix, i, shards), data)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func names[V any](m map[string]V) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func header(shards int) []byte {
	b := protowire.AppendTag(nil, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(shards))
	return append(b, 0x1a, 2, 8, 1) // version
}

// entry leaves zeros out, as proto3 does.
func entry(dims []int64, shard, offset int, data []byte) []byte {
	var shape []byte
	for _, d := range dims {
		shape = protowire.AppendTag(shape, 2, protowire.BytesType)
		shape = protowire.AppendBytes(shape, protowire.AppendVarint([]byte{8}, uint64(d)))
	}
	b := protowire.AppendBytes([]byte{8, 1, 0x12}, shape)
	for i, v := range []int{shard, offset, len(data)} {
		if v != 0 {
			b = protowire.AppendTag(b, protowire.Number(3+i), protowire.VarintType)
			b = protowire.AppendVarint(b, uint64(v))
		}
	}
	b = protowire.AppendTag(b, 6, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, masked(data))
}

func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// perBlock is how many entries a block has: few, so that there are several.
const perBlock = 5

// Table is a table of entries, in LevelDB's format.
func Table(entries map[string][]byte) []byte {
	var file, index, block []byte
	last, n := "", 0
	flush := func() {
		if n > 0 {
			index = addEntry(index, "", last, place(file, block))
			file = addBlock(file, block)
		}
		block, last, n = nil, "", 0
	}
	for _, key := range names(entries) {
		block = addEntry(block, last, key, entries[key])
		if last, n = key, n+1; n == perBlock {
			flush()
		}
	}
	flush()
	statistics := place(file, nil)
	file = addBlock(file, nil)
	footer := append(statistics, place(file, index)...)
	file = addBlock(file, index)
	footer = append(footer, make([]byte, 40-len(footer))...)
	return append(file, binary.LittleEndian.AppendUint64(footer, 0xdb4775248b80fb57)...)
}

// place is where a block will be.
func place(file, block []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(file))), uint64(len(block)+8))
}

// addBlock adds a block with one restart, uncompressed.
func addBlock(file, block []byte) []byte {
	data := append(slices.Clone(block), 0, 0, 0, 0, 1, 0, 0, 0, 0)
	file = append(file, data...)
	return binary.LittleEndian.AppendUint32(file, masked(data))
}

func addEntry(block []byte, last, key string, value []byte) []byte {
	shared := 0
	for shared < min(len(last), len(key)) && last[shared] == key[shared] {
		shared++
	}
	for _, n := range []int{shared, len(key) - shared, len(value)} {
		block = binary.AppendUvarint(block, uint64(n))
	}
	return append(append(block, key[shared:]...), value...)
}
