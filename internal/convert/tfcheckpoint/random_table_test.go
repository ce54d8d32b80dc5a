package tfcheckpoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint/checkpointtest"
)

// randomEntries are names that share beginnings, as those of variables do, with values of any length.
func randomEntries(r *rand.Rand) map[string][]byte {
	entries := map[string][]byte{"": {8, 1}}
	for range 1 + r.IntN(40) {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, []string{"decoder", "encoder", "kernel", "bias", "a", strings.Repeat("long", 30)}[r.IntN(6)])
		}
		value := make([]byte, r.IntN(200))
		for i := range value {
			value[i] = byte(r.Uint32())
		}
		entries[strings.Join(parts, "/")] = value
	}
	return entries
}

// What was written is read, entry by entry, in the order of the names.
func TestTablesOfAnyNamesAreRead(t *testing.T) {
	for seed := range uint64(40) {
		entries := randomEntries(rand.New(rand.NewPCG(seed, 1)))
		var want, got []string
		for name, value := range entries {
			want = append(want, fmt.Sprintf("%s=%x", name, value))
		}
		slices.SortFunc(want, func(a, b string) int {
			x, _, _ := strings.Cut(a, "=")
			y, _, _ := strings.Cut(b, "=")
			return strings.Compare(x, y)
		})
		err := readTable(checkpointtest.Table(entries), func(key, value []byte) error {
			got = append(got, fmt.Sprintf("%s=%x", key, value))
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, entries\n%q, want\n%q", seed, err, got, want)
		}
	}
}

// A byte that is another one is found by a check sum, or by the place that it says; only those at the end that nobody reads may change.
func TestDamageOfOneByteIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	entries := randomEntries(r)
	file := checkpointtest.Table(entries)
	silent := 0
	for at := range file {
		damaged := slices.Clone(file)
		damaged[at] ^= byte(1 + r.IntN(255))
		var names []string
		err := readTable(damaged, func(key, _ []byte) error {
			names = append(names, string(key))
			return nil
		})
		if err != nil {
			continue
		}
		silent++
		if at < len(file)-footerBytes && len(names) != len(entries) {
			t.Errorf("byte %d of %d: %d names are read of %d, and nothing is said", at, len(file), len(names), len(entries))
		}
	}
	if silent > footerBytes+trailerBytes+8 {
		t.Errorf("damage of %d bytes of %d is not found", silent, len(file))
	}
}

func TestATableThatIsCutOffAnywhereIsRefused(t *testing.T) {
	file := checkpointtest.Table(randomEntries(rand.New(rand.NewPCG(6, 1))))
	for n := range file {
		if err := readTable(file[:n], func([]byte, []byte) error { return nil }); err == nil {
			t.Errorf("%d of %d bytes are read as a table", n, len(file))
		}
	}
}
