package download

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// subset chooses count of the names, which must differ. Each name has a place in a
// sequence that follows from seed and name alone, the SHA-256 of both, and the first
// count are taken. So the choice does not depend on the order of the names, and that of
// fewer is contained in that of more.
//
// The reference draws with replacement (openimages.py), and so gets fewer images than
// asked for, some of them with all their objects twice.
func subset(names []string, count int, seed uint64) map[string]bool {
	type place struct {
		key  [sha256.Size]byte
		name string
	}
	places := make([]place, len(names))
	for i, name := range names {
		places[i] = place{sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), name...)), name}
	}
	slices.SortFunc(places, func(a, b place) int { return strings.Compare(string(a.key[:]), string(b.key[:])) })
	chosen := make(map[string]bool, count)
	for _, p := range places[:min(count, len(places))] {
		chosen[p.name] = true
	}
	return chosen
}
