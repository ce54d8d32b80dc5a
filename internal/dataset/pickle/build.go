package pickle

import (
	"errors"
	"fmt"
)

// A list is a Python list under construction: other values may refer to it.
type list struct{ items []any }

// A dict is a Python dictionary under construction.
type dict struct{ items map[string]any }

// stepBuild: lists, tuples, dictionaries and objects.
func (m *machine) stepBuild(op byte) error {
	switch op {
	case ']':
		m.push(&list{})
	case '}':
		m.push(&dict{map[string]any{}})
	case ')':
		m.push(Tuple{})
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		values, err := m.popN(int(op-0x85) + 1)
		m.push(Tuple(values))
		return err
	case 't', 'l', 'e', 'u', 'd':
		return m.collect(op)
	case 'a':
		values, err := m.popN(1)
		if err != nil {
			return err
		}
		return m.extend(values)
	case 's':
		values, err := m.popN(2)
		if err != nil {
			return err
		}
		return m.assign(values)
	case '0':
		_, err := m.pop()
		return err
	case 'c', 0x93, 'R', 0x81, 'b', 'Q':
		return m.object(op)
	default:
		return errors.New("not known here")
	}
	return nil
}

// collect makes use of all values above the last mark.
func (m *machine) collect(op byte) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	switch op {
	case 't':
		m.push(Tuple(values))
	case 'l':
		m.push(&list{values})
	case 'e':
		return m.extend(values)
	case 'd':
		m.push(&dict{map[string]any{}})
		return m.assign(values)
	default:
		return m.assign(values)
	}
	return nil
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
	case *list:
		return finishAll(v.items, depth, left)
	case Tuple:
		items, err := finishAll(v, depth, left)
		return Tuple(items), err
	case *dict:
		items := make(map[string]any, len(v.items))
		for key, item := range v.items {
			var err error
			if items[key], err = finish(item, depth+1, left); err != nil {
				return nil, err
			}
		}
		return items, nil
	case *Array:
		if !v.built {
			return nil, errors.New("an array has no content")
		}
		return v.finish(depth, left)
	case *frame:
		return v.finish(depth, left)
	case mark, function, maker, *dtype, *manager, *block, *index, *slice, storageType, *torchStorage:
		return nil, fmt.Errorf("a value is %T", v)
	}
	return v, nil
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
