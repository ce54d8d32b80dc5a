package jinja

import "errors"

// A turn is where a loop is.
type turn struct {
	all     []any
	at      int
	depth   int // of the loop in itself
	changed *changes
	again   function // what a call of the loop does; nil: it cannot be called
}

// object is the variable loop.
func (t turn) object() *object {
	return &object{kind: "LoopContext", attribute: t.attribute, call: t.call}
}

func (t turn) attribute(name string) (any, bool) {
	n := len(t.all)
	switch name {
	case "first":
		return t.at == 0, true
	case "last":
		return t.at == n-1, true
	case "previtem":
		return t.neighbour(t.at - 1)
	case "nextitem":
		return t.neighbour(t.at + 1)
	case "cycle":
		return function(t.cycle), true
	case "changed":
		return function(t.changed.since), true
	}
	number, ok := map[string]int{
		"index": t.at + 1, "index0": t.at, "revindex": n - t.at, "revindex0": n - t.at - 1, "length": n, "depth": t.depth + 1, "depth0": t.depth,
	}[name]
	return int64(number), ok
}

func (t turn) neighbour(at int) (any, bool) {
	if at < 0 || at >= len(t.all) {
		return nil, false
	}
	return t.all[at], true
}

// cycle is one of the values, which take turns.
func (t turn) cycle(_ *scope, a given) (any, error) {
	if len(a.values) == 0 || len(a.named) > 0 {
		return nil, errNothingGiven
	}
	return a.values[t.at%len(a.values)], nil
}

func (t turn) call(s *scope, a given) (any, error) {
	if t.again == nil {
		return nil, errors.New("the loop is not recursive, so that it cannot be called")
	}
	return t.again(s, a)
}

// changes are what loop.changed was asked for the last time.
type changes struct {
	asked bool
	last  tuple
}

// since reports whether the values are others than those of the last time.
func (c *changes) since(s *scope, a given) (any, error) {
	if len(a.named) > 0 {
		return nil, errors.New("changed wants no names")
	}
	if err := s.look(c.last); err != nil {
		return nil, err
	}
	if c.asked && equal(c.last, tuple(a.values)) {
		return false, nil
	}
	c.asked, c.last = true, a.values
	return true, nil
}
