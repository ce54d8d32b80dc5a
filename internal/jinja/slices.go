package jinja

import (
	"errors"
	"fmt"
)

// places are those of a slice: from one to before another, in steps.
type places struct{ from, to, step int64 }

// pickPlaces are the places of a slice of so many elements.
func pickPlaces(n int64, part [3]*int64) (places, error) {
	p := places{step: 1}
	if part[2] != nil {
		p.step = *part[2]
	}
	if p.step == 0 {
		return p, errors.New("a slice has steps of 0")
	}
	low, high := int64(0), n
	if p.step < 0 {
		low, high = -1, n-1
	}
	place := func(given *int64, otherwise int64) int64 {
		if given == nil {
			return otherwise
		}
		at := *given
		if at < 0 {
			at += n
		}
		return max(low, min(high, at))
	}
	p.from, p.to = place(part[0], low), place(part[1], high)
	if p.step < 0 {
		p.from, p.to = place(part[0], high), place(part[1], low)
	}
	p.step = max(-n-1, min(n+1, p.step)) // as far as there are elements
	return p, nil
}

// pick returns the elements of a slice.
func pick[T any](all []T, part [3]*int64) ([]T, error) {
	p, err := pickPlaces(int64(len(all)), part)
	if err != nil {
		return nil, err
	}
	var picked []T
	for at := p.from; p.step > 0 && at < p.to || p.step < 0 && at > p.to; at += p.step {
		picked = append(picked, all[at])
	}
	return picked, nil
}

// slice is a part of a text or a list.
type slice struct {
	of    expression
	parts [3]expression // from, to and step; nil if it is not said
}

func (p slice) value(s *scope) (any, error) {
	v, err := p.of.value(s)
	if err != nil {
		return nil, err
	}
	if err := checkDefined(v); err != nil {
		return nil, err
	}
	if err := s.lookAtText(v); err != nil {
		return nil, err
	}
	var given [3]*int64
	for i, e := range p.parts {
		if e == nil {
			continue
		}
		part, err := e.value(s)
		if err != nil {
			return nil, err
		}
		n, _, float, ok := number(part)
		if part == nil {
			continue
		}
		if !ok || float {
			return nil, fmt.Errorf("want whole numbers in a slice, not %s", kindOf(part))
		}
		given[i] = &n
	}
	result, err := sliced(v, given)
	if err != nil {
		return nil, err
	}
	return result, s.made(result)
}

// sliced is a part of a value, of the value's type.
func sliced(value any, part [3]*int64) (any, error) {
	switch v := value.(type) {
	case string:
		picked, err := pick([]rune(v), part)
		return string(picked), err
	case list:
		picked, err := pick(v, part)
		return list(picked), err
	case tuple:
		picked, err := pick(v, part)
		return tuple(picked), err
	case span:
		return v.slice(part)
	}
	return nil, fmt.Errorf("a value of type %s has no slices", kindOf(value))
}
