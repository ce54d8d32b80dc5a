package ort

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A profileEvent is an element of a profile that ONNX Runtime writes.
type profileEvent struct {
	Category string `json:"cat"`
	Name     string `json:"name"`
	Args     struct {
		Index    string `json:"node_index"`
		Operator string `json:"op_name"`
		Provider string `json:"provider"`
	} `json:"args"`
}

// nodeCounts has, by device and operator, how many nodes a device runs.
type nodeCounts map[string]map[string]int

// of returns how many nodes a device runs.
func (c nodeCounts) of(device string) (n int) {
	for _, nodes := range c[device] {
		n += nodes
	}
	return n
}

// operators lists the operators that a device runs: "NonMaxSuppression, 2 × TopK".
func (c nodeCounts) operators(device string) string {
	var list []string
	for _, operator := range slices.Sorted(maps.Keys(c[device])) {
		if n := c[device][operator]; n > 1 {
			operator = fmt.Sprintf("%d × %s", n, operator)
		}
		list = append(list, operator)
	}
	return strings.Join(list, ", ")
}

// readProfile counts the nodes of the profile in a folder.
func readProfile(folder string) (nodeCounts, error) {
	files := fileio.Glob(folder, "*.json")
	if len(files) == 0 {
		return nil, errors.New("ONNX Runtime wrote no profile")
	}
	file, err := os.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return countNodes(file)
}

// countNodes counts, by device, the nodes in a profile of ONNX Runtime: a JSON array of events. It counts a node once however
// often it ran, as those of loops do. A device that compiles part of the model runs it as one node.
func countNodes(profile io.Reader) (nodeCounts, error) {
	decoder := json.NewDecoder(profile)
	if begin, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	} else if begin != json.Delim('[') {
		return nil, fmt.Errorf("reading the profile: it begins with %v, expected a list", begin)
	}
	counts := nodeCounts{}
	seen := map[profileEvent]bool{}
	for decoder.More() {
		var e profileEvent
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("reading the profile: %w", err)
		}
		if e.Category != "Node" || e.Args.Provider == "" || !strings.HasSuffix(e.Name, "_kernel_time") || seen[e] {
			continue // not a run of a node, or not its first
		}
		seen[e] = true
		name := e.Args.Provider
		if i := slices.IndexFunc(devices[:], func(d device) bool { return d.provider == name }); i >= 0 {
			name = devices[i].name
		}
		if counts[name] == nil {
			counts[name] = map[string]int{}
		}
		counts[name][e.Args.Operator]++
	}
	if _, err := decoder.Token(); err != nil { // the nodes of a profile that was cut off are not all
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	return counts, nil
}

// deviceUse puts counts in the order of the requests, and behind them the devices that ONNX Runtime chose by itself. counts is
// nil if nothing was counted.
func deviceUse(requests []request, counts nodeCounts) []backend.DeviceUse {
	var use []backend.DeviceUse
	for _, r := range requests {
		if counts == nil {
			use = append(use, backend.DeviceUse{Device: r.name, Nodes: -1})
		} else if n := counts.of(r.name); n > 0 {
			use = append(use, backend.DeviceUse{Device: r.name, Nodes: n})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if !slices.ContainsFunc(use, func(u backend.DeviceUse) bool { return u.Device == name }) {
			use = append(use, backend.DeviceUse{Device: name, Nodes: counts.of(name)})
		}
	}
	if len(use) == 0 && requests[0].call == callNone { // all of the model was computed when it was loaded
		use = append(use, backend.DeviceUse{Device: requests[0].name})
	}
	return use
}

// checkUsed returns an error for the first device that the user asked for and that runs nothing.
func checkUsed(requests []request, counts nodeCounts) error {
	for _, r := range requests {
		if counts.of(r.name) == 0 && !r.implied && r.call != callNone {
			users := strings.Join(slices.Sorted(maps.Keys(counts)), ", ")
			return &deviceError{r.name, "it is there, but runs no node of this model (all run on " + users +
				"): it supports none of the operators, or not in this precision"}
		}
	}
	return nil
}

// smallInput is an input that any model should take: the smallest extents for free axes, and zeros. Masks are ones, and so are
// counts that stand alone, the length of the longest sequence for example: attention (GroupQueryAttention) cannot work on no
// tokens. The lengths beside such a count are zeros: it takes them without the newest token.
func smallInput(port backend.Port, batch int) tensor.Tensor {
	shape := make(tensor.Shape, len(port.Shape))
	for i, d := range port.Shape {
		switch {
		case d >= 0:
			shape[i] = d
		case i == 0:
			shape[i] = int64(max(batch, 1))
		default:
			shape[i] = 1
		}
	}
	t := tensor.New(port.Type, shape...)
	isCount := len(port.Shape) < 2 && port.Shape.Len() == 1
	isMask := strings.HasSuffix(strings.ToLower(port.Name), "mask")
	isWhole := slices.Contains([]tensor.DType{tensor.Bool, tensor.Int8, tensor.Uint8, tensor.Int32, tensor.Int64}, t.Type)
	if isWhole && (isCount || isMask) {
		for b := t.Bytes(); len(b) > 0; b = b[t.Type.Size():] {
			b[0] = 1
		}
	}
	return t
}
