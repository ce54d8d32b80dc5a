package retrieval

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// The settings of the reference's index, faiss.IndexHNSWFlat (e2e-rag, retrieve/vectordb.py). The manifest of a database must have them.
const (
	indexLinks        = 32 // of a vector in each layer but the lowest, which has twice as many: M
	indexConstruction = 200
	indexSearch       = 100
)

// mostLayers is more than any index has: a layer has about 1/32 of the vectors of the layer below.
const mostLayers = 16

// An Index finds the nearest of many vectors of length 1: a hierarchy of navigable small worlds (Malkov and Yashunin, arXiv:1603.09320), with
// the numbers and the heuristic of FAISS, whose results are the same but for the draw of layers and ties. Nearest is of the greatest inner
// product, which orders vectors of length 1 as the distance L2 of FAISS does.
//
// Add may not be called at the same time as another method; several goroutines may call Search.
type Index struct {
	width   int
	vectors []float32 // width of each
	links   [][][]int32
	entry   int32 // a vector of the highest layer
	draw    *rand.Rand
	seen    []uint32 // by the number of the search that came to a vector last, for Add
	search  uint32
}

// NewIndex returns an empty index of vectors with so many numbers.
func NewIndex(width int) *Index {
	return &Index{width: width, draw: rand.New(rand.NewPCG(1234, 0))}
}

// Len is the number of vectors.
func (x *Index) Len() int { return len(x.links) }

// vector is one of those that were added.
func (x *Index) vector(i int32) []float32 { return x.vectors[int(i)*x.width:][:x.width] }

func dot(a, b []float32) float32 {
	return blas32.Dot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(b), Inc: 1, Data: b})
}

// A neighbour is a vector, and its inner product with the searched one.
type neighbour struct {
	id    int32
	close float32
}

// nearer orders neighbours, the nearest first, and of equally near ones that which was added first.
func nearer(a, b neighbour) int {
	return cmp.Or(cmp.Compare(b.close, a.close), cmp.Compare(a.id, b.id))
}

// Add adds a vector, which is copied. Its number is that of the vectors before it.
func (x *Index) Add(v []float32) {
	id := int32(x.Len())
	top := min(int(-math.Log(1-x.draw.Float64())/math.Log(indexLinks)), mostLayers-1)
	x.vectors = append(x.vectors, v...)
	x.links = append(x.links, make([][]int32, top+1))
	x.seen = append(x.seen, 0)
	if id == 0 {
		return // the entry
	}
	highest := len(x.links[x.entry]) - 1
	at := neighbour{x.entry, dot(v, x.vector(x.entry))}
	for layer := highest; layer > top; layer-- {
		at = x.descend(v, at, layer)
	}
	for layer := min(top, highest); layer >= 0; layer-- {
		x.search++
		found := x.around(v, at, layer, indexConstruction, func(i int32) bool {
			old := x.seen[i]
			x.seen[i] = x.search
			return old != x.search
		})
		at = found[0]
		chosen := x.choose(found, capacity(layer))
		for _, n := range chosen {
			x.links[id][layer] = append(x.links[id][layer], n.id)
			x.linkBack(n.id, id, layer)
		}
	}
	if top > highest {
		x.entry = id
	}
}

// capacity is how many links a vector has in a layer at most.
func capacity(layer int) int {
	if layer == 0 {
		return 2 * indexLinks
	}
	return indexLinks
}

// linkBack links a vector to a new one. If it has no room, the best of its links stay.
func (x *Index) linkBack(from, to int32, layer int) {
	links := append(x.links[from][layer], to)
	if len(links) > capacity(layer) {
		v := x.vector(from)
		all := make([]neighbour, len(links))
		for i, id := range links {
			all[i] = neighbour{id, dot(v, x.vector(id))}
		}
		slices.SortFunc(all, nearer)
		links = links[:0]
		for _, n := range x.choose(all, capacity(layer)) {
			links = append(links, n.id)
		}
	}
	x.links[from][layer] = links
}

// choose takes those that are nearer to the vector than to any that was taken, so that links go in all directions (algorithm 4). The order is
// the nearest first. If there are no more than may stay, all stay.
func (x *Index) choose(sorted []neighbour, most int) []neighbour {
	if len(sorted) <= most {
		return sorted
	}
	taken := make([]neighbour, 0, most)
	for _, n := range sorted {
		v := x.vector(n.id)
		if !slices.ContainsFunc(taken, func(t neighbour) bool { return dot(v, x.vector(t.id)) > n.close }) {
			if taken = append(taken, n); len(taken) == most {
				break
			}
		}
	}
	return taken
}

// descend goes to ever nearer vectors of a layer until none is nearer (algorithm 5, greedy).
func (x *Index) descend(v []float32, at neighbour, layer int) neighbour {
	for {
		best := at
		for _, id := range x.links[at.id][layer] {
			if n := (neighbour{id, dot(v, x.vector(id))}); nearer(n, best) < 0 {
				best = n
			}
		}
		if best.id == at.id { // also where the product is not a number, of vectors of another file
			return at
		}
		at = best
	}
}

// around finds about the nearest vectors of a layer, the nearest first, by a search of so many candidates (algorithm 2). fresh reports whether
// a vector has not been seen before.
func (x *Index) around(v []float32, from neighbour, layer, candidates int, fresh func(int32) bool) []neighbour {
	fresh(from.id)
	open := &queue{list: []neighbour{from}}
	found := &queue{list: []neighbour{from}, worstFirst: true}
	for len(open.list) > 0 {
		at := heap.Pop(open).(neighbour)
		if len(found.list) == candidates && nearer(at, found.list[0]) > 0 {
			break
		}
		for _, id := range x.links[at.id][layer] {
			if !fresh(id) {
				continue
			}
			n := neighbour{id, dot(v, x.vector(id))}
			if len(found.list) < candidates {
				heap.Push(found, n)
			} else if nearer(n, found.list[0]) < 0 {
				found.list[0] = n
				heap.Fix(found, 0)
			} else {
				continue
			}
			heap.Push(open, n)
		}
	}
	slices.SortFunc(found.list, nearer)
	return found.list
}

// A queue is a heap of neighbours.
type queue struct {
	list       []neighbour
	worstFirst bool
}

func (q *queue) Len() int { return len(q.list) }
func (q *queue) Less(i, k int) bool {
	return (nearer(q.list[i], q.list[k]) < 0) != q.worstFirst
}
func (q *queue) Swap(i, k int) { q.list[i], q.list[k] = q.list[k], q.list[i] }
func (q *queue) Push(n any)    { q.list = append(q.list, n.(neighbour)) }
func (q *queue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// Search returns the numbers of the k vectors that are nearest to one, the nearest first.
func (x *Index) Search(v []float32, k int) []int32 {
	if x.Len() == 0 || k < 1 {
		return nil
	}
	at := neighbour{x.entry, dot(v, x.vector(x.entry))}
	for layer := len(x.links[x.entry]) - 1; layer > 0; layer-- {
		at = x.descend(v, at, layer)
	}
	seen := map[int32]bool{}
	found := x.around(v, at, 0, max(indexSearch, k), func(i int32) bool {
		old := seen[i]
		seen[i] = true
		return !old
	})
	ids := make([]int32, min(k, len(found)))
	for i := range ids {
		ids[i] = found[i].id
	}
	return ids
}
