package description

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

const none = "N/A"

// host fills in a node without its accelerators.
func (d Description) host(m machine.Machine, i machine.Inventory, power bool) {
	sockets := max(1, m.CPU.Sockets)
	var storage uint64
	var kinds, notes []string
	for _, drive := range i.Drives {
		storage += drive.Bytes
		kinds = appendNew(kinds, drive.Kind)
	}
	if m.Virtualization != "" {
		notes = append(notes, "guest of "+m.Virtualization)
	}
	if m.CPU.Usable > 0 && m.CPU.Usable < float64(m.CPU.Threads) {
		notes = append(notes, fmt.Sprintf("%.4g of %d logical processors used", m.CPU.Usable, m.CPU.Threads))
	}
	if m.Memory.LimitBytes > 0 {
		notes = append(notes, "memory limited to "+binary(m.Memory.LimitBytes))
	}
	if i.ECC {
		notes = append(notes, "ECC of the host's memory enabled")
	}
	var modes []string
	for _, a := range i.Accelerators {
		modes = appendNew(modes, strings.ToLower(a.ECC))
	}
	if len(modes) > 0 { // disabled on one of them says both
		notes = append(notes, "ECC of the accelerators' memory "+strings.Join(modes, " and "))
	}
	frequency := ""
	if mhz := max(i.MaxMHz, m.CPU.MHz); mhz > 0 {
		frequency = fmt.Sprintf("%.4g GHz", mhz/1000)
	}
	ports := ports(i.NICs)
	d.fill(map[string]string{
		"number_of_nodes":           "1",
		"host_processor_model_name": strings.TrimSpace(m.CPU.Model),
		"host_processors_per_node":  strconv.Itoa(sockets),
		"host_processor_core_count": strconv.Itoa(max(1, cmp.Or(m.CPU.Cores, m.CPU.Threads)/sockets)),
		"host_processor_frequency":  frequency,
		"host_processor_caches":     strings.Join(i.Caches, ", "),
		"host_memory_capacity":      binary(m.Memory.TotalBytes),
		"host_storage_capacity":     decimal(storage),
		"host_storage_type":         strings.Join(kinds, ", "),
		"host_networking":           ports,
		"host_network_card_count":   ports,
		"host_networking_topology":  none, // of one node
		"system_name":               strings.TrimSpace(i.Vendor + " " + i.Product),
		"hw_notes":                  strings.Join(notes, "; "),
	})
	if sockets == 1 {
		d["host_processor_interconnect"] = none
	}
	if power {
		d.fill(map[string]string{"boot_firmware_version": i.Firmware})
		if m.CPU.Governor != "" {
			d["power_management"] = "governor " + m.CPU.Governor
		}
	}
}

// ports counts the ports of network cards by speed and kind. The speed of a port without a cable is unknown.
func ports(nics []machine.NIC) string {
	type port struct {
		mbit int
		kind string
	}
	count := map[port]int{}
	for _, n := range nics {
		if n.Mbit > 0 {
			count[port{n.Mbit, cmp.Or(n.Kind, "Ethernet")}]++
		}
	}
	var parts []string
	for _, p := range slices.SortedFunc(maps.Keys(count), func(a, b port) int {
		return cmp.Or(cmp.Compare(a.mbit, b.mbit), cmp.Compare(a.kind, b.kind))
	}) {
		parts = append(parts, fmt.Sprintf("%d x %g Gb/s %s", count[p], float64(p.mbit)/1000, p.kind))
	}
	return strings.Join(parts, ", ")
}

// accelerators fills in GPUs and other accelerators.
func (d Description) accelerators(list []machine.Accelerator) {
	d["accelerators_per_node"] = strconv.Itoa(len(list))
	switch len(list) {
	case 0:
		for _, f := range checker.SystemFields() {
			if strings.HasPrefix(f.Name, "accelerator_") && f.Filled {
				d[f.Name] = none
			}
		}
		return
	case 1:
		d["accelerator_interconnect"] = none
	}
	var models, links []string
	memory := list[0].MemoryBytes
	for _, a := range list {
		models, links = appendNew(models, a.Name), appendNew(links, a.Link)
		if a.MemoryBytes != memory {
			memory = 0 // the field is for one size
		}
	}
	d.fill(map[string]string{
		"accelerator_model_name": strings.Join(models, ", "), "accelerator_host_interconnect": strings.Join(links, ", "),
		"accelerator_memory_capacity": binary(memory),
	})
}

// software fills in what runs on the machine.
func (d Description) software(m machine.Machine, q Request) {
	var stack []string
	if m.Kernel != "" {
		stack = append(stack, "kernel "+m.Kernel)
	}
	for _, g := range m.GPUs {
		if g.Driver != "" {
			stack = appendNew(stack, "driver "+g.Driver)
		}
	}
	d.fill(map[string]string{
		"operating_system": m.OS, "framework": q.Framework, "other_software_stack": strings.Join(append(stack, m.Go), ", "),
	})
	if q.Program != "" {
		d["sw_notes"] = "measured with " + q.Program + ", which is not an official LoadGen"
	}
}

// network fills in the fields of the division network: those of the end that this machine is, and those of a run.
func (d Description) network(m machine.Machine, nics []machine.NIC, end string, link Link) {
	var kinds, models, protocols []string
	fastest := 0
	for _, n := range nics {
		model := n.Driver
		if n.PCI != "" {
			model = strings.TrimSpace(n.Driver + " (PCI " + n.PCI + ")")
		}
		kinds, models, fastest = appendNew(kinds, n.Kind), appendNew(models, model), max(fastest, n.Mbit)
	}
	for _, e := range link.Endpoints {
		scheme, _, _ := strings.Cut(strings.TrimPrefix(e, "dns+"), ":")
		above, ok := map[string]string{
			"http": "HTTP/1.1 with binary tensors (Open Inference Protocol)", "https": "TLS, HTTP/1.1 with binary tensors (Open Inference Protocol)",
			"grpc": "gRPC (Open Inference Protocol)", "dns": "gRPC (Open Inference Protocol)", "grpcs": "TLS, gRPC (Open Inference Protocol)",
		}[scheme]
		if !ok {
			continue
		}
		ip := "IP" // of a name, which has addresses of either version
		if u, err := url.Parse(e); err == nil {
			if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.Is4() {
				ip = "IPv4"
			} else if err == nil {
				ip = "IPv6"
			}
		}
		protocols = appendNew(protocols, "TCP/"+ip+", "+above)
	}
	d.fill(map[string]string{"is_network": "true", "network_type": strings.Join(kinds, ", "), "network_protocol": strings.Join(protocols, "; ")})
	if fastest > 0 {
		d["network_rate"] = fmt.Sprintf("%g Gb/s", float64(fastest)/1000)
	}
	if len(nics) > 0 {
		d.fill(map[string]string{"nic_" + end: strings.Join(models, ", "), "number_nic_" + end: strconv.Itoa(len(nics))})
	}
	if m.Kernel != "" {
		d["net_software_stack_"+end] = strings.Join(strings.Fields(m.OS+", kernel "+m.Kernel+", its TCP, "+m.Go), " ")
	}
	if link.Connections > 0 {
		d["number_connections"] = strconv.Itoa(link.Connections)
	}
}

// appendNew appends a text, unless it is empty or in the list.
func appendNew(list []string, text string) []string {
	if text == "" || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// binary writes a size of memory. Systems show a little less than the size of the modules.
func binary(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return rounded(float64(bytes)/(1<<30)) + " GiB"
}

// decimal writes a size of storage.
func decimal(bytes uint64) string {
	size := float64(bytes)
	switch {
	case bytes == 0:
		return ""
	case size >= 999.5e9: // which rounds to 1 TB
		return rounded(size/1e12) + " TB"
	}
	return rounded(size/1e9) + " GB"
}

// rounded writes three digits, and all before the point.
func rounded(x float64) string {
	if x >= 999.5 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
