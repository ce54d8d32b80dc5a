package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A SampleCache keeps rows of bytes in a file, one for each sample of a data set. Rows
// are written once. Several goroutines and processes may read and write them at
// the same time. The file is sparse: missing rows take no room.
//
// A row exists if its checksum is right: after a crash, damaged rows are made again.
type SampleCache struct {
	rows   *os.File // row i is from starts(i) to starts(i+1)
	sums   *os.File // checksum i at 4*i; 0: no such row
	starts func(i int) int64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// OpenSampleCache opens the cache of a key in a folder, which it makes if needed. The key must name everything that decides the
// content of the rows. Row i has the bytes from starts(i) to starts(i+1) of the file: rows may differ in length.
func OpenSampleCache(dir, key string, starts func(i int) int64) (_ *SampleCache, err error) {
	defer opening("the cache of pre-processed samples", &err)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(key))
	base := hex.EncodeToString(sum[:10])
	rows, err := fileio.OpenIn(dir, base+".rows")
	if err != nil {
		return nil, err
	}
	sums, err := fileio.OpenIn(dir, base+".sums")
	if err != nil {
		rows.Close()
		return nil, err
	}
	return &SampleCache{rows: rows, sums: sums, starts: starts}, nil
}

// Read fills row with the row of a sample and reports whether it is in the cache.
func (c *SampleCache) Read(i int, row []byte) bool {
	var sum [4]byte
	if _, err := c.sums.ReadAt(sum[:], 4*int64(i)); err != nil {
		return false
	}
	want := binary.LittleEndian.Uint32(sum[:])
	if want == 0 {
		return false
	}
	if _, err := c.rows.ReadAt(row, c.starts(i)); err != nil {
		return false
	}
	return checksum(row) == want
}

// Write stores the row of a sample.
func (c *SampleCache) Write(i int, row []byte) error {
	if want := c.starts(i+1) - c.starts(i); int64(len(row)) != want {
		return fmt.Errorf("row %d of the sample cache has %d bytes, not %d", i, want, len(row))
	}
	if _, err := c.rows.WriteAt(row, c.starts(i)); err != nil {
		return err
	}
	_, err := c.sums.WriteAt(binary.LittleEndian.AppendUint32(nil, checksum(row)), 4*int64(i))
	return err
}

// Bytes returns the size of the rows so far, at most.
func (c *SampleCache) Bytes() uint64 {
	info, err := c.rows.Stat()
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

// Path returns the file of the rows.
func (c *SampleCache) Path() string { return c.rows.Name() }

// Close closes the files.
func (c *SampleCache) Close() error { return errors.Join(c.rows.Close(), c.sums.Close()) }

// checksum is never 0, which stands for a missing row.
func checksum(row []byte) uint32 { return max(1, crc32.Checksum(row, castagnoli)) }
