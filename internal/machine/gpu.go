package machine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A GPU is a graphics processor or another accelerator on the PCI bus.
type GPU struct {
	Name   string `json:"name"`
	Vendor string `json:"vendor"`           // NVIDIA, AMD, Intel
	PCI    string `json:"pci"`              // address on the bus
	Driver string `json:"driver,omitempty"` // of the kernel, with version where known; empty: none
}

// vendors of accelerators by their PCI number. The screens of virtual machines have others.
var vendors = map[string]string{"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}

// gpus lists accelerators: from what the kernel shows of the PCI bus, and NVIDIA's driver of its cards.
func gpus(root string) []GPU {
	devices, _ := filepath.Glob(filepath.Join(root, "sys/bus/pci/devices/*"))
	slices.Sort(devices)
	var all []GPU
	for _, dir := range devices {
		vendor, class := vendors[line(dir, "vendor")], line(dir, "class")
		if vendor == "" || !strings.HasPrefix(class, "0x03") && !strings.HasPrefix(class, "0x12") { // display controllers and processing accelerators
			continue
		}
		g := GPU{Vendor: vendor, PCI: filepath.Base(dir), Name: line(dir, "product_name")}
		if driver, err := os.Readlink(filepath.Join(dir, "driver")); err == nil {
			g.Driver = filepath.Base(driver)
		}
		if vendor == "NVIDIA" {
			for l := range strings.Lines(line(root, filepath.Join("proc/driver/nvidia/gpus", g.PCI, "information"))) {
				if name, found := strings.CutPrefix(l, "Model:"); found {
					g.Name = strings.TrimSpace(name)
				}
			}
			if m := nvidiaVersion.FindStringSubmatch(line(root, "proc/driver/nvidia/version")); m != nil {
				g.Driver = "nvidia " + m[1]
			}
		}
		if g.Name == "" {
			g.Name = vendor + " device " + strings.TrimPrefix(line(dir, "device"), "0x")
		}
		all = append(all, g)
	}
	return all
}

var nvidiaVersion = regexp.MustCompile(`Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s`)

// An smi is what nvidia-smi tells of the memory of a card.
type smi struct {
	bytes uint64
	ecc   string // Enabled or Disabled; empty: the card has none
}

// smiMemory asks nvidia-smi about the memory of each card, by its address on the bus. Without its answer the map is empty.
func smiMemory(ctx context.Context) map[string]smi {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=pci.bus_id,memory.total,ecc.mode.current", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return nil
	}
	return parseSMI(string(out))
}

// parseSMI reads lines of the form "00000000:3B:00.0, 81559, Enabled": an address with a domain of eight
// digits, MiB, and ECC; the kernel writes four of the digits.
func parseSMI(text string) map[string]smi {
	memory := map[string]smi{}
	for l := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(l), ", ")
		if len(fields) != 3 {
			continue
		}
		address, ecc := fields[0], fields[2]
		mib, err := strconv.ParseUint(fields[1], 10, 32)
		if err != nil {
			continue
		}
		if ecc != "Enabled" && ecc != "Disabled" {
			ecc = ""
		}
		if domain, rest, ok := strings.Cut(address, ":"); ok && len(domain) == 8 {
			address = domain[4:] + ":" + rest
		}
		memory[strings.ToLower(address)] = smi{mib << 20, ecc}
	}
	return memory
}
