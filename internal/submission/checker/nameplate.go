package checker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// readNameplate reads the power of the system's power supplies, where there is such a
// file. The official checker reads it before anything else.
func (d *description) readNameplate(l *loader, path string) {
	if !l.tree.Exists(path) {
		return
	}
	v, err := readYAML(l.tree, path)
	if err != nil {
		d.fail("system-nameplate", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err), wanted: "YAML"})
		return
	}
	d.nameplate, d.hasNameplate = v, true
}

// designWatts returns what the summary of a result with power says of the nameplate.
func (j *judgement) designWatts() (string, error) {
	d := j.description
	if v, ok := d.dict.Get("system_power_capacity"); ok {
		return str(v), nil
	}
	if !d.hasNameplate {
		return "None", nil
	}
	if d.nameplate == nil {
		return "", errors.New("is empty")
	}
	watts, err := capacity(d.nameplate)
	return str(watts), err
}

// capacity sums the power of the supplies that each part of a system needs: of a part
// that lists its PSUs and how many it needs, the largest so many.
func capacity(v python.Value) (python.Value, error) {
	parts, _ := v.([]python.Value)
	if d, isDict := v.(*python.Dict); isDict {
		lower, err := lowered(d)
		if err != nil {
			return nil, err
		}
		psus, hasPSUs := lower.Get("psus")
		if least, ok := lower.Get("min psus needed"); ok && hasPSUs {
			return largest(psus, least)
		}
		for _, name := range d.Keys() {
			parts = append(parts, first(d.Get(name)))
		}
	}
	watts := make([]python.Value, len(parts))
	for i, part := range parts {
		var err error
		if watts[i], err = capacity(part); err != nil {
			return nil, err
		}
	}
	return sum(watts)
}

// lowered returns a part of a system with names in small letters.
func lowered(d *python.Dict) (*python.Dict, error) {
	lower := &python.Dict{}
	for _, name := range d.Keys() {
		if number, odd := strings.CutPrefix(name, notText); odd {
			return nil, fmt.Errorf("the name %s is not a text", number)
		}
		lower.Set(strings.ToLower(name), first(d.Get(name)))
	}
	return lower, nil
}

// largest is the power of so many of the largest supplies.
func largest(psus, least python.Value) (python.Value, error) {
	watts, err := supplies(psus)
	if err != nil {
		return nil, err
	}
	n, err := sliceEnd(least, len(watts))
	if err != nil {
		return nil, fmt.Errorf("the field Min PSUs Needed %w", err)
	}
	slices.SortFunc(watts, func(a, b python.Value) int { return order(b, a) })
	return sum(watts[:n])
}

// order is below 0 where a is less than b, and above where it is greater.
func order(a, b python.Value) int {
	switch {
	case python.Less(a, b):
		return -1
	case python.Less(b, a):
		return 1
	}
	return 0
}

// sliceEnd is where Python's list[:end] ends: null is the whole list, true is 1, and a
// number below 0 counts from the end.
func sliceEnd(end python.Value, size int) (int, error) {
	if end == nil {
		return size, nil
	}
	n, isInt := end.(int64)
	if b, isBool := end.(bool); isBool {
		n, isInt = map[bool]int64{true: 1}[b], true
	}
	if !isInt {
		return 0, fmt.Errorf("is %s: want a whole number", python.Repr(end))
	}
	if n < 0 {
		n = max(0, int64(size)+n)
	}
	return int(min(n, int64(size))), nil
}

// supplies returns the power of each supply of a list.
func supplies(psus python.Value) ([]python.Value, error) {
	list, isList := psus.([]python.Value)
	if !isList {
		return nil, fmt.Errorf("PSUs is %s: want a list", shorten(python.Repr(psus)))
	}
	watts := make([]python.Value, len(list))
	for i, one := range list {
		psu, isDict := one.(*python.Dict)
		if !isDict {
			return nil, fmt.Errorf("a PSU is %s: want an object", shorten(python.Repr(one)))
		}
		has := false
		if watts[i], has = psu.Get("PowerCapacityWatts"); !has {
			watts[i] = int64(0)
		}
		if !python.IsNumber(watts[i]) {
			return nil, fmt.Errorf("PowerCapacityWatts is %s: want a number", python.Repr(watts[i]))
		}
	}
	return watts, nil
}

func sum(numbers []python.Value) (total python.Value, err error) {
	total = int64(0)
	for _, n := range numbers {
		if total, err = python.Add(total, n); err != nil {
			return nil, err
		}
	}
	return total, nil
}
