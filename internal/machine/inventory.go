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
)

// An Inventory is what a machine is made of, as far as an ordinary user may read it. Nothing
// in it changes while the machine runs.
type Inventory struct {
	Vendor, Product string // of the machine; empty where the firmware does not tell
	Firmware        string // name and version
	MaxMHz          float64
	Caches          []string // of the first processor, e.g. "L2 2048K"
	Drives          []Drive
	NICs            []NIC
	Accelerators    []Accelerator
}

// A Drive is a disk, or what takes the part of one.
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
	PCI    string // vendor and device, e.g. 15b3:1017; empty: it is no PCI device
}

// An Accelerator is a GPU with what is known of its memory and its way to the host.
type Accelerator struct {
	GPU
	MemoryBytes uint64
	Link        string // e.g. PCIe Gen5 x16
}

// TakeInventory looks at the machine. Where NVIDIA's nvidia-smi is installed, it is asked for
// the memory of cards, which nothing else tells.
func TakeInventory(ctx context.Context) Inventory { return inventory("/", smiMemory(ctx)) }

func inventory(root string, memory map[string]uint64) Inventory {
	i := Inventory{
		Vendor:   line(root, "sys/class/dmi/id/sys_vendor"),
		Product:  line(root, "sys/class/dmi/id/product_name"),
		Firmware: strings.TrimSpace(line(root, "sys/class/dmi/id/bios_vendor") + " " + line(root, "sys/class/dmi/id/bios_version")),
		Caches:   caches(root), Drives: drives(root), NICs: nics(root),
	}
	khz, _ := strconv.ParseFloat(line(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"), 64)
	i.MaxMHz = khz / 1000
	for _, g := range gpus(root) {
		i.Accelerators = append(i.Accelerators, accelerator(root, g, memory))
	}
	return i
}

func caches(root string) []string {
	folders, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu0/cache/index*"))
	slices.Sort(folders)
	var list []string
	for _, dir := range folders {
		kind := map[string]string{"Data": "d", "Instruction": "i"}[line(dir, "type")]
		if level, size := line(dir, "level"), line(dir, "size"); level != "" && size != "" {
			list = append(list, fmt.Sprintf("L%s%s %s", level, kind, size))
		}
	}
	return list
}

// drives lists what can hold data: not loops, RAM disks, maps of other drives, drives that hold no medium, paths to a drive
// that has several (which the kernel hides), or the parts of a card that it boots from.
func drives(root string) []Drive {
	folders, _ := filepath.Glob(filepath.Join(root, "sys/block/*"))
	slices.Sort(folders)
	var list []Drive
	for _, dir := range folders {
		name := filepath.Base(dir)
		sectors, _ := strconv.ParseUint(line(dir, "size"), 10, 64)
		if sectors == 0 || line(dir, "hidden") == "1" || partOfCard.MatchString(name) || slices.ContainsFunc([]string{"loop", "ram", "zram", "dm-", "md", "sr", "fd"}, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		list = append(list, Drive{Name: name, Kind: kindOfDrive(name, line(dir, "queue/rotational")), Bytes: sectors * 512}) // whatever the drive's own sectors are
	}
	return list
}

// partOfCard are names of parts of an eMMC that have a block device of their own, beside that of the card.
var partOfCard = regexp.MustCompile(`^mmcblk\d+(boot\d+|rpmb|gp\d+)$`)

func kindOfDrive(name, rotational string) string {
	switch {
	case strings.HasPrefix(name, "nvme"):
		return "NVMe SSD"
	case strings.HasPrefix(name, "vd"), strings.HasPrefix(name, "xvd"):
		return "virtual disk"
	case strings.HasPrefix(name, "mmcblk"):
		return "eMMC or SD card"
	case rotational == "1":
		return "HDD"
	}
	return "SSD"
}

// nics lists network interfaces that stand for a device.
func nics(root string) []NIC {
	folders, _ := filepath.Glob(filepath.Join(root, "sys/class/net/*/device"))
	slices.Sort(folders)
	var list []NIC
	for _, device := range folders {
		dir := filepath.Dir(device)
		mbit, _ := strconv.Atoi(line(dir, "speed")) // -1 without a cable
		n := NIC{Name: filepath.Base(dir), Mbit: max(0, mbit), Kind: kindOfNIC(dir)}
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

// kindOfNIC is what an interface connects to, by the hardware types of the kernel (if_arp.h).
func kindOfNIC(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "wireless")); err == nil {
		return "802.11"
	}
	return map[string]string{"1": "Ethernet", "32": "InfiniBand"}[line(dir, "type")]
}

func accelerator(root string, g GPU, memory map[string]uint64) Accelerator {
	dir := filepath.Join(root, "sys/bus/pci/devices", g.PCI)
	a := Accelerator{GPU: g, MemoryBytes: memory[strings.ToLower(g.PCI)], Link: link(line(dir, "max_link_speed"), line(dir, "max_link_width"))}
	if vram, err := strconv.ParseUint(line(dir, "mem_info_vram_total"), 10, 64); err == nil { // of amdgpu
		a.MemoryBytes = vram
	}
	return a
}

// generations are those of PCI Express by the gigatransfers per second of a lane.
var generations = map[string]string{"2.5": "1", "5.0": "2", "5": "2", "8.0": "3", "8": "3", "16.0": "4", "16": "4", "32.0": "5", "32": "5", "64.0": "6", "64": "6"}

// link puts the kernel's "16.0 GT/s PCIe" and "16" into the usual words.
func link(speed, width string) string {
	rate, _, _ := strings.Cut(speed, " ")
	if generation := generations[rate]; generation != "" && width != "" && width != "0" {
		return "PCIe Gen" + generation + " x" + width
	}
	return ""
}
