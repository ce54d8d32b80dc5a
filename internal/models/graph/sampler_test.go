package graph

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const golden = "../../dataset/igbh/testdata" // make.py there made it with the official code

func goldenGraph(t testing.TB) (*igbh.Data, igbh.Graph) {
	t.Helper()
	d, err := igbh.Open(golden+"/igbh", "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return d, g
}

// all is more than any node has neighbours.
func all() []int { return []int{1e6, 1e6, 1e6} }

type block struct{ Src, Dst map[string]int }

type drawing struct {
	Seeds  []int64
	Blocks []block
}

// Without a limit each hop meets the nodes of DGL's blocks.
func TestAllNeighboursAreThoseOfDGL(t *testing.T) {
	_, g := goldenGraph(t)
	want := testenv.JSON[struct {
		All drawing `json:"all_neighbours"`
		Val drawing `json:"all_neighbours_val"`
	}](t, golden+"/expected.json")
	for _, want := range []drawing{want.All, want.Val} {
		s := newSampler(g, 0, all())
		s.draw(want.Seeds)
		for layer := range want.Blocks {
			got := block{map[string]int{}, map[string]int{}}
			for kind := range igbh.Kind(igbh.Kinds) {
				// Samples share no nodes here, and DGL's do.
				different := func(rows int) int {
					nodes := slices.Sorted(slices.Values(s.nodes[kind][1:rows]))
					return len(slices.Compact(nodes))
				}
				got.Src[kind.String()], got.Dst[kind.String()] = different(s.ends[len(s.fanOuts)-layer][kind]), different(s.targets(layer, kind))
			}
			if d := cmp.Diff(want.Blocks[layer], got); d != "" {
				t.Errorf("%d samples, block %d (-want +got):\n%s", len(want.Seeds), layer, d)
			}
		}
	}
}

// edges returns the nodes that a layer's edges into a row come from, of a relation.
func (s *sampler) edgesInto(layer, relation, row int) (nodes []uint32) {
	table, width := s.table(nil, layer, relation)
	sources := s.sources(layer, relation)
	for _, place := range table[row*width:][:width] {
		if place != 0 {
			nodes = append(nodes, s.nodes[s.relations[relation].From][sources[place]])
		}
	}
	return nodes
}

func TestDrawnEdgesAreSomeOfTheGraph(t *testing.T) {
	d, g := goldenGraph(t)
	limits := []int{4, 3, 2}
	s := newSampler(g, 1, limits)
	s.draw(d.Papers)
	few, seen := 0, 0
	for layer := range limits {
		for i, r := range igbh.Relations() {
			for row := range s.targets(layer, r.To) {
				got := s.edgesInto(layer, i, row)
				if row == 0 {
					if len(got) != 0 {
						t.Errorf("layer %d: %v: edges into row 0", layer, r)
					}
					continue
				}
				hop := slices.IndexFunc(s.ends, func(n [igbh.Kinds]int) bool { return row < n[r.To] })
				left := slices.Clone(g[i].Into(s.nodes[r.To][row]))
				if want := min(len(left), limits[hop]); len(got) != want {
					t.Fatalf("layer %d: %v: %d edges into row %d of %d, want %d", layer, r, len(got), row, len(left), want)
				}
				if len(got) < len(left) {
					few++
				}
				for _, node := range got { // each edge once, and edges may be double
					at := slices.Index(left, node)
					if at < 0 {
						t.Fatalf("layer %d: %v: an edge from %d into row %d", layer, r, node, row)
					}
					left, seen = slices.Delete(left, at, at+1), seen+1
				}
				if layer > 0 && !slices.Equal(got, s.edgesInto(layer-1, i, row)) {
					t.Errorf("layers %d and %d have other edges into row %d of %v", layer, layer-1, row, r.To)
				}
			}
		}
	}
	if few == 0 || seen == 0 {
		t.Errorf("%d edges, %d rows have fewer than the graph", seen, few)
	}
}

// What is drawn for a sample follows from the sample and the seed, not from its batch.
func TestDrawingDoesNotDependOnTheBatch(t *testing.T) {
	d, g := goldenGraph(t)
	met := func(s *sampler, sample int) (nodes [igbh.Kinds][]uint32) {
		for kind := range nodes {
			for row, of := range s.samples[kind] {
				if row > 0 && of == uint32(sample) {
					nodes[kind] = append(nodes[kind], s.nodes[kind][row])
				}
			}
			slices.Sort(nodes[kind])
		}
		return nodes
	}
	limits := []int{3, 2, 1}
	batch, alone, other := newSampler(g, 1, limits), newSampler(g, 1, limits), newSampler(g, 2, limits)
	batch.draw(d.Papers)
	differ := 0
	for i, paper := range d.Papers {
		alone.draw([]int64{paper})
		other.draw([]int64{paper})
		want := met(batch, i)
		if diff := cmp.Diff(want, met(alone, 0)); diff != "" {
			t.Fatalf("sample %d (-in a batch +alone):\n%s", i, diff)
		}
		if cmp.Diff(want, met(other, 0)) != "" {
			differ++
		}
	}
	if differ < len(d.Papers)/2 {
		t.Errorf("another seed draws other neighbours for %d of %d samples", differ, len(d.Papers))
	}
}

func TestChooseIsEven(t *testing.T) {
	const count, n, draws = 20, 5, 40_000
	var times [count]int
	for i := range uint64(draws) {
		chosen := choose(nil, count, n, 3, i)
		for _, k := range chosen {
			times[k]++
		}
		if slices.Sort(chosen); len(slices.Compact(chosen)) != n {
			t.Fatalf("%v", chosen)
		}
	}
	for k, got := range times { // 10000 each, with a deviation of 87
		if got < 9500 || got > 10500 {
			t.Errorf("%d is chosen %d times of %d, want about %d", k, got, draws, draws*n/count)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	d, g := goldenGraph(b)
	s := newSampler(g, 0, fanOuts())
	b.ReportAllocs()
	for i := range b.N {
		s.draw(d.Papers[i%len(d.Papers):][:1])
	}
}
