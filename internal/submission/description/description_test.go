package description

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func board() (machine.Machine, machine.Inventory) {
	gpu := machine.GPU{Name: "NVIDIA H100 PCIe", Driver: "nvidia 570.1"}
	return machine.Machine{
			OS: "Debian 12", Kernel: "6.1", Go: "go1.26", Virtualization: "kvm", GPUs: []machine.GPU{gpu, gpu},
			CPU:    machine.CPU{Model: "Example CPU", Sockets: 2, Cores: 64, Threads: 128, Usable: 16, MHz: 2000, Governor: "performance"},
			Memory: machine.Memory{TotalBytes: 256 << 30},
		}, machine.Inventory{
			Vendor: "Example Inc.", Product: "Board 1", Firmware: "1.2", MaxMHz: 3700, Caches: []string{"L1d 48K", "L2 2048K"},
			Drives: []machine.Drive{{Kind: "NVMe SSD", Bytes: 1.5e12}, {Kind: "NVMe SSD", Bytes: 5e11}},
			NICs:   []machine.NIC{{Mbit: 25000}, {Mbit: 25000}, {Mbit: 0}},
			Accelerators: []machine.Accelerator{
				{GPU: gpu, MemoryBytes: 80 << 30, Link: "PCIe Gen5 x16"}, {GPU: gpu, MemoryBytes: 80 << 30, Link: "PCIe Gen5 x16"},
			},
		}
}

func describe(t *testing.T, m machine.Machine, i machine.Inventory, q Request) Description {
	t.Helper()
	d, err := Of(m, i, q)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMachine(t *testing.T) {
	m, i := board()
	d := describe(t, m, i, Request{Submitter: "ExampleOrg", Division: "closed", Status: "available", Type: "edge", Framework: "ONNX Runtime 1.24", Program: "mlperf 1"})
	for name, want := range map[string]string{
		"submitter": "ExampleOrg", "status": "available", "system_type": "edge", "division": "closed", "system_name": "Example Inc. Board 1",
		"number_of_nodes": "1", "host_processor_model_name": "Example CPU", "host_processors_per_node": "2", "host_processor_core_count": "32",
		"host_processor_frequency": "3.7 GHz", "host_processor_caches": "L1d 48K, L2 2048K", "host_memory_capacity": "256 GiB",
		"host_storage_capacity": "2 TB", "host_storage_type": "NVMe SSD", "host_networking": "2 x 25 Gb/s Ethernet",
		"accelerators_per_node": "2", "accelerator_model_name": "NVIDIA H100 PCIe", "accelerator_memory_capacity": "80 GiB",
		"accelerator_host_interconnect": "PCIe Gen5 x16", "framework": "ONNX Runtime 1.24", "operating_system": "Debian 12",
		"other_software_stack": "kernel 6.1, driver nvidia 570.1, go1.26", "hw_notes": "guest of kvm; 16 of 128 logical processors used",
		"sw_notes": "measured with mlperf 1, which is not an official LoadGen",
	} {
		if d[name] != want {
			t.Errorf("%s is %q, want %q", name, d[name], want)
		}
	}
	want := []string{"accelerator_interconnect", "accelerator_memory_configuration", "cooling", "host_memory_configuration"}
	if diff := cmp.Diff(want, d.Unfinished()); diff != "" {
		t.Errorf("unfinished (-want +got):\n%s", diff)
	}
	for _, name := range []string{"is_network", "power_management"} { // the official checker refuses is_network
		if _, has := d[name]; has {
			t.Errorf("a system of closed without power has %s", name)
		}
	}
	d = describe(t, m, i, Request{Division: "closed", Type: "datacenter", Values: map[string]string{"host_memory_configuration": "16 x 16 GB", "accelerator_memory_configuration": "HBM3"}})
	if got := strings.Join(d.Unfinished(), "; "); !strings.Contains(got, "; host_memory_configuration (ECC,") || !strings.Contains(got, "accelerator_memory_configuration (ECC,") {
		t.Errorf("a datacenter without a word of ECC: unfinished %q", got)
	}
	i.ECC, i.Accelerators[0].ECC, i.Accelerators[1].ECC = true, "Enabled", "Disabled"
	d = describe(t, m, i, Request{Power: true})
	if want := "ECC of the host's memory enabled; ECC of the accelerators' memory enabled and disabled"; !strings.HasSuffix(d["hw_notes"], want) {
		t.Errorf("hw_notes is %q, want its end %q", d["hw_notes"], want)
	}
	if d["power_management"] != "governor performance" || d["boot_firmware_version"] != "1.2" {
		t.Errorf("with power: %q, %q", d["power_management"], d["boot_firmware_version"])
	}
}

func TestUnknownMachine(t *testing.T) {
	d := describe(t, machine.Machine{}, machine.Inventory{}, Request{Division: "network", Power: true})
	for _, list := range [][]checker.Field{checker.SystemFields(), checker.NetworkFields(), checker.PowerFields()} {
		for _, f := range list {
			if value, has := d[f.Name]; !has || value == "" && f.Filled {
				t.Errorf("%s is %q, want a value or a placeholder", f.Name, value)
			}
		}
	}
	for _, name := range []string{"cooling", "status", "system_name", "network_rate", "filesystem", "host_networking", "nic_sut", "number_connections"} {
		if !strings.HasPrefix(d[name], "FILL IN: ") {
			t.Errorf("%s is %q, want a placeholder", name, d[name])
		}
	}
	if d["accelerators_per_node"] != "0" || d["accelerator_model_name"] != "N/A" || d["accelerator_frequency"] != "" {
		t.Errorf("without accelerators: %q, %q, %q", d["accelerators_per_node"], d["accelerator_model_name"], d["accelerator_frequency"])
	}
}

func TestUnusualMachines(t *testing.T) {
	gpu := func(name, link string, gib uint64) machine.Accelerator {
		return machine.Accelerator{GPU: machine.GPU{Name: name}, Link: link, MemoryBytes: gib << 30}
	}
	mixed := func(_ *machine.Machine, i *machine.Inventory) {
		i.Accelerators = []machine.Accelerator{gpu("A", "x16", 80), gpu("B", "", 40), gpu("A", "x8", 80)}
	}
	nics := func(list ...machine.NIC) func(*machine.Machine, *machine.Inventory) {
		return func(_ *machine.Machine, i *machine.Inventory) { i.NICs = list }
	}
	for _, c := range []struct {
		name   string
		change func(m *machine.Machine, i *machine.Inventory)
		field  string
		want   string
	}{
		{"one socket", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Sockets = 1 }, "host_processor_interconnect", "N/A"},
		{"an unknown number of sockets", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Sockets = 0 }, "host_processors_per_node", "1"},
		{"an unknown number of cores", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Cores = 0 }, "host_processor_core_count", "64"},
		{"fewer cores than sockets", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Cores = 1 }, "host_processor_core_count", "1"},
		{"the frequency of the CPU alone", func(_ *machine.Machine, i *machine.Inventory) { i.MaxMHz = 0 }, "host_processor_frequency", "2 GHz"},
		{"no frequency", func(m *machine.Machine, i *machine.Inventory) { m.CPU.MHz, i.MaxMHz = 0, 0 }, "host_processor_frequency", ""},
		{"drives of two kinds", func(_ *machine.Machine, i *machine.Inventory) {
			i.Drives = append(i.Drives, machine.Drive{Kind: "HDD", Bytes: 1e12})
		}, "host_storage_type", "NVMe SSD, HDD"},
		{"network cards of two speeds", nics(machine.NIC{Mbit: 100000}, machine.NIC{Mbit: 2500}, machine.NIC{Mbit: 100000}), "host_network_card_count", "1 x 2.5 Gb/s Ethernet, 2 x 100 Gb/s Ethernet"},
		{"network cards of two kinds", nics(machine.NIC{Mbit: 100000, Kind: "InfiniBand"}, machine.NIC{Mbit: 100000}), "host_networking", "1 x 100 Gb/s Ethernet, 1 x 100 Gb/s InfiniBand"},
		{"network cards without cables", nics(machine.NIC{}, machine.NIC{}), "host_networking", "FILL IN: e.g. 2 x 100 Gb/s Ethernet"},
		{"a limit of memory", func(m *machine.Machine, _ *machine.Inventory) {
			m.Virtualization, m.CPU.Usable, m.Memory.LimitBytes = "", 0, 8<<30
		}, "hw_notes", "memory limited to 8 GiB"},
		{"one accelerator", func(_ *machine.Machine, i *machine.Inventory) { i.Accelerators = i.Accelerators[:1] }, "accelerator_interconnect", "N/A"},
		{"accelerators of two kinds", mixed, "accelerator_model_name", "A, B"},
		{"links of two kinds", mixed, "accelerator_host_interconnect", "x16, x8"},
		{"memories of two sizes", mixed, "accelerator_memory_capacity", "FILL IN: of one accelerator, e.g. 80 GB; N/A for none"},
		{"no kernel", func(m *machine.Machine, _ *machine.Inventory) { m.Kernel = "" }, "other_software_stack", "driver nvidia 570.1, go1.26"},
	} {
		m, i := board()
		c.change(&m, &i)
		if d := describe(t, m, i, Request{}); d[c.field] != c.want {
			t.Errorf("%s: %s is %q, want %q", c.name, c.field, d[c.field], c.want)
		}
	}
	for bytes, want := range map[uint64]string{1 << 29: "0.5 GiB", 251<<30 + 1<<29: "252 GiB", 1511 << 30: "1511 GiB"} {
		if got := binary(bytes); got != want {
			t.Errorf("binary(%d) = %q, want %q", bytes, got, want)
		}
	}
	for bytes, want := range map[uint64]string{512e6: "0.512 GB", 480e9: "480 GB", 999.6e9: "1 TB", 3.84e12: "3.84 TB"} {
		if got := decimal(bytes); got != want {
			t.Errorf("decimal(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestBothEndsOfANetwork(t *testing.T) {
	m, i := board()
	i.NICs = []machine.NIC{{Name: "eth0", Driver: "mlx5_core", Mbit: 100000, Kind: "Ethernet", PCI: "15b3:1017"}, {Name: "eth1", Driver: "mlx5_core", Mbit: 0, Kind: "Ethernet", PCI: "15b3:1017"}}
	sut := describe(t, m, i, Request{Division: "network"})
	if !checker.HasPlaceholder(sut["number_nic_loadgen"]) || !checker.HasPlaceholder(sut["net_software_stack_loadgen"]) {
		t.Errorf("the end of the system describes the other: %v", sut)
	}
	i.NICs = []machine.NIC{{Driver: "virtio_net", Mbit: 10000, Kind: "Ethernet"}}
	endpoints := []string{"http://10.0.0.1:1", "http://[fd00::1]:1", "http://10.0.0.2:1", "dns+grpcs://c:1", "https://d", "dns:///e:1", "unix:/run/f.sock"}
	d := describe(t, m, i, Request{Division: "network", End: LoadGen, Old: sut, Link: Link{Endpoints: endpoints, Connections: 64}})
	for name, want := range map[string]string{
		"is_network": "true", "network_type": "Ethernet", "network_rate": "100 Gb/s", "number_connections": "64",
		"nic_sut": "mlx5_core (PCI 15b3:1017)", "number_nic_sut": "2", "net_software_stack_sut": "Debian 12, kernel 6.1, its TCP, go1.26",
		"nic_loadgen": "virtio_net", "number_nic_loadgen": "1", "net_software_stack_loadgen": "Debian 12, kernel 6.1, its TCP, go1.26",
		"network_protocol": "TCP/IPv4, HTTP/1.1 with binary tensors (Open Inference Protocol); TCP/IPv6, HTTP/1.1 with binary tensors (Open Inference Protocol); " +
			"TCP/IP, TLS, gRPC (Open Inference Protocol); TCP/IP, TLS, HTTP/1.1 with binary tensors (Open Inference Protocol); TCP/IP, gRPC (Open Inference Protocol)",
	} {
		if d[name] != want {
			t.Errorf("%s is %q, want %q", name, d[name], want)
		}
	}
	for _, name := range []string{"network_media", "network_topology"} { // which no machine shows
		if !checker.HasPlaceholder(d[name]) {
			t.Errorf("%s is %q, want a placeholder", name, d[name])
		}
	}
}

// Values of a request come before those of an older description, and these before the machine's.
func TestOrderOfValues(t *testing.T) {
	m, i := board()
	for _, c := range []struct {
		name        string
		q           Request
		field, want string
	}{
		{"an older value", Request{Old: Description{"operating_system": "Debian 11"}}, "operating_system", "Debian 11"},
		{"an older placeholder", Request{Old: Description{"operating_system": "FILL IN: it"}}, "operating_system", "Debian 12"},
		{"an older empty value", Request{Old: Description{"operating_system": ""}}, "operating_system", "Debian 12"},
		{"an older field of another kind", Request{Old: Description{"own": ""}}, "own", ""},
		{"a given value", Request{Old: Description{"operating_system": "Debian 11"}, Values: map[string]string{"operating_system": "Debian 13"}}, "operating_system", "Debian 13"},
		{"a given empty value", Request{Values: map[string]string{"hw_notes": ""}}, "hw_notes", ""},
		{"a name of the request", Request{Name: "Box", Old: Description{"system_name": "Old"}}, "system_name", "Box"},
		{"no name of the request", Request{Old: Description{"system_name": "Old"}}, "system_name", "Old"},
		{"a given name", Request{Name: "Box", Values: map[string]string{"system_name": "Given"}}, "system_name", "Given"},
	} {
		d := describe(t, m, i, c.q)
		if got, has := d[c.field]; got != c.want || !has {
			t.Errorf("%s: %s is %q (%v), want %q", c.name, c.field, got, has, c.want)
		}
	}
}

func TestWrongRequests(t *testing.T) {
	for _, c := range []struct {
		q           Request
		field, want string
	}{
		{Request{Division: "Closed"}, "division", `division is "Closed": must be one of closed open network`},
		{Request{Status: "soon"}, "status", `status is "soon": must be one of available preview rdi`},
		{Request{Type: "edge, datacenter"}, "system_type", `system_type is "edge, datacenter": must be one of edge datacenter datacenter,edge edge,datacenter`},
		{Request{End: "server"}, "network_end", `network_end is "server": must be one of sut loadgen`},
		{Request{Values: map[string]string{"colour": "red"}}, "set", `unknown field "colour": must be one of division, submitter, `},
	} {
		_, err := Of(machine.Machine{}, machine.Inventory{}, c.q)
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != c.field || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.q, err, c.want)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.json")
	read := func(text string) (Description, error) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return Read(path)
	}
	d := Description{"b": "<&>", "a": "é \"quoted\"", "c": "two\nlines"}
	text, err := d.JSON()
	const want = "{\n  \"a\": \"é \\\"quoted\\\"\",\n  \"b\": \"<&>\",\n  \"c\": \"two\\nlines\"\n}\n"
	if back, errRead := read(string(text)); err != nil || string(text) != want || errRead != nil || !cmp.Equal(back, d) {
		t.Errorf("%s, %v, want\n%s\nread: %v, %v", text, err, want, back, errRead)
	}
	d, err = read(`{"a": "x", "b": 1.50, "c": null, "d": [1], "e": true}`)
	if diff := cmp.Diff(Description{"a": "x", "b": "1.50", "c": "", "d": "[1]", "e": "true"}, d); diff != "" || err != nil {
		t.Errorf("values of other types (%v):\n%s", err, diff)
	}
	_, numbers, err := ReadNumbers(path)
	d["b"], d["e"] = "2", "yes"
	again, errAgain := d.JSON(numbers...)
	if want := "{\n  \"a\": \"x\",\n  \"b\": 2,\n  \"c\": \"\",\n  \"d\": [\n    1\n  ],\n  \"e\": \"yes\"\n}\n"; err != nil || errAgain != nil || string(again) != want {
		t.Errorf("written again: %s, %v, %v", again, err, errAgain)
	}
	for text, want := range map[string]string{
		"null": "is null, expected an object", "[]": "cannot unmarshal array", `{"a": `: "unexpected end of JSON input", "{}{}": "after top-level value",
	} {
		if d, err := read(text); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, %v, want %q", text, d, err, want)
		}
	}
	if _, err := read(strings.Repeat(" ", 1<<20+1)); err == nil || !strings.Contains(err.Error(), path+": is longer than") {
		t.Errorf("a file of 1 MiB: %v", err)
	}
}

func ExampleDescription_Unfinished() {
	d, err := Of(machine.Machine{OS: "Debian 12"}, machine.Inventory{}, Request{Values: map[string]string{"cooling": "air"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d["operating_system"], d["cooling"], slices.Contains(d.Unfinished(), "cooling"), slices.Contains(d.Unfinished(), "host_memory_capacity"))
	// Output: Debian 12 air false true
}
