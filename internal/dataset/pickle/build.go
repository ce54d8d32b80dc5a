package pickle

import (
	"errors"
	"fmt"
)

// A list is a Python list under construction: other values may refer to it.
type list struct{ items []any }

// A dict is a Python dictionary under construction.
type dict struct{ items map[string]any }

// newDict makes a dictionary of keys and values.
func (m *machine) newDict(values []any) error {
	m.push(&dict{map[string]any{}})
	return m.assign(values)
}

// extend appends values to the list on the stack.
func (m *machine) extend(values []any) error {
	if len(m.stack) > 0 {
		if l, ok := m.stack[len(m.stack)-1].(*list); ok {
			l.items = append(l.items, values...)
			return nil
		}
	}
	return errors.New("there is no list to append to")
}

// assign puts keys and values into the dictionary on the stack.
func (m *machine) assign(values []any) error {
	if len(m.stack) == 0 || len(values)%2 != 0 {
		return errStack
	}
	d, ok := m.stack[len(m.stack)-1].(*dict)
	if !ok {
		return errors.New("there is no dictionary to put values into")
	}
	for i := 0; i < len(values); i += 2 {
		key, ok := values[i].(string)
		if !ok {
			return fmt.Errorf("a key is %T, want a string", values[i])
		}
		d.items[key] = values[i+1]
	}
	return nil
}

// Values may be inside each other, several times and even inside themselves. So there are
// limits to how deep they are and how many: some more than the file has bytes, as each of
// them takes at least one where it is not inside several others.
const (
	maxDepth   = 50
	moreValues = 1 << 20
)

// value turns what was built into what is returned.
func (m *machine) value(v any) (any, error) {
	left := len(m.data) + moreValues
	return finish(v, 0, &left)
}

func finish(v any, depth int, left *int) (any, error) {
	if *left--; depth > maxDepth || *left < 0 {
		return nil, fmt.Errorf("there are more values than the file has bytes, or they are more than %d deep in each other", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string, []byte:
		return v, nil
	case *list:
		return finishAll(v.items, depth, left)
	case Tuple:
		items, err := finishAll(v, depth, left)
		return Tuple(items), err
	case *dict:
		return v.finish(depth, left)
	case *Array:
		return v.finish(depth, left)
	case *frame:
		return v.finish(depth, left)
	}
	return nil, fmt.Errorf("a value is %T", v) // what is only met on the way to a value
}

func (d *dict) finish(depth int, left *int) (map[string]any, error) {
	items := make(map[string]any, len(d.items))
	for key, item := range d.items {
		v, err := finish(item, depth+1, left)
		if err != nil {
			return nil, err
		}
		items[key] = v
	}
	return items, nil
}

func finishAll(items []any, depth int, left *int) ([]any, error) {
	finished := make([]any, 0, min(len(items), *left+1))
	for _, item := range items {
		v, err := finish(item, depth+1, left)
		if err != nil {
			return nil, err
		}
		finished = append(finished, v)
	}
	return finished, nil
}
