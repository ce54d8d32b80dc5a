package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An Inventory lists the parts of a machine, as far as an ordinary user may read them. It does
// not change while the machine runs.
type Inventory struct {
	Vendor, Product string // of the machine; empty where the firmware does not tell
	Firmware        string // name and version
	MaxMHz          float64
	ECC             bool     // the memory controllers correct errors; false where they do not tell
	Caches          []string // of the first processor, e.g. "L2 2048K"
	Drives          []Drive
	NICs            []NIC
	Accelerators    []Accelerator
}

// A Drive is a disk of any kind.
type Drive struct {
	Name  string
	Kind  string // NVMe SSD, SSD, HDD or virtual disk
	Bytes uint64
}

// A NIC is a network card, or a port of one.
type NIC struct {
	Name   string
	Driver string
	Mbit   int    // 0: not known, or no cable
	Kind   string // Ethernet, 802.11 or InfiniBand; empty: another
	PCI    string // vendor and device, e.g. 15b3:1017; empty: not a PCI device
}

// An Accelerator is a GPU with its memory and its link to the host.
type Accelerator struct {
	GPU
	MemoryBytes uint64
	ECC         string // of the memory: Enabled or Disabled; empty: not known
	Link        string // e.g. PCIe Gen5 x16
}

// TakeInventory lists the parts of this machine. The memory of NVIDIA's cards comes from nvidia-smi, if that is installed.
func TakeInventory(ctx context.Context) Inventory { return inventory("/", smiMemory(ctx)) }

func inventory(root string, memory map[string]smi) Inventory {
	i := Inventory{
		Vendor:   line(root, "sys/class/dmi/id/sys_vendor"),
		Product:  line(root, "sys/class/dmi/id/product_name"),
		Firmware: strings.TrimSpace(line(root, "sys/class/dmi/id/bios_vendor") + " " + line(root, "sys/class/dmi/id/bios_version")),
		Drives:   drives(root), NICs: nics(root),
	}
	khz, _ := strconv.ParseFloat(line(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"), 64)
	i.MaxMHz = khz / 1000

	for _, modules := range []string{"dimm*", "rank*"} { // the kernel's EDAC drivers have one or the other
		modes, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/edac/mc/mc*", modules, "dimm_edac_mode"))
		for _, mode := range modes { // SECDED, S4ECD4ED and so on; None, Unknown and EC correct nothing
			i.ECC = i.ECC || strings.Contains(line("", mode), "ECD")
		}
	}

	caches, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu0/cache/index*"))
	slices.Sort(caches)
	for _, dir := range caches {
		kind := map[string]string{"Data": "d", "Instruction": "i"}[line(dir, "type")]
		if level, size := line(dir, "level"), line(dir, "size"); level != "" && size != "" {
			i.Caches = append(i.Caches, fmt.Sprintf("L%s%s %s", level, kind, size))
		}
	}

	for _, g := range gpus(root) {
		dir := filepath.Join(root, "sys/bus/pci/devices", g.PCI)
		told := memory[strings.ToLower(g.PCI)]
		a := Accelerator{GPU: g, MemoryBytes: told.bytes, ECC: told.ecc}
		if vram, err := strconv.ParseUint(line(dir, "mem_info_vram_total"), 10, 64); err == nil { // of amdgpu
			a.MemoryBytes = vram
		}
		speed, _, _ := strings.Cut(line(dir, "max_link_speed"), " ") // "16.0 GT/s PCIe", or "Unknown"
		rate, _ := strconv.ParseFloat(speed, 64)
		if width := line(dir, "max_link_width"); generations[rate] != 0 && width != "" && width != "0" {
			a.Link = fmt.Sprintf("PCIe Gen%d x%s", generations[rate], width)
		}
		i.Accelerators = append(i.Accelerators, a)
	}
	userinput.Lines(&i)
	return i
}

// generations are those of PCI Express by the gigatransfers per second of a lane.
var generations = map[float64]int{2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}

// noDrives are the beginnings of the names of loops, RAM disks, maps of other drives, and removable media.
var noDrives = regexp.MustCompile(`^(loop|ram|zram|dm-|md|sr|fd)`)

// partOfCard are names of parts of an eMMC that have a block device of their own, beside that of the card.
var partOfCard = regexp.MustCompile(`^mmcblk\d+(boot\d+|rpmb|gp\d+)$`)

// drives lists the drives that hold data, without empty ones, and without the single paths to a drive
// that has several, which the kernel hides.
func drives(root string) []Drive {
	folders, _ := filepath.Glob(filepath.Join(root, "sys/block/*"))
	slices.Sort(folders)
	var list []Drive
	for _, dir := range folders {
		name := filepath.Base(dir)
		sectors, _ := strconv.ParseUint(line(dir, "size"), 10, 64) // of 512 bytes, whatever the drive's own are
		if sectors == 0 || line(dir, "hidden") == "1" || partOfCard.MatchString(name) || noDrives.MatchString(name) {
			continue
		}
		kind := "SSD"
		switch {
		case strings.HasPrefix(name, "nvme"):
			kind = "NVMe SSD"
		case strings.HasPrefix(name, "vd"), strings.HasPrefix(name, "xvd"):
			kind = "virtual disk"
		case strings.HasPrefix(name, "mmcblk"):
			kind = "eMMC or SD card"
		case line(dir, "queue/rotational") == "1":
			kind = "HDD"
		}
		list = append(list, Drive{Name: name, Kind: kind, Bytes: sectors * 512})
	}
	return list
}

// nics lists network interfaces that stand for a device.
func nics(root string) []NIC {
	folders, _ := filepath.Glob(filepath.Join(root, "sys/class/net/*/device"))
	slices.Sort(folders)
	var list []NIC
	for _, device := range folders {
		dir := filepath.Dir(device)
		mbit, _ := strconv.Atoi(line(dir, "speed")) // -1 without a cable
		// The hardware types of the kernel (if_arp.h).
		n := NIC{Name: filepath.Base(dir), Mbit: max(0, mbit), Kind: map[string]string{"1": "Ethernet", "32": "InfiniBand"}[line(dir, "type")]}
		if _, err := os.Stat(filepath.Join(dir, "wireless")); err == nil {
			n.Kind = "802.11"
		}
		for l := range strings.Lines(line(device, "uevent")) {
			switch key, value, _ := strings.Cut(strings.TrimSpace(l), "="); key {
			case "DRIVER":
				n.Driver = value
			case "PCI_ID":
				n.PCI = strings.ToLower(value)
			}
		}
		list = append(list, n)
	}
	return list
}
