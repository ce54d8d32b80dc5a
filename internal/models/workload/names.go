package workload

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// Names are those of the inputs and outputs of a file that only this program writes. Outputs
// are in the order in which they are read.
type Names struct{ Inputs, Outputs []string }

// In wants the file of a role to have these ports.
func (n Names) In(role string, p Ports) error {
	for _, list := range []struct {
		what  string
		ports []backend.Port
		names []string
	}{{"input", p.Inputs, n.Inputs}, {"output", p.Outputs, n.Outputs}} {
		for _, name := range list.names {
			if _, ok := PortNamed(list.ports, name); !ok {
				return fmt.Errorf("the model's %s has no %s %q, it has %s: mlperf writes such files", role, list.what, name, DescribePorts(list.ports))
			}
		}
	}
	return nil
}

// PortNamed returns the port of a name, and whether there is one.
func PortNamed(ports []backend.Port, name string) (backend.Port, bool) {
	for _, port := range ports {
		if port.Name == name {
			return port, true
		}
	}
	return backend.Port{}, false
}

// DescribePorts lists ports with their types and shapes.
func DescribePorts(ports []backend.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = fmt.Sprintf("%s %v%v", p.Name, p.Type, p.Shape)
	}
	return strings.Join(names, ", ")
}
