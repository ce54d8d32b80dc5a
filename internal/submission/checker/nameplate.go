package checker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// readYAML reads a YAML file. An empty one is nil.
func readYAML(t tree.Tree, path string) (any, error) {
	data, err := t.Read(path)
	if err != nil {
		return nil, err
	}
	var v any
	return v, yaml.Unmarshal(data, &v)
}

// readNameplate reads the power of the system's power supplies, where there is such a
// file. The official checker reads it before anything else.
func (d *description) readNameplate(l *loader, path string) {
	if !l.tree.Exists(path) {
		return
	}
	v, err := readYAML(l.tree, path)
	if err != nil {
		d.fail("system-nameplate", problem{path: path, message: "cannot be read: " + err.Error()})
	}
	d.nameplate = v
}

// designWatts returns what the summary of a result with power says of the nameplate.
func (j *judgement) designWatts() (string, error) {
	d := j.description
	path := strings.TrimSuffix(d.path, ".json") + "_power.yaml"
	if v, ok := d.dict.Get("system_power_capacity"); ok {
		return str(v), nil
	}
	if !j.tree.Exists(path) {
		return "None", nil
	}
	if d.nameplate == nil {
		return "", errors.New("is empty")
	}
	watts, err := capacity(d.nameplate)
	return strconv.FormatFloat(watts, 'f', -1, 64), err
}

// capacity sums the power of the supplies that each part of a system needs: of a part
// that lists its PSUs and how many it needs, the largest so many.
func capacity(v any) (float64, error) {
	sum := 0.0
	switch v := v.(type) {
	case map[string]any:
		lower := map[string]any{}
		for k, member := range v {
			lower[strings.ToLower(k)] = member
		}
		psus, hasPSUs := lower["psus"]
		if least, ok := lower["min psus needed"]; ok && hasPSUs {
			return largest(psus, least)
		}
		for _, member := range v {
			watts, err := capacity(member)
			if err != nil {
				return 0, err
			}
			sum += watts
		}
	case []any:
		for _, member := range v {
			watts, err := capacity(member)
			if err != nil {
				return 0, err
			}
			sum += watts
		}
	}
	return sum, nil
}

func largest(psus, least any) (float64, error) {
	list, isList := psus.([]any)
	n, isInt := least.(int)
	if !isList || !isInt {
		return 0, fmt.Errorf("PSUs is %v and Min PSUs Needed is %v: want a list and a whole number", psus, least)
	}
	watts := []float64{}
	for _, p := range list {
		psu, isMap := p.(map[string]any)
		if !isMap {
			return 0, fmt.Errorf("a PSU is %v: want an object", p)
		}
		switch w := psu["PowerCapacityWatts"].(type) {
		case nil:
			watts = append(watts, 0)
		case int:
			watts = append(watts, float64(w))
		case float64:
			watts = append(watts, w)
		default:
			return 0, fmt.Errorf("PowerCapacityWatts is %v: want a number", w)
		}
	}
	slices.SortFunc(watts, func(a, b float64) int { return cmp.Compare(b, a) })
	if n < 0 {
		n = max(0, len(watts)+n)
	}
	sum := 0.0
	for _, w := range watts[:min(n, len(watts))] {
		sum += w
	}
	return sum, nil
}
