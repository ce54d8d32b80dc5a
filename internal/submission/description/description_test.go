package description

import (
	"errors"
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
			CPU:    machine.CPU{Model: "Example CPU", Sockets: 2, Cores: 64, Threads: 128, Usable: 16, MHz: 2000},
			Memory: machine.Memory{TotalBytes: 256 << 30},
		}, machine.Inventory{
			Vendor: "Example Inc.", Product: "Board 1", MaxMHz: 3700, Caches: []string{"L1d 48K", "L2 2048K"},
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

func TestWhatIsKnownIsFilledIn(t *testing.T) {
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
}

func TestAllFieldsAreThereOnAMachineThatShowsNothing(t *testing.T) {
	d := describe(t, machine.Machine{}, machine.Inventory{}, Request{Division: "network", Power: true})
	for _, list := range [][]checker.Field{checker.SystemFields(), checker.NetworkFields(), checker.PowerFields()} {
		for _, f := range list {
			if value, there := d[f.Name]; !there || value == "" && f.Filled {
				t.Errorf("%s is %q, want a value or a placeholder", f.Name, value)
			}
		}
	}
	for _, name := range []string{"cooling", "status", "system_name", "network_rate", "filesystem", "host_networking"} {
		if !strings.HasPrefix(d[name], "FILL IN: ") {
			t.Errorf("%s is %q, want a placeholder", name, d[name])
		}
	}
	if d["accelerators_per_node"] != "0" || d["accelerator_model_name"] != "N/A" || d["accelerator_frequency"] != "" {
		t.Errorf("without accelerators: %q, %q, %q", d["accelerators_per_node"], d["accelerator_model_name"], d["accelerator_frequency"])
	}
	if _, there := describe(t, machine.Machine{}, machine.Inventory{}, Request{Division: "closed"})["is_network"]; there {
		t.Error("a system of closed has is_network, which the official checker refuses")
	}
}

func TestBothEndsOfANetworkAreFilledIn(t *testing.T) {
	m, i := board()
	i.NICs = []machine.NIC{{Name: "eth0", Driver: "mlx5_core", Mbit: 100000, Kind: "Ethernet", PCI: "15b3:1017"}, {Name: "eth1", Driver: "mlx5_core", Mbit: 0, Kind: "Ethernet", PCI: "15b3:1017"}}
	sut := describe(t, m, i, Request{Division: "network"})
	i.NICs = []machine.NIC{{Driver: "virtio_net", Mbit: 10000, Kind: "Ethernet"}}
	d := describe(t, m, i, Request{Division: "network", End: LoadGen, Old: sut, Link: Link{Endpoints: []string{"http://a:1", "http://b:1", "dns+grpcs://c:1"}, Connections: 64}})
	for name, want := range map[string]string{
		"is_network": "true", "network_type": "Ethernet", "network_rate": "100 Gb/s", "number_connections": "64",
		"nic_sut": "mlx5_core (PCI 15b3:1017)", "number_nic_sut": "2", "net_software_stack_sut": "Debian 12, kernel 6.1, its TCP, go1.26",
		"nic_loadgen": "virtio_net", "number_nic_loadgen": "1", "net_software_stack_loadgen": "Debian 12, kernel 6.1, its TCP, go1.26",
		"network_protocol": "TCP, HTTP/1.1 with binary tensors (Open Inference Protocol); TCP, TLS, gRPC (Open Inference Protocol)",
	} {
		if d[name] != want {
			t.Errorf("%s is %q, want %q", name, d[name], want)
		}
	}
	for _, name := range []string{"network_media", "network_topology"} { // which no machine knows
		if !checker.HasPlaceholder(d[name]) {
			t.Errorf("%s is %q, want a placeholder", name, d[name])
		}
	}
}

func TestAcceleratorsThatDifferAreForAPersonToDescribe(t *testing.T) {
	m, i := board()
	i.Accelerators[1].MemoryBytes, i.Accelerators[1].Name = 40<<30, "Other"
	d := describe(t, m, i, Request{})
	if d["accelerator_model_name"] != "NVIDIA H100 PCIe, Other" || !checker.HasPlaceholder(d["accelerator_memory_capacity"]) {
		t.Errorf("model %q, memory %q", d["accelerator_model_name"], d["accelerator_memory_capacity"])
	}
}

func TestWhatSomebodyFilledInStays(t *testing.T) {
	m, i := board()
	old := Description{"cooling": "air", "system_name": "Mine", "host_memory_configuration": "FILL IN: modules", "sw_notes": "", "own": "x"}
	d := describe(t, m, i, Request{Old: old, Program: "mlperf", Values: map[string]string{"system_name": "Given"}})
	for name, want := range map[string]string{"cooling": "air", "system_name": "Given", "own": "x", "sw_notes": "measured with mlperf, which is not an official LoadGen"} {
		if d[name] != want {
			t.Errorf("%s is %q, want %q", name, d[name], want)
		}
	}
	if !checker.HasPlaceholder(d["host_memory_configuration"]) {
		t.Errorf("a placeholder became %q", d["host_memory_configuration"])
	}
}

func TestWhatIsNotOfTheRulesIsRefused(t *testing.T) {
	for name, q := range map[string]Request{
		"division": {Division: "Closed"}, "status": {Status: "soon"}, "system_type": {Type: "edge, datacenter"}, "set": {Values: map[string]string{"coolling": "air"}},
	} {
		_, err := Of(machine.Machine{}, machine.Inventory{}, q)
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != name {
			t.Errorf("%+v: %v, want an error about %s", q, err, name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"number_of_nodes": 1, "cooling": "air <b>"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parse(data)
		if err != nil {
			return
		}
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(text)
		if diff := cmp.Diff(d, again); err != nil || diff != "" {
			t.Errorf("a round trip changes it (%v):\n%s", err, diff)
		}
	})
}
