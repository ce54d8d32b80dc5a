package harness

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// contents are hashes of the samples that were loaded: files of many names, links and other encodings of one picture are one
// sample. A row is hashed whole up to 64 KiB for each tensor, else in 64 pieces, so that hashing is cheap beside loading.
type contents struct {
	seed   maphash.Seed
	sample []atomic.Uint64 // 0: not loaded yet
}

const (
	wholeRow  = 64 << 10
	rowPieces = 64
)

// grow makes room for all samples.
func (c *contents) grow(samples int) {
	if c.sample == nil {
		c.seed, c.sample = maphash.MakeSeed(), make([]atomic.Uint64, samples)
	}
}

// add hashes a sample that has been loaded into a row. MultiStream loads some twice, at the same time.
func (c *contents) add(index int, w *workload.Workload, store *workload.Store, row int) {
	var h maphash.Hash
	h.SetSeed(c.seed)
	switch {
	case w.Row != nil:
		for _, t := range store.Row(row) {
			for _, text := range t.Strings() {
				h.WriteString(text + "\x00")
			}
			data := t.Bytes()
			if len(data) <= wholeRow {
				h.Write(data)
				continue
			}
			for i := range rowPieces {
				h.Write(data[i*(len(data)-wholeRow/rowPieces)/(rowPieces-1):][:wholeRow/rowPieces])
			}
		}
	case w.Prompts != nil:
		p := w.Prompts.Prompt(index)
		h.WriteString(p.Text)
		for _, m := range p.Messages {
			h.WriteString(m.Role + "\x00" + m.Content + "\x00" + string(m.Raw)) // which has the pictures
		}
		binary.Write(&h, binary.LittleEndian, p.IDs) // a hash accepts everything
	default:
		return // an engine makes the samples
	}
	c.sample[index].Store(max(1, h.Sum64()))
}

// count returns how many samples were loaded, and how many contents they have.
func (c *contents) count() (loaded, distinct int) {
	seen := map[uint64]bool{}
	for i := range c.sample {
		if sum := c.sample[i].Load(); sum != 0 {
			loaded++
			seen[sum] = true
		}
	}
	return loaded, len(seen)
}
