package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// ParseNames reads the names of ports that are not the usual ones: usual=own, separated by commas. A %d stands for
// the number of a layer. Known are the usual names.
func ParseNames(text string, known []string) (map[string]string, error) {
	names := map[string]string{}
	if text == "" {
		return names, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		usual, own, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || own == "" {
			return nil, fmt.Errorf("%q is not a usual name, =, and the model's own", part)
		}
		if !slices.Contains(known, usual) {
			return nil, fmt.Errorf("%q is not one of %s", usual, strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		if strings.Contains(usual, "%d") != strings.Contains(own, "%d") {
			return nil, fmt.Errorf("%s=%s: %%d stands for the number of a layer, on both sides or none", usual, own)
		}
		names[usual] = own
	}
	return names, nil
}

// mostLayers is up to which layer names are known that have its number.
const mostLayers = 256

// everyLayer are names of ports with those of each layer, where %d stands for its number.
func everyLayer(names map[string]string) map[string]string {
	all := map[string]string{}
	for usual, own := range names {
		if !strings.Contains(usual, "%d") {
			all[usual] = own
			continue
		}
		for layer := range mostLayers {
			all[numbered(usual, layer)] = numbered(own, layer)
		}
	}
	return all
}

// swapped are the usual names by the model's own.
func swapped(names map[string]string) map[string]string {
	usual := make(map[string]string, len(names))
	for of, own := range names {
		usual[own] = of
	}
	return usual
}

// renamed returns ports with other names, where they have any.
func renamed(ports map[string]workload.Ports, names map[string]string) map[string]workload.Ports {
	list := func(ports []backend.Port) []backend.Port {
		ports = slices.Clone(ports)
		for i := range ports {
			ports[i].Name = nameOf(names, ports[i].Name)
		}
		return ports
	}
	all := map[string]workload.Ports{}
	for role, p := range ports {
		all[role] = workload.Ports{Inputs: list(p.Inputs), Outputs: list(p.Outputs)}
	}
	return all
}

// nameOf is another name, or the same if there is none.
func nameOf(names map[string]string, name string) string {
	if other, ok := names[name]; ok {
		return other
	}
	return name
}
