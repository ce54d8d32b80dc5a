package pickle

import (
	"errors"
	"fmt"
)

// A Frame is a table of pandas: a DataFrame whose columns have names.
type Frame struct {
	Names   []string // of the columns, in order
	Rows    int
	columns [][]any
}

// Column returns the values of a column, and whether there is one. Arrays of numbers give
// int64, float64 or bool; objects are what Read returns of them.
func (f *Frame) Column(name string) ([]any, bool) {
	for i, n := range f.Names {
		if n == name {
			return f.columns[i], true
		}
	}
	return nil, false
}

// pandasNames are what a pickle of a table asks for besides arrays: what pandas 1.3 to 2 write
// of columns of numbers and objects.
var pandasNames = map[string]maker{
	"pandas.core.frame.DataFrame":                 func(Tuple) (any, error) { return &frame{}, nil },
	"pandas.core.internals.managers.BlockManager": newManager,
	"pandas._libs.internals._unpickle_block":      newBlock,
	"pandas.core.internals.blocks.new_block":      newBlock,
	"pandas.core.indexes.base._new_Index":         newIndex,
	"pandas.core.indexes.base.Index":              onlyNamed,
	"pandas.core.indexes.numeric.Int64Index":      onlyNamed,
	"pandas.core.indexes.range.RangeIndex":        onlyNamed,
	"builtins.slice":                              newSlice,
	"__builtin__.slice":                           newSlice,
}

// errFrame is the error for anything in a table that pandas does not write.
var errFrame = errors.New("a table is not as pandas writes it")

// A frame is a table under construction.
type frame struct{ manager *manager }

// A manager has the columns of a table in blocks of one type, and their names and rows.
type manager struct {
	blocks []any
	axes   []any
}

// A block is some columns of one type: an array with a row for each, and where they belong.
type block struct {
	values *Array
	places any // *slice, or an array of numbers
}

// An index is the names of columns or rows, of which for a range only the number counts.
type index struct {
	names *Array
	rows  int
}

func newManager(args Tuple) (any, error) {
	if len(args) < 2 {
		return nil, errFrame
	}
	blocks, ok := args[0].(Tuple)
	axes, ok2 := args[1].(*list)
	if !ok || !ok2 || len(axes.items) != 2 {
		return nil, errFrame
	}
	return &manager{blocks, axes.items}, nil
}

func newBlock(args Tuple) (any, error) {
	if len(args) < 2 {
		return nil, errFrame
	}
	values, ok := args[0].(*Array)
	if !ok {
		return nil, fmt.Errorf("columns are %T, want an array of numbers or objects", args[0])
	}
	return &block{values, args[1]}, nil
}

func newIndex(args Tuple) (any, error) {
	if len(args) != 2 {
		return nil, errFrame
	}
	d, ok := args[1].(*dict)
	if !ok {
		return nil, errFrame
	}
	if names, ok := d.items["data"].(*Array); ok && names.built {
		return &index{names: names}, nil
	}
	s, err := newSlice(Tuple{d.items["start"], d.items["stop"], d.items["step"]})
	if err != nil {
		return nil, errors.New("an index is neither an array nor a range")
	}
	return &index{rows: s.(*slice).len()}, nil
}

// setState takes the attributes of a table, of which its manager is one.
func (f *frame) setState(state any) error {
	d, ok := state.(*dict)
	if !ok || f.manager != nil {
		return errFrame
	}
	m, ok := d.items["_mgr"].(*manager)
	if !ok {
		return errors.New("a table has no manager of blocks: it was written by a pandas before 1.3, or with columns of other types")
	}
	f.manager = m
	return nil
}

// finish turns a table into what Read returns.
func (f *frame) finish(depth int, left *int) (*Frame, error) {
	out, err := f.empty()
	if err != nil {
		return nil, err
	}
	for _, b := range f.manager.blocks {
		if err := out.addBlock(b, depth, left); err != nil {
			return nil, err
		}
	}
	for i, column := range out.columns {
		if column == nil {
			return nil, fmt.Errorf("column %q has no values", out.Names[i])
		}
	}
	return out, nil
}

// empty returns the table with its columns' names, which have no values yet.
func (f *frame) empty() (*Frame, error) {
	if f.manager == nil {
		return nil, errFrame
	}
	names, ok := f.manager.axes[0].(*index)
	rows, ok2 := f.manager.axes[1].(*index)
	if !ok || !ok2 || names.names == nil {
		return nil, errFrame
	}
	out := &Frame{Rows: rows.len()}
	for _, name := range names.names.Objects {
		text, ok := name.(string)
		if !ok {
			return nil, fmt.Errorf("the name of a column is %T, want a string", name)
		}
		out.Names = append(out.Names, text)
	}
	out.columns = make([][]any, len(out.Names))
	return out, nil
}

// len is how many columns or rows an index has.
func (i *index) len() int {
	if i.names != nil {
		return i.names.Len()
	}
	return i.rows
}

// addBlock takes the columns of a block.
func (f *Frame) addBlock(v any, depth int, left *int) error {
	b, ok := v.(*block)
	if !ok || !b.has(f.Rows) {
		return fmt.Errorf("a block of columns is not one of %d rows", f.Rows)
	}
	places, err := b.columns(len(f.columns))
	if err != nil {
		return err
	}
	if len(places) != b.values.Shape[0] {
		return fmt.Errorf("a block has %d columns and %d places for them", b.values.Shape[0], len(places))
	}
	for _, p := range places {
		if f.columns[p] != nil {
			return fmt.Errorf("column %q has values twice", f.Names[p])
		}
		f.columns[p] = make([]any, f.Rows)
	}
	return b.values.eachValue(func(i int, v any) error {
		v, err := finish(v, depth+1, left)
		f.columns[places[i/f.Rows]][i%f.Rows] = v
		return err
	})
}

// has reports whether a block is one of columns of so many rows.
func (b *block) has(rows int) bool {
	return b.values.built && len(b.values.Shape) == 2 && b.values.Shape[1] == rows
}

// columns are the places of a block's columns among n.
func (b *block) columns(n int) ([]int, error) {
	var places []int
	add := func(p int64) error {
		if p < 0 || p >= int64(n) {
			return fmt.Errorf("a column has place %d of %d", p, n)
		}
		places = append(places, int(p))
		return nil
	}
	switch p := b.places.(type) {
	case *slice:
		err := p.each(add)
		return places, err
	case *Array:
		err := p.eachValue(func(_ int, v any) error {
			place, ok := v.(int64)
			if !ok {
				return errFrame
			}
			return add(place)
		})
		return places, err
	}
	return nil, errFrame
}
