package description

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
)

const none = "N/A"

// host fills in what is known of a node without its accelerators.
func host(d Description, m machine.Machine, i machine.Inventory) {
	sockets := max(1, m.CPU.Sockets)
	cores := m.CPU.Cores
	if cores == 0 {
		cores = m.CPU.Threads
	}
	d.fill(map[string]string{
		"number_of_nodes":           "1",
		"host_processor_model_name": strings.TrimSpace(m.CPU.Model),
		"host_processors_per_node":  strconv.Itoa(sockets),
		"host_processor_core_count": strconv.Itoa(max(1, cores/sockets)),
		"host_processor_frequency":  frequency(max(i.MaxMHz, m.CPU.MHz)),
		"host_processor_caches":     strings.Join(i.Caches, ", "),
		"host_memory_capacity":      binary(m.Memory.TotalBytes),
		"host_networking_topology":  none, // of one node
		"system_name":               strings.TrimSpace(i.Vendor + " " + i.Product),
		"hw_notes":                  notes(m),
	})
	if sockets == 1 {
		d["host_processor_interconnect"] = none
	}
	storage(d, i.Drives)
	network(d, i.NICs)
	if _, wanted := d["boot_firmware_version"]; wanted {
		d.fill(map[string]string{"boot_firmware_version": i.Firmware, "power_management": governor(m.CPU.Governor)})
	}
}

func governor(name string) string {
	if name == "" {
		return ""
	}
	return "governor " + name
}

func storage(d Description, drives []machine.Drive) {
	total, kinds := uint64(0), []string{}
	for _, drive := range drives {
		total += drive.Bytes
		if !slices.Contains(kinds, drive.Kind) {
			kinds = append(kinds, drive.Kind)
		}
	}
	d.fill(map[string]string{"host_storage_capacity": decimal(total), "host_storage_type": strings.Join(kinds, ", ")})
}

// A port is what is told of one: its speed and what it speaks.
type port struct {
	mbit int
	kind string
}

func network(d Description, nics []machine.NIC) {
	ports := map[port]int{}
	for _, n := range nics {
		if n.Mbit > 0 { // else nobody knows, or it has no cable
			ports[port{n.Mbit, cmp.Or(n.Kind, "Ethernet")}]++
		}
	}
	d.fill(map[string]string{"host_networking": rates(ports), "host_network_card_count": rates(ports)})
}

// rates says how many ports there are of each speed.
func rates(ports map[port]int) string {
	parts := []string{}
	for _, p := range slices.SortedFunc(maps.Keys(ports), func(a, b port) int {
		return cmp.Or(cmp.Compare(a.mbit, b.mbit), cmp.Compare(a.kind, b.kind))
	}) {
		parts = append(parts, fmt.Sprintf("%d x %g Gb/s %s", ports[p], float64(p.mbit)/1000, p.kind))
	}
	return strings.Join(parts, ", ")
}

// notes say what limits the machine.
func notes(m machine.Machine) string {
	parts := []string{}
	if m.Virtualization != "" {
		parts = append(parts, "guest of "+m.Virtualization)
	}
	if m.CPU.Usable > 0 && m.CPU.Usable < float64(m.CPU.Threads) {
		parts = append(parts, fmt.Sprintf("%.4g of %d logical processors used", m.CPU.Usable, m.CPU.Threads))
	}
	if m.Memory.LimitBytes > 0 {
		parts = append(parts, "memory limited to "+binary(m.Memory.LimitBytes))
	}
	return strings.Join(parts, "; ")
}

// accelerators fills in what is known of GPUs and their like.
func accelerators(d Description, i machine.Inventory) {
	d["accelerators_per_node"] = strconv.Itoa(len(i.Accelerators))
	switch len(i.Accelerators) {
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
	memory := i.Accelerators[0].MemoryBytes
	for _, a := range i.Accelerators {
		models, links = once(models, a.Name), once(links, a.Link)
		if a.MemoryBytes != memory {
			memory = 0 // which of them, only a person can say
		}
	}
	d.fill(map[string]string{
		"accelerator_model_name": strings.Join(models, ", "), "accelerator_host_interconnect": strings.Join(links, ", "),
		"accelerator_memory_capacity": binary(memory),
	})
}

// software fills in what runs on the machine.
func software(d Description, m machine.Machine, q Request) {
	stack := []string{}
	if m.Kernel != "" {
		stack = append(stack, "kernel "+m.Kernel)
	}
	for _, g := range m.GPUs {
		if g.Driver != "" {
			stack = once(stack, "driver "+g.Driver)
		}
	}
	d.fill(map[string]string{
		"operating_system": m.OS, "framework": q.Framework, "other_software_stack": strings.Join(append(stack, m.Go), ", "),
	})
	if q.Program != "" {
		d["sw_notes"] = "measured with " + q.Program + ", which is not an official LoadGen"
	}
}

func frequency(mhz float64) string {
	if mhz <= 0 {
		return ""
	}
	return fmt.Sprintf("%.4g GHz", mhz/1000)
}

// binary writes a size of memory. Systems show a little less than what the modules have.
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
	case size >= 999.5e9: // which is 1 TB
		return rounded(size/1e12) + " TB"
	}
	return rounded(size/1e9) + " GB"
}

// rounded writes three digits, and all that are before the point.
func rounded(x float64) string {
	if x >= 999.5 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
