package description

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/machine"
)

func TestSizesAreWrittenAsPeopleWriteThem(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "", 1 << 29: "0.5 GiB", 15<<30 + 1<<29: "15.5 GiB", 251<<30 + 1<<29: "252 GiB", 999 << 30: "999 GiB", 1000 << 30: "1000 GiB", 1511 << 30: "1511 GiB", 4 << 40: "4096 GiB",
	} {
		if got := binary(bytes); got != want {
			t.Errorf("binary(%d) = %q, want %q", bytes, got, want)
		}
	}
	for bytes, want := range map[uint64]string{
		0: "", 512e6: "0.512 GB", 480e9: "480 GB", 999.4e9: "999 GB", 999.6e9: "1 TB", 1e12: "1 TB", 3.84e12: "3.84 TB", 122.88e12: "123 TB", 1536e12: "1536 TB",
	} {
		if got := decimal(bytes); got != want {
			t.Errorf("decimal(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestAMachineIsDescribedByWhatItShows(t *testing.T) {
	gpu := func(name, link string, gib uint64) machine.Accelerator {
		return machine.Accelerator{GPU: machine.GPU{Name: name}, Link: link, MemoryBytes: gib << 30}
	}
	for _, c := range []struct {
		name   string
		change func(m *machine.Machine, i *machine.Inventory)
		field  string
		want   string
	}{
		{"one socket has no interconnect", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Sockets = 1 }, "host_processor_interconnect", "N/A"},
		{"sockets that are not shown are one", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Sockets = 0 }, "host_processors_per_node", "1"},
		{"threads in the place of cores", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Cores = 0 }, "host_processor_core_count", "64"},
		{"fewer cores than sockets", func(m *machine.Machine, _ *machine.Inventory) { m.CPU.Cores = 1 }, "host_processor_core_count", "1"},
		{"a frequency that only the CPU shows", func(_ *machine.Machine, i *machine.Inventory) { i.MaxMHz = 0 }, "host_processor_frequency", "2 GHz"},
		{"no frequency", func(m *machine.Machine, i *machine.Inventory) { m.CPU.MHz, i.MaxMHz = 0, 0 }, "host_processor_frequency", ""},
		{"drives of two kinds", func(_ *machine.Machine, i *machine.Inventory) {
			i.Drives = append(i.Drives, machine.Drive{Kind: "HDD", Bytes: 1e12})
		}, "host_storage_type", "NVMe SSD, HDD"},
		{"network cards of two speeds", func(_ *machine.Machine, i *machine.Inventory) {
			i.NICs = []machine.NIC{{Mbit: 100000}, {Mbit: 2500}, {Mbit: 100000}}
		}, "host_network_card_count", "1 x 2.5 Gb/s Ethernet, 2 x 100 Gb/s Ethernet"},
		{"network cards that show no speed", func(_ *machine.Machine, i *machine.Inventory) { i.NICs = []machine.NIC{{}, {}} }, "host_networking", "FILL IN: e.g. 2 x 100 Gb/s Ethernet"},
		{"a limit of memory", func(m *machine.Machine, _ *machine.Inventory) {
			m.Virtualization, m.CPU.Usable, m.Memory.LimitBytes = "", 0, 8<<30
		}, "hw_notes", "memory limited to 8 GiB"},
		{"all of the machine", func(m *machine.Machine, _ *machine.Inventory) { m.Virtualization, m.CPU.Usable = "", 128 }, "hw_notes", ""},
		{"one accelerator", func(_ *machine.Machine, i *machine.Inventory) { i.Accelerators = i.Accelerators[:1] }, "accelerator_interconnect", "N/A"},
		{"accelerators of two kinds", func(_ *machine.Machine, i *machine.Inventory) {
			i.Accelerators = []machine.Accelerator{gpu("A", "x16", 80), gpu("B", "", 80), gpu("A", "x8", 80)}
		}, "accelerator_model_name", "A, B"},
		{"links of two kinds", func(_ *machine.Machine, i *machine.Inventory) {
			i.Accelerators = []machine.Accelerator{gpu("A", "x16", 80), gpu("B", "", 80), gpu("A", "x8", 80)}
		}, "accelerator_host_interconnect", "x16, x8"},
		{"memories of two sizes", func(_ *machine.Machine, i *machine.Inventory) {
			i.Accelerators = []machine.Accelerator{gpu("A", "", 80), gpu("B", "", 40)}
		}, "accelerator_memory_capacity", "FILL IN: of one accelerator, e.g. 80 GB; N/A for none"},
		{"no kernel", func(m *machine.Machine, _ *machine.Inventory) { m.Kernel = "" }, "other_software_stack", "driver nvidia 570.1, go1.26"},
	} {
		m, i := board()
		c.change(&m, &i)
		if d := describe(t, m, i, Request{}); d[c.field] != c.want {
			t.Errorf("%s: %s is %q, want %q", c.name, c.field, d[c.field], c.want)
		}
	}
	m, i := board()
	m.CPU.Governor, i.Firmware = "performance", "1.2"
	d := describe(t, m, i, Request{Power: true})
	if d["power_management"] != "governor performance" || d["boot_firmware_version"] != "1.2" {
		t.Errorf("of power: %q, %q", d["power_management"], d["boot_firmware_version"])
	}
	if _, there := describe(t, m, i, Request{})["power_management"]; there {
		t.Error("a system without measured power has fields of power")
	}
}

func TestADescriptionIsReadFromAnyJSONObject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.json")
	for text, want := range map[string]string{
		`{"a": "x", "b": 2, "c": null, "d": [1], "e": true}`: "",
		`[]`:       "cannot unmarshal array",
		`{"a": `:   "unexpected end of JSON input",
		"\ufeff{}": "invalid character",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := Read(path)
		switch {
		case want == "" && (err != nil || d["a"] != "x" || d["b"] != "2" || d["c"] != "" || d["d"] != "[1]" || d["e"] != "true"):
			t.Errorf("%s is read as %v, %v", text, d, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is read")
	}
}
