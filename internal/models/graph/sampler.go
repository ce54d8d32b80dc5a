package graph

import (
	"math/bits"
	"slices"

	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
)

// fanOuts are the most edges of each relation into a node that are drawn, hop by hop from the sample (graph/R-GAT, backend_dgl.py, which
// lists them layer by layer).
func fanOuts() []int { return []int{15, 10, 5} }

// A sampler draws the neighbours of nodes, as PyGSampler of graph/R-GAT does: of each relation into a node some of the edges,
// without putting back; then the same for the nodes that they come from, each once, when it is met first. Layer l of so many
// layers computes the nodes that are met within layers-l-1 hops, from all edges of layers-l hops.
//
// The generator is not DGL's. What is drawn for a node follows from the seed, the sample, the node and the relation: the answer to a
// sample depends neither on its batch nor on the order of samples. Samples share no nodes, therefore.
type sampler struct {
	graph     igbh.Graph
	relations []igbh.Relation
	seed      uint64
	fanOuts   []int

	// Nodes are the nodes of each kind: row 0 is none, then come the samples, and those that are met hop by hop.
	nodes [igbh.Kinds][]uint32
	// samples are the samples that the rows belong to.
	samples [igbh.Kinds][]uint32
	rows    [igbh.Kinds]map[uint64]int64 // of sample and node
	// ends are the rows after each hop, from 0 on.
	ends [][igbh.Kinds]int
	// drawn are the edges of each relation.
	drawn  []drawn
	chosen []int
}

// drawn are edges of a relation.
type drawn struct {
	// sources are the rows that edges come from, each once, in the order in which they are met; the first is row 0.
	sources []int64
	places  []int64 // in sources, of each row; 0: not there
	// ends are the lengths of sources after each hop.
	ends []int
	// edges are places in sources: those into row i of the target's kind end at edges[until[i]].
	edges []int64
	until []int
}

func newSampler(graph igbh.Graph, seed uint64, fanOuts []int) *sampler {
	s := &sampler{graph: graph, relations: igbh.Relations(), seed: seed, fanOuts: fanOuts, drawn: make([]drawn, len(graph))}
	for kind := range s.rows {
		s.rows[kind] = map[uint64]int64{}
	}
	return s
}

// draw draws the neighbours of papers.
func (s *sampler) draw(papers []int64) {
	for kind := range s.nodes {
		s.nodes[kind], s.samples[kind] = append(s.nodes[kind][:0], 0), append(s.samples[kind][:0], 0)
		clear(s.rows[kind])
	}
	for i := range s.drawn {
		d := &s.drawn[i]
		clear(d.places)
		d.sources, d.ends, d.edges, d.until = append(d.sources[:0], 0), append(d.ends[:0], 1), d.edges[:0], append(d.until[:0], 0)
	}
	for i, paper := range papers {
		s.row(igbh.Paper, uint32(i), uint32(paper))
	}
	s.ends = append(s.ends[:0], s.count())
	first := [igbh.Kinds]int{1, 1, 1, 1, 1, 1}
	for _, fanOut := range s.fanOuts {
		last := s.ends[len(s.ends)-1]
		for i, r := range s.relations {
			d := &s.drawn[i]
			for row := first[r.To]; row < last[r.To]; row++ {
				s.expand(i, r, row, fanOut)
			}
			d.ends = append(d.ends, len(d.sources))
		}
		s.ends, first = append(s.ends, s.count()), last
	}
}

// count is how many rows of each kind there are.
func (s *sampler) count() (n [igbh.Kinds]int) {
	for kind := range n {
		n[kind] = len(s.nodes[kind])
	}
	return n
}

// row returns the row of a sample's node, a new one if it is met first.
func (s *sampler) row(kind igbh.Kind, sample, node uint32) int64 {
	key := uint64(sample)<<32 | uint64(node)
	row, known := s.rows[kind][key]
	if !known {
		row = int64(len(s.nodes[kind]))
		s.rows[kind][key] = row
		s.nodes[kind], s.samples[kind] = append(s.nodes[kind], node), append(s.samples[kind], sample)
	}
	return row
}

// expand draws edges of a relation into a row.
func (s *sampler) expand(relation int, r igbh.Relation, row, fanOut int) {
	sample, node := s.samples[r.To][row], s.nodes[r.To][row]
	d, into := &s.drawn[relation], s.graph[relation].Into(node)
	paper := s.nodes[igbh.Paper][1+sample]
	s.chosen = choose(s.chosen[:0], len(into), fanOut, s.seed, uint64(paper)<<32|uint64(node), uint64(relation))
	for _, i := range s.chosen {
		from := s.row(r.From, sample, into[i])
		for int64(len(d.places)) <= from {
			d.places = append(d.places, 0)
		}
		if d.places[from] == 0 {
			d.places[from] = int64(len(d.sources))
			d.sources = append(d.sources, from)
		}
		d.edges = append(d.edges, d.places[from])
	}
	d.until = append(d.until, len(d.edges))
}

// choose appends n different numbers below count, or all if there are no more. They follow from the keys (Floyd's algorithm, Bentley, "A sample of
// brilliance", CACM 1987; the numbers are those of SplitMix64).
func choose(dst []int, count, n int, keys ...uint64) []int {
	if count <= n {
		for i := range count {
			dst = append(dst, i)
		}
		return dst
	}
	state := uint64(0)
	for _, key := range keys {
		state = mix(state + key + step)
	}
	for last := count - n; last < count; last++ {
		state += step
		high, _ := bits.Mul64(mix(state), uint64(last+1))
		if i := int(high); slices.Contains(dst, i) {
			dst = append(dst, last)
		} else {
			dst = append(dst, i)
		}
	}
	return dst
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
const step = 0x9e3779b97f4a7c15

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// targets is how many rows of a kind a layer computes.
func (s *sampler) targets(layer int, kind igbh.Kind) int { return s.ends[len(s.fanOuts)-1-layer][kind] }

// sources returns the rows that the edges of a relation come from in a layer.
func (s *sampler) sources(layer, relation int) []int64 {
	d := &s.drawn[relation]
	return d.sources[:d.ends[len(s.fanOuts)-layer]]
}

// table appends the edges of a relation in a layer to dst: for each row of the target's kind the same number of places in sources, 0 where
// there is no edge. It returns that number, at least 1.
func (s *sampler) table(dst []int64, layer, relation int) (table []int64, width int) {
	d, rows := &s.drawn[relation], s.targets(layer, s.relations[relation].To)
	width = 1
	for row := 1; row < rows; row++ {
		width = max(width, d.until[row]-d.until[row-1])
	}
	for row := range rows {
		at := len(dst)
		dst = append(dst, make([]int64, width)...)
		if row > 0 {
			copy(dst[at:], d.edges[d.until[row-1]:d.until[row]])
		}
	}
	return dst, width
}
