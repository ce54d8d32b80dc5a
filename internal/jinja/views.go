package jinja

import (
	"fmt"
	"slices"
)

// A view is what the methods keys, values and items of a dict are worth: it has elements, but no places.
type view struct {
	kind string // as Python calls it
	of   *dict
}

func (v view) elements() []any {
	switch v.kind {
	case "dict_keys":
		return v.of.keys
	case "dict_items":
		return v.of.items()
	}
	all := make([]any, len(v.of.keys))
	for i, k := range v.of.keys {
		all[i], _ = v.of.get(k)
	}
	return all
}

// equal holds for views of the same keys, or items.
func (v view) equal(other view) bool {
	switch {
	case v.kind != other.kind || len(v.of.keys) != len(other.of.keys):
		return false
	case v.kind == "dict_items":
		return equalDicts(v.of, other.of)
	case v.kind == "dict_values":
		return false // it is another one
	}
	return !slices.ContainsFunc(v.of.keys, func(k any) bool { _, ok := other.of.get(k); return !ok })
}

// A span is what range is worth: the numbers from one to before another.
type span struct{ from, to, step int64 }

// maxRange is how many numbers a range may have (jinja2/sandbox.py, MAX_RANGE).
const maxRange = 100_000

// len is how many numbers there are, of which no more than maxRange are counted.
func (r span) len() int64 {
	far, step := uint64(r.to)-uint64(r.from), uint64(r.step)
	switch {
	case r.step > 0 && r.from < r.to:
	case r.step < 0 && r.from > r.to:
		far, step = -far, -step
	default:
		return 0
	}
	return int64(min((far-1)/step+1, maxRange+1))
}

func (r span) elements() []any {
	all := make([]any, r.len())
	for i := range all {
		all[i] = r.at(int64(i))
	}
	return all
}

func (r span) at(i int64) int64 { return r.from + i*r.step }

// contains is whether a value is one of the numbers.
func (r span) contains(value any) bool {
	n, f, float, ok := number(value)
	if float && ok {
		n = int64(f)
		ok = float64(n) == f
	}
	if !ok || r.len() == 0 {
		return false
	}
	last := r.at(r.len() - 1)
	return n >= min(r.from, last) && n <= max(r.from, last) && (n-r.from)%r.step == 0
}

// equal holds for the same numbers.
func (r span) equal(other span) bool {
	n := r.len()
	return n == other.len() && (n == 0 || r.from == other.from && (n == 1 || r.step == other.step))
}

// slice is a part of the numbers.
func (r span) slice(part [3]*int64) (any, error) {
	p, err := pickPlaces(r.len(), part)
	if part[2] != nil && max(*part[2], -*part[2]) <= maxRange {
		p.step = *part[2] // though there be less elements than that
	}
	return span{r.at(p.from), r.at(p.to), r.step * p.step}, err
}

// attribute is what is known of a range.
func (r span) attribute(name string) (any, bool) {
	n, ok := map[string]int64{"start": r.from, "stop": r.to, "step": r.step}[name]
	return n, ok
}

func (r span) repr() string {
	if r.step == 1 {
		return fmt.Sprintf("range(%d, %d)", r.from, r.to)
	}
	return fmt.Sprintf("range(%d, %d, %d)", r.from, r.to, r.step)
}

// countRange is range.
func countRange(_ *scope, a given) (any, error) {
	from, to, step, err := a.bounds()
	if err != nil {
		return nil, err
	}
	r := span{from, to, step}
	if r.len() > maxRange {
		return nil, fmt.Errorf("a range has %d numbers at most", maxRange)
	}
	return r, nil
}
