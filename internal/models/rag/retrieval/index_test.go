package retrieval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cloud makes vectors of length 1 around a few centres, as embeddings of pages are.
func cloud(n, width int) [][]float32 {
	r := rand.New(rand.NewPCG(7, 7))
	centres := make([][]float32, 1+n/40)
	for i := range centres {
		centres[i] = make([]float32, width)
		for k := range centres[i] {
			centres[i][k] = float32(r.NormFloat64())
		}
	}
	list := make([][]float32, n)
	for i := range list {
		v, sum := make([]float32, width), 0.0
		for k := range v {
			v[k] = centres[i%len(centres)][k] + float32(r.NormFloat64())
			sum += float64(v[k]) * float64(v[k])
		}
		for k := range v {
			v[k] /= float32(math.Sqrt(sum))
		}
		list[i] = v
	}
	return list
}

// nearest looks at all vectors.
func nearest(list [][]float32, v []float32, k int) []int32 {
	all := make([]neighbour, len(list))
	for i := range list {
		all[i] = neighbour{int32(i), dot(v, list[i])}
	}
	slices.SortFunc(all, nearer)
	var ids []int32
	for _, n := range all[:k] {
		ids = append(ids, n.id)
	}
	return ids
}

// The index finds what a search through all vectors finds.
func TestIndexFindsNearest(t *testing.T) {
	for _, n := range []int{1, 50, 3000} {
		list, x, k := cloud(n+100, 48), NewIndex(48), min(n, 10)
		for _, v := range list[:n] {
			x.Add(v)
		}
		found := 0
		for _, v := range list[n:] {
			got := x.Search(v, k)
			for _, id := range nearest(list[:n], v, k) {
				if slices.Contains(got, id) {
					found++
				}
			}
		}
		if recall := float64(found) / float64(100*k); recall < 0.99 {
			t.Errorf("%d vectors: recall %.3f of the %d nearest, want 0.99 or more", n, recall, k)
		}
	}
}

// Many equal vectors, as of pages without text, keep the others within reach.
func TestIndexWithEqualVectors(t *testing.T) {
	list, x := cloud(300, 16), NewIndex(16)
	for i, v := range list {
		for range 1 + i%2*10 {
			x.Add(v)
		}
	}
	for i, v := range list {
		if got := x.Search(v, 1); dot(x.vector(got[0]), v) < 0.999 {
			t.Errorf("vector %d is not found", i)
		}
	}
}

func BenchmarkIndexAdd(b *testing.B) {
	for _, n := range []int{2_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list, x := cloud(n, 768), NewIndex(768)
			for _, v := range list {
				x.Add(v)
			}
			for i := 0; b.Loop(); i++ {
				x.Add(list[i%n])
			}
		})
	}
}
