package checker

import (
	"regexp"
	"slices"
	"strings"
)

// A Field is a field that a file of a submission must have (submission_checker/constants.py).
type Field struct {
	Name   string
	Hint   string // what belongs into it
	Filled bool   // must not be empty
}

// SystemFields lists the fields of every system's description.
func SystemFields() []Field {
	return []Field{
		{"division", "closed, open or network", true},
		{"submitter", "the submitter's name, as its folder is called", true},
		{"system_type", "edge, datacenter, or both with a comma", true},
		{"status", "available, preview or rdi", true},
		{"system_name", "the system's name as people know it", true},
		{"number_of_nodes", "a whole number", true},
		{"host_processor_model_name", "e.g. AMD EPYC 9654", true},
		{"host_processors_per_node", "a whole number", true},
		{"host_processor_core_count", "cores of one processor", true},
		{"host_memory_capacity", "of a node, e.g. 512 GB", true},
		{"host_memory_configuration", "modules, and ECC, e.g. 16 x 32 GB DDR5-4800 ECC", true},
		{"host_storage_capacity", "of a node, e.g. 2 TB", true},
		{"host_storage_type", "e.g. NVMe SSD", true},
		{"host_networking", "e.g. 2 x 100 Gb/s Ethernet", true},
		{"host_network_card_count", "e.g. 1 x 2-port 100 Gb/s Ethernet", true},
		{"host_networking_topology", "how nodes are connected; N/A for one node", true},
		{"accelerators_per_node", "a whole number, 0 for none", true},
		{"accelerator_model_name", "e.g. NVIDIA H100-SXM-80GB; N/A for none", true},
		{"accelerator_memory_capacity", "of one accelerator, e.g. 80 GB; N/A for none", true},
		{"accelerator_host_interconnect", "e.g. PCIe Gen5 x16; N/A for none", true},
		{"accelerator_memory_configuration", "and ECC, e.g. HBM3 ECC; N/A for none", true},
		{"accelerator_interconnect", "e.g. NVLink; N/A for none", true},
		{"cooling", "e.g. air, liquid or passive", true},
		{"framework", "with version, e.g. ONNX Runtime 1.24", true},
		{"operating_system", "with version, e.g. Ubuntu 24.04", true},
		{"other_software_stack", "kernel, drivers, libraries, with versions", true},
		{Name: "system_type_detail"}, {Name: "host_processor_frequency"}, {Name: "host_processor_caches"},
		{Name: "host_processor_interconnect"}, {Name: "accelerator_frequency"}, {Name: "accelerator_interconnect_topology"},
		{Name: "accelerator_on-chip_memories"}, {Name: "hw_notes"}, {Name: "sw_notes"},
	}
}

// DatacenterLacks lists the fields of a description that do not say what a datacenter system of closed and network must
// have (inference_rules, Minimum requirements of a datacenter system): ECC of DRAM and HBM, enabled in every run, and a network.
// ECC may stand in the field of the memory or in a sentence of hw_notes. An open system, or one of edge alone, lacks nothing.
func DatacenterLacks(value func(field string) string) []Field {
	var lacks []Field
	if !strings.Contains(value("system_type"), "datacenter") || value("division") == "open" {
		return nil
	}
	hasECC := func(field string, own, others *regexp.Regexp) bool {
		texts := []string{value(field)}
		for _, note := range strings.FieldsFunc(value("hw_notes"), func(r rune) bool { return strings.ContainsRune(";.,\n", r) }) {
			if own.MatchString(note) || !others.MatchString(note) {
				texts = append(texts, note)
			}
		}
		yes := func(s string) bool { return ecc.MatchString(s) && !noECC.MatchString(s) }
		return slices.ContainsFunc(texts, yes) && !slices.ContainsFunc(texts, noECC.MatchString)
	}
	if !hasECC("host_memory_configuration", ofHost, ofAccelerators) {
		lacks = append(lacks, Field{Name: "host_memory_configuration", Hint: "ECC, enabled in every run, e.g. 16 x 32 GB DDR5-4800 ECC"})
	}
	if memory := value("accelerator_memory_configuration"); !absent.MatchString(value("accelerators_per_node")) && !absent.MatchString(memory) &&
		!strings.EqualFold(memory, "SRAM") && !hasECC("accelerator_memory_configuration", ofAccelerators, ofHost) {
		lacks = append(lacks, Field{Name: "accelerator_memory_configuration", Hint: "ECC, enabled in every run, e.g. HBM3 ECC"})
	}
	for _, name := range []string{"host_networking", "host_network_card_count"} {
		if absent.MatchString(value(name)) {
			lacks = append(lacks, Field{Name: name, Hint: "the network that carries the samples, e.g. 2 x 100 Gb/s Ethernet"})
		}
	}
	return lacks
}

var (
	ecc            = regexp.MustCompile(`(?i)\becc\b`)
	noECC          = regexp.MustCompile(`(?i)\b(no|non|not|without|disabled)[ -]*ecc\b|\becc[ :=]+(is +)?(no|not|none|false)\b|\becc\b[^;.,\n]*\b(off|disabled)\b`)
	ofAccelerators = regexp.MustCompile(`(?i)\b(accelerators?|gpus?|hbm\w*|gddr\w*)\b`)
	ofHost         = regexp.MustCompile(`(?i)\b(hosts?|cpus?|dram|ddr\w*|dimms?)\b`)
	absent         = regexp.MustCompile(`(?i)^\s*(n/?a|none|no|0|-)?\s*$`)
)

// NetworkFields lists the further fields of a system of the network division.
func NetworkFields() []Field {
	return []Field{
		{"is_network", "true", false},
		{"network_type", "e.g. Ethernet", false},
		{"network_media", "e.g. copper or fibre", false},
		{"network_rate", "e.g. 100 Gb/s", false},
		{"nic_loadgen", "model of the network card on the side of LoadGen", false},
		{"number_nic_loadgen", "a whole number", false},
		{"net_software_stack_loadgen", "e.g. Linux kernel TCP, with version", false},
		{"network_protocol", "e.g. TCP and gRPC", false},
		{"number_connections", "between LoadGen and the system", false},
		{"nic_sut", "model of the network card of the system", false},
		{"number_nic_sut", "a whole number", false},
		{"net_software_stack_sut", "e.g. Linux kernel TCP, with version", false},
		{"network_topology", "e.g. directly connected, or the switches between", false},
	}
}

// PowerFields lists the further fields of a system with measured power.
func PowerFields() []Field {
	return []Field{
		{"power_management", "e.g. governor performance", false},
		{"filesystem", "e.g. ext4", false},
		{"boot_firmware_version", "of BIOS or UEFI", false},
		{"management_firmware_version", "of the BMC; N/A for none", false},
		{"other_hardware", "what else draws power", false},
		{"number_of_type_nics_installed", "e.g. 1 x 25 GbE", false},
		{"nics_enabled_firmware", "a whole number", false},
		{"nics_enabled_os", "a whole number", false},
		{"nics_enabled_connected", "a whole number", false},
		{"network_speed_mbit", "e.g. 1000", false},
		{"power_supply_quantity_and_rating_watts", "e.g. 2 x 1600", false},
		{"power_supply_details", "model and part number", false},
		{"disk_drives", "e.g. 1 x 1 TB NVMe", false},
		{"disk_controllers", "e.g. onboard", false},
		{"system_power_only", "true if other users had no part of the power", false},
	}
}

// MeasurementFields lists the fields of measurements.json.
func MeasurementFields() []Field {
	return []Field{
		{"input_data_types", "of what goes into the model, e.g. fp32 or uint8", true},
		{"retraining", "no in the closed division; else what was trained anew", true},
		{"starting_weights_filename", "of the weights that the model was made from", true},
		{"weight_data_types", "e.g. fp32 or int8", true},
		{"weight_transformations", "what was done to the weights: none, quantisation, sparsity, ...", true},
	}
}

// FieldNames returns the names of fields.
func FieldNames(list []Field) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return names
}

// Placeholder returns a text that says what to fill in. The profile strict refuses it.
func Placeholder(hint string) string { return "FILL IN: " + hint }

var placeholders = regexp.MustCompile(`\bFILL IN\b`)

// HasPlaceholder reports whether a text has a placeholder.
func HasPlaceholder(text string) bool { return placeholders.MatchString(text) }
