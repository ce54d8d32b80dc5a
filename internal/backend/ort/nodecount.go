package ort

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A profileEvent is an element of a profile that ONNX Runtime wrote.
type profileEvent struct {
	Category string `json:"cat"`
	Name     string `json:"name"`
	Args     struct {
		Index    string `json:"node_index"`
		Operator string `json:"op_name"`
		Provider string `json:"provider"`
	} `json:"args"`
}

// isRun reports whether a device ran a node.
func (e profileEvent) isRun() bool {
	return e.Category == "Node" && e.Args.Provider != "" && strings.HasSuffix(e.Name, "_kernel_time")
}

// countNodes counts, by device, the nodes in a profile that ONNX Runtime wrote: a JSON array of
// events. A node is counted once however often it ran, as those of loops do. A device that
// compiles part of the model runs it as one node.
func countNodes(profile io.Reader) (map[string]int, error) {
	decoder := json.NewDecoder(profile)
	if begin, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	} else if begin != json.Delim('[') {
		return nil, fmt.Errorf("reading the profile: it begins with %v, want a list", begin)
	}
	counts := map[string]int{}
	seen := map[profileEvent]bool{}
	for decoder.More() {
		var e profileEvent
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("reading the profile: %w", err)
		}
		if e.isRun() && !seen[e] {
			seen[e] = true
			counts[deviceOf(e.Args.Provider)]++
		}
	}
	if _, err := decoder.Token(); err != nil { // the nodes of a profile that was cut off are not all
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	return counts, nil
}

// deviceUse puts counts in the order of the requests, the processor last. counts is nil if
// nothing was counted.
func deviceUse(requests []request, counts map[string]int) []backend.DeviceUse {
	var use []backend.DeviceUse
	listed := func(name string) bool {
		return slices.ContainsFunc(use, func(u backend.DeviceUse) bool { return u.Device == name })
	}
	for _, r := range requests {
		switch n, counted := counts[r.name]; {
		case counts == nil:
			use = append(use, backend.DeviceUse{Device: r.name, Nodes: -1})
		case counted:
			use = append(use, backend.DeviceUse{Device: r.name, Nodes: n})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) { // those that ONNX Runtime chose by itself
		if !listed(name) {
			use = append(use, backend.DeviceUse{Device: name, Nodes: counts[name]})
		}
	}
	return use
}

// unused returns an error for the first device that was asked for and runs nothing.
func unused(requests []request, counts map[string]int) *DeviceError {
	for _, r := range requests {
		if counts[r.name] == 0 && !r.implied && r.call != callNone {
			users := strings.Join(slices.Sorted(maps.Keys(counts)), ", ")
			return &DeviceError{Device: r.name, Reason: "it is there, but runs no node of this model (all run on " + users +
				"): it supports none of the operators, or not in this precision"}
		}
	}
	return nil
}
