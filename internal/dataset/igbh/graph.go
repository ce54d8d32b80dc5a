package igbh

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// A Relation goes from nodes of one kind to nodes of another. Messages pass along it.
type Relation struct {
	From Kind
	Name string
	To   Kind
}

// String names the relation as IGBH's folders do: paper__cites__paper.
func (r Relation) String() string { return fmt.Sprintf("%v__%s__%v", r.From, r.Name, r.To) }

// Relations returns all relations in DGL's order.
func Relations() []Relation {
	return []Relation{
		{Author, "affiliated_to", Institute}, {Author, "rev_written_by", Paper}, {Conference, "rev_venue", Paper}, {Field, "rev_topic", Paper},
		{Institute, "rev_affiliated_to", Author}, {Journal, "rev_published", Paper}, {Paper, "cites", Paper}, {Paper, "published", Journal},
		{Paper, "topic", Field}, {Paper, "venue", Conference}, {Paper, "written_by", Author},
	}
}

// reverse is what the reverse of a relation is called.
const reverse = "rev_"

// Stored returns the relations that have files.
func Stored() (list []Relation) {
	for _, r := range Relations() {
		if !strings.HasPrefix(r.Name, reverse) {
			list = append(list, r)
		}
	}
	return list
}

// A Graph has the sources of the edges into each node, relation by relation, in the order of Relations.
type Graph []Edges

// Edges are those of a relation.
type Edges struct {
	starts  []int64 // of each node's edges, and the end of the last
	sources []uint32
}

// Into returns the sources of the edges into a node.
func (e Edges) Into(node uint32) []uint32 { return e.sources[e.starts[node]:e.starts[node+1]] }

// Graph builds the graph. Papers cite both ways, duplicates stay, and each paper has exactly one edge from itself.
func (d *Data) Graph() (Graph, error) {
	for kind := range Kinds {
		if n := d.Nodes(Kind(kind)); n > math.MaxUint32 {
			return nil, fmt.Errorf("building the graph: %s has %d nodes, expected at most %d", d.features[kind].path, n, uint32(math.MaxUint32))
		}
	}
	relations := Relations()
	g := make(Graph, len(relations))
	at := func(name string) *Edges {
		for i, r := range relations {
			if r.Name == name {
				return &g[i]
			}
		}
		return nil
	}
	for _, r := range Stored() {
		forth, back := at(r.Name), at(reverse+r.Name)
		if back == nil {
			back = forth // of citations
		}
		if err := d.connect(r, forth, back); err != nil {
			return nil, fmt.Errorf("building the graph: %w", err)
		}
	}
	return g, nil
}

// connect makes the edges of a file and their reverses: the first reading counts them, the second one puts them in their places.
func (d *Data) connect(r Relation, forth, back *Edges) error {
	self := forth == back
	forth.starts = make([]int64, d.Nodes(r.To)+1)
	if !self {
		back.starts = make([]int64, d.Nodes(r.From)+1)
	}
	err := d.eachEdge(r, func(from, to uint32) {
		forth.starts[to+1]++
		back.starts[from+1]++
	})
	if err != nil {
		return err
	}
	if self {
		for i := range forth.starts[1:] {
			forth.starts[i+1]++
		}
	}
	place := forth.room()
	other := place
	if !self {
		other = back.room()
	} else {
		for node := range place {
			forth.put(place, uint32(node), uint32(node))
		}
	}
	return d.eachEdge(r, func(from, to uint32) {
		forth.put(place, to, from)
		back.put(other, from, to)
	})
}

// room turns counts into places, makes memory for the edges, and returns where the next edge into each node goes.
func (e *Edges) room() []int64 {
	for i := range e.starts[1:] {
		e.starts[i+1] += e.starts[i]
	}
	e.sources = make([]uint32, e.starts[len(e.starts)-1])
	next := make([]int64, len(e.starts)-1)
	copy(next, e.starts)
	return next
}

func (e *Edges) put(next []int64, node, source uint32) {
	if next[node] < e.starts[node+1] { // unless the file grew meanwhile
		e.sources[next[node]] = source
		next[node]++
	}
}

// edgesAtOnce is how many edges are read at a time.
const edgesAtOnce = 1 << 15

// eachEdge reads the edges of a relation. It leaves out those from a node to itself.
func (d *Data) eachEdge(r Relation, do func(from, to uint32)) error {
	path := filepath.Join(d.home, r.String(), EdgeFile)
	f, err := fileio.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eachEdge(bufio.NewReaderSize(f, 1<<20), r, d.Nodes(r.From), d.Nodes(r.To), do); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func eachEdge(file io.Reader, r Relation, sources, targets int64, do func(from, to uint32)) error {
	a, err := npy.NewReader(file)
	if err != nil {
		return err
	}
	if len(a.Shape) != 2 || a.Shape[1] != 2 || a.Type != tensor.Int64 && a.Type != tensor.Int32 {
		return fmt.Errorf("the array is %v%v: must be int64[N 2]: source and target of each edge", a.Type, a.Shape)
	}
	narrow, wide := make([]int32, 0, 2*edgesAtOnce), make([]int64, 2*edgesAtOnce)
	for first := int64(0); first < a.Shape[0]; first += edgesAtOnce {
		n := min(edgesAtOnce, a.Shape[0]-first)
		edges := wide[:2*n]
		if a.Type == tensor.Int32 {
			narrow = narrow[:2*n]
			err = a.Read(tensor.Of(narrow, n, 2))
			for i, v := range narrow {
				edges[i] = int64(v)
			}
		} else {
			err = a.Read(tensor.Of(edges, n, 2))
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the array is cut off: %w", err)
		}
		if err != nil {
			return err
		}
		for i := 0; i < len(edges); i += 2 {
			from, to := edges[i], edges[i+1]
			if from < 0 || from >= sources || to < 0 || to >= targets {
				return fmt.Errorf("edge %d goes from %v %d to %v %d: there are %d and %d of them", first+int64(i/2), r.From, from, r.To, to, sources, targets)
			}
			if r.From != r.To || from != to {
				do(uint32(from), uint32(to))
			}
		}
	}
	return nil
}
