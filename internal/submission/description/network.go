package description

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine"
)

// The ends of a network.
const (
	LoadGen = "loadgen"
	SUT     = "sut"
)

// A Link is what a run of the division network says of the way to the system.
type Link struct {
	Endpoints   []string // URLs
	Connections int      // requests under way at most, which have a connection each over HTTP
}

// distant fills in the fields of the division network: those of the end that this machine is, and
// what a run tells.
func distant(d Description, m machine.Machine, nics []machine.NIC, q Request) {
	end := q.End
	if end == "" {
		end = SUT
	}
	var kinds, models []string
	fastest := 0
	for _, n := range nics {
		kinds, models = once(kinds, n.Kind), once(models, modelOf(n))
		fastest = max(fastest, n.Mbit)
	}
	values := map[string]string{"is_network": "true", "network_type": strings.Join(kinds, ", "), "network_protocol": protocols(q.Link.Endpoints)}
	if fastest > 0 {
		values["network_rate"] = fmt.Sprintf("%g Gb/s", float64(fastest)/1000)
	}
	if len(nics) > 0 {
		values["nic_"+end], values["number_nic_"+end] = strings.Join(models, ", "), strconv.Itoa(len(nics))
	}
	if m.Kernel != "" {
		values["net_software_stack_"+end] = strings.Join(strings.Fields(m.OS+", kernel "+m.Kernel+", its TCP, "+m.Go), " ")
	}
	if q.Link.Connections > 0 {
		values["number_connections"] = strconv.Itoa(q.Link.Connections)
	}
	d.fill(values)
}

// modelOf is what the kernel says of a network card.
func modelOf(n machine.NIC) string {
	if n.PCI == "" {
		return n.Driver
	}
	return strings.TrimSpace(n.Driver + " (PCI " + n.PCI + ")")
}

// protocols are those of endpoints.
func protocols(endpoints []string) string {
	var list []string
	for _, e := range endpoints {
		scheme, _, _ := strings.Cut(strings.TrimPrefix(e, "dns+"), ":")
		list = once(list, map[string]string{
			"http": "TCP, HTTP/1.1 with binary tensors (Open Inference Protocol)", "https": "TCP, TLS, HTTP/1.1 with binary tensors (Open Inference Protocol)",
			"grpc": "TCP, gRPC (Open Inference Protocol)", "dns": "TCP, gRPC (Open Inference Protocol)", "grpcs": "TCP, TLS, gRPC (Open Inference Protocol)",
		}[scheme])
	}
	return strings.Join(list, "; ")
}

// once appends a text that is not empty and not there already.
func once(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}
