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
		d.fail("system-nameplate", problem{path: path, line: lineOf(err), message: "cannot be read: " + err.Error(), wanted: "YAML"})
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
	parts, isList := v.([]python.Value)
	if d, isDict := v.(*python.Dict); isDict {
		lower := &python.Dict{}
		for _, name := range d.Keys() {
			if number, odd := strings.CutPrefix(name, notText); odd {
				return nil, fmt.Errorf("the name %s is not a text", number)
			}
			member := first(d.Get(name))
			lower.Set(strings.ToLower(name), member)
			parts = append(parts, member)
		}
		psus, hasPSUs := lower.Get("psus")
		if least, ok := lower.Get("min psus needed"); ok && hasPSUs {
			return largest(psus, least)
		}
	} else if !isList {
		return int64(0), nil
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

// largest is the power of so many of the largest supplies. Python's slice takes all for
// null, 1 for true, and leaves the smallest out for a number below 0.
func largest(psus, least python.Value) (python.Value, error) {
	watts, err := supplies(psus)
	if err != nil {
		return nil, err
	}
	n := int64(len(watts))
	switch least := least.(type) {
	case nil:
	case int64:
		n = least
	case bool:
		n = 0
		if least {
			n = 1
		}
	default:
		return nil, fmt.Errorf("the field Min PSUs Needed is %s: want a whole number", python.Repr(least))
	}
	slices.SortFunc(watts, func(a, b python.Value) int {
		switch {
		case python.Less(b, a):
			return -1
		case python.Less(a, b):
			return 1
		}
		return 0
	})
	if n < 0 {
		n = max(0, int64(len(watts))+n)
	}
	return sum(watts[:min(n, int64(len(watts)))])
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
