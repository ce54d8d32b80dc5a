package pickle

import (
	"errors"
	"fmt"

	"github.com/nlpodyssey/gopickle/types"
)

// A Frame is a pandas table: a DataFrame whose columns have names.
type Frame struct {
	Names   []string // of the columns, in order
	Columns [][]any  // int64, float64, bool, and what Read returns of objects
	Rows    int
}

var errPandas = errors.New("a table is not written as pandas writes it")

// A frame is a table under construction: columns of one type are a block, which has an array with a
// row for each column, and their places (a *slice or an *ndarray) among all.
type (
	frame   struct{ manager *manager }
	manager struct {
		blocks []any
		axes   []any
	}
	block struct {
		values *ndarray
		places any
	}
)

// An index has the names of columns or rows, or only their number.
type index struct {
	names *ndarray
	rows  int
}

func newManager(args []any) (any, error) {
	blocks, ok := arg[*types.Tuple](args, 0)
	axes, ok2 := arg[*types.List](args, 1)
	if !ok || !ok2 || len(*axes) != 2 {
		return nil, errPandas
	}
	return &manager{*blocks, *axes}, nil
}

func newBlock(args []any) (any, error) {
	values, ok := arg[*ndarray](args, 0)
	if !ok || len(args) < 2 {
		return nil, errors.New("a column is neither numbers nor objects")
	}
	return &block{values, args[1]}, nil
}

func newIndex(args []any) (any, error) {
	d, ok := arg[*types.Dict](args, 1)
	if !ok {
		return nil, errPandas
	}
	var bounds [3]any
	for _, entry := range *d {
		switch entry.Key {
		case "data":
			if names, ok := entry.Value.(*ndarray); ok && names.built {
				return &index{names: names}, nil
			}
		case "start":
			bounds[0] = entry.Value
		case "stop":
			bounds[1] = entry.Value
		case "step":
			bounds[2] = entry.Value
		}
	}
	s, err := newSlice(bounds[:])
	if err != nil {
		return nil, errors.New("an index is neither an array nor a range")
	}
	return &index{rows: s.(*slice).len()}, nil
}

// PySetState takes the attributes of a table, among them its manager.
func (f *frame) PySetState(state any) error {
	d, ok := state.(*types.Dict)
	if !ok {
		return errPandas
	}
	m, _ := d.Get("_mgr")
	if f.manager, ok = m.(*manager); !ok {
		return errors.New("a table has no manager of blocks: it is from pandas before 1.3, or has columns of other types")
	}
	return nil
}

// plain turns a table into what Read returns.
func (f *frame) plain(depth int, left *int) (*Frame, error) {
	if f.manager == nil {
		return nil, errPandas
	}
	names, ok := f.manager.axes[0].(*index)
	rows, ok2 := f.manager.axes[1].(*index)
	if !ok || !ok2 || names.names == nil {
		return nil, errPandas
	}
	out := &Frame{Rows: rows.rows}
	if rows.names != nil {
		out.Rows = rows.names.Len()
	}
	for _, name := range names.names.Objects {
		text, ok := name.(string)
		if !ok {
			return nil, fmt.Errorf("the name of a column is %T: must be a string", name)
		}
		out.Names = append(out.Names, text)
	}
	if *left -= len(out.Names); len(out.Names) == 0 || *left < 0 {
		return nil, errors.New("a table has no columns, or more than the file has bytes")
	}
	out.Columns = make([][]any, len(out.Names))
	for _, v := range f.manager.blocks {
		b, ok := v.(*block)
		if !ok || !b.values.built || len(b.values.Shape) != 2 || b.values.Shape[1] != out.Rows {
			return nil, fmt.Errorf("a block of columns does not have %d rows", out.Rows)
		}
		places, err := b.columns()
		if err != nil {
			return nil, err
		}
		if len(places) != b.values.Shape[0] {
			return nil, fmt.Errorf("a block has %d columns and %d places for them", b.values.Shape[0], len(places))
		}
		for _, p := range places {
			if p < 0 || p >= len(out.Columns) || out.Columns[p] != nil {
				return nil, fmt.Errorf("a block has place %d of %d, which is not free", p, len(out.Columns))
			}
			out.Columns[p] = make([]any, out.Rows)
		}
		err = b.values.each(func(i int, v any) error {
			v, err := plain(v, depth+1, left)
			out.Columns[places[i/out.Rows]][i%out.Rows] = v
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for i, column := range out.Columns {
		if column == nil {
			return nil, fmt.Errorf("column %q has no values", out.Names[i])
		}
	}
	return out, nil
}

// columns returns the places of a block's columns.
func (b *block) columns() ([]int, error) {
	switch p := b.places.(type) {
	case *slice:
		if p.len() != b.values.Shape[0] {
			return nil, errPandas
		}
		places := make([]int, p.len())
		for i := range places {
			places[i] = p.start + i*p.step
		}
		return places, nil
	case *ndarray:
		numbers, err := p.Integers()
		places := make([]int, len(numbers))
		for i, n := range numbers {
			places[i] = int(n)
		}
		return places, err
	}
	return nil, errPandas
}

// A slice is every step-th number from start to stop.
type slice struct{ start, stop, step int }

// newSlice takes start, stop and step; a step of None is 1.
func newSlice(args []any) (any, error) {
	if len(args) == 3 && args[2] == nil {
		args = []any{args[0], args[1], 1}
	}
	var n [3]int
	for i := range n {
		v, ok := arg[int](args, i)
		if !ok || v != int(int32(v)) {
			return nil, errPandas
		}
		n[i] = v
	}
	if n[2] == 0 {
		return nil, errPandas
	}
	return &slice{n[0], n[1], n[2]}, nil
}

// len counts the numbers.
func (s *slice) len() int {
	if s.step < 0 {
		return max(0, (s.start-s.stop-s.step-1)/-s.step)
	}
	return max(0, (s.stop-s.start+s.step-1)/s.step)
}
