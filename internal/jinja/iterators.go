package jinja

import (
	"fmt"
	"slices"
)

// An iterator gives elements one after the other, each once, as what the filter map makes. Nothing of it is made before it is asked for.
type iterator struct {
	machine *machine
	filter  string // that made it, for errors
	start   func() (puller, error)
	next    puller // nil: it has not begun
	depth   int    // iterators that it goes through
}

// A puller returns the next element, if there is one.
type puller func() (any, bool, error)

// iterator makes one that goes through a value.
func (m *machine) iterator(of any, start func() (puller, error)) (any, error) {
	it := &iterator{machine: m, start: start}
	if inner, ok := of.(*iterator); ok {
		it.depth = inner.depth + 1
	}
	if it.depth > deepest {
		return nil, errDeep
	}
	return it, nil
}

// pull returns the next element, at which is looked: it was in no value before.
func (it *iterator) pull() (any, bool, error) {
	v, ok, err := it.unlooked()
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", it.filter, err)
	}
	if !ok {
		return nil, false, nil
	}
	if err := it.machine.spend(1); err != nil {
		return nil, false, err
	}
	return v, true, it.machine.look(v)
}

func (it *iterator) unlooked() (any, bool, error) {
	if it.next == nil {
		next, err := it.start()
		if err != nil {
			return nil, false, err
		}
		it.next = next
	}
	return it.next()
}

// rest are all elements that are left.
func (it *iterator) rest() ([]any, error) {
	all := []any{}
	for {
		v, ok, err := it.pull()
		if err != nil || !ok {
			return all, err
		}
		if all = append(all, v); len(all) > maxElements {
			return nil, errTooMany
		}
	}
}

// puller goes through a value.
func (m *machine) puller(value any) (puller, error) {
	if it, ok := value.(*iterator); ok {
		return it.pull, nil
	}
	all, err := m.elements(value)
	return pullerOf(all), err
}

func pullerOf(all []any) puller {
	return func() (any, bool, error) {
		if len(all) == 0 {
			return nil, false, nil
		}
		v := all[0]
		all = all[1:]
		return v, true, nil
	}
}

// An each is what becomes of an element, and whether it stays.
type each func(element any) (any, bool, error)

// through is an iterator over what becomes of the elements of a value.
func (m *machine) through(value any, prepare func() (each, error)) (any, error) {
	return m.iterator(value, func() (puller, error) {
		become, err := prepare()
		if err != nil {
			return nil, err
		}
		next, err := m.puller(value)
		return func() (any, bool, error) {
			for {
				v, ok, err := next()
				if err != nil || !ok {
					return nil, false, err
				}
				if v, ok, err = become(v); err != nil || ok {
					return v, ok, err
				}
				if err := m.spend(1); err != nil {
					return nil, false, err
				}
			}
		}, err
	})
}

// backwards is the filter reverse: an iterator, but for texts, and for iterators, which have no end to begin with.
func backwards(s *scope, value any, a given) (any, error) {
	if _, err := a.bind(); err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok {
		characters := []rune(text)
		slices.Reverse(characters)
		return string(characters), nil
	}
	all, err := s.elements(value)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	slices.Reverse(all)
	if _, ok := value.(*iterator); ok {
		return list(all), nil
	}
	return s.iterator(value, func() (puller, error) { return pullerOf(all), nil })
}

// batched is the filter batch: lists of so many elements each.
func batched(s *scope, value any, a given) (any, error) {
	v, err := a.bind("linecount", "fill_with")
	if err != nil {
		return nil, err
	}
	size, err := needWhole(v[0])
	if err != nil {
		return nil, err
	}
	return s.iterator(value, func() (puller, error) {
		all, err := s.elements(value)
		none := size == 0 // Jinja2 finds a first list full before it has an element
		return func() (any, bool, error) {
			if len(all) == 0 {
				return nil, false, nil
			}
			if none {
				none = false
				return list{}, true, nil
			}
			n := len(all)
			if size > 0 {
				n = int(min(size, int64(n)))
			}
			part := list(slices.Clone(all[:n]))
			all = all[n:]
			if missing := size - int64(n); missing > 0 && orElse(v[1], nil) != nil {
				if missing > maxElements {
					return nil, false, errTooMany
				}
				part = append(part, slices.Repeat([]any{v[1]}, int(missing))...)
			}
			return part, true, nil
		}, err
	})
}

// cutInto is the filter slice: so many lists of the elements, which are as long as each other, or the first ones longer by one.
func cutInto(s *scope, value any, a given) (any, error) {
	v, err := a.bind("slices", "fill_with")
	if err != nil {
		return nil, err
	}
	parts, err := needWhole(v[0])
	if err != nil {
		return nil, err
	}
	return s.iterator(value, func() (puller, error) {
		all, err := s.elements(value)
		if parts == 0 && err == nil {
			err = errZero
		}
		if err != nil {
			return nil, err
		}
		n, at := int64(len(all)), int64(0)
		return func() (any, bool, error) {
			if at >= parts {
				return nil, false, nil
			}
			size := n / parts
			if at < n%parts {
				size++
			}
			part := list(slices.Clone(all[:size]))
			all = all[size:]
			if orElse(v[1], nil) != nil && at >= n%parts {
				part = append(part, v[1])
			}
			at++
			return part, true, s.spend(len(part))
		}, nil
	})
}
