package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/mlperf-go/mlperf/internal/machine/cgroup"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Machine describes the machine on which this program runs.
type Machine struct {
	OS             string  `json:"os"`                       // as the system calls itself, e.g. Debian GNU/Linux 12 (bookworm)
	Kernel         string  `json:"kernel,omitempty"`         // version
	Arch           string  `json:"arch"`                     // in Go's words, e.g. amd64
	Virtualization string  `json:"virtualization,omitempty"` // what it is a guest of, e.g. kvm
	Go             string  `json:"go"`                       // version that built this program
	ClockSource    string  `json:"clock_source,omitempty"`   // of the kernel, e.g. tsc
	Load1          float64 `json:"load_1min"`                // load average of the last minute

	CPU    CPU    `json:"cpu"`
	Memory Memory `json:"memory"`
	GPUs   []GPU  `json:"gpus,omitempty"`
	// Supply is what a machine with a battery runs on.
	Supply *Supply `json:"power_supply,omitempty"`
	Disk   *Disk   `json:"disk,omitempty"` // of the directory asked about
}

// Memory is this machine's main memory.
type Memory struct {
	TotalBytes     uint64 `json:"total_bytes"`
	AvailableBytes uint64 `json:"available_bytes"`       // without pushing anything out
	LimitBytes     uint64 `json:"limit_bytes,omitempty"` // of the container; 0: no limit
	HugePages      string `json:"huge_pages,omitempty"`  // transparent ones: always, madvise or never
}

// Describe describes this machine, and the disk of dir, which need not exist yet; "": no disk. It takes a few
// milliseconds.
func Describe(dir string) Machine {
	m := describe("/")
	if dir == "" {
		return m
	}
	if d, err := DiskOf(dir); err == nil {
		m.Disk = &d
	}
	return m
}

// AvailableMemory returns how many bytes this process may still take without pushing anything out, of the
// machine's memory and of the container's limit; 0: not known.
func AvailableMemory() uint64 {
	v, err := mem.VirtualMemory()
	if err != nil {
		return 0
	}
	return cgroup.MemoryLeft("/", v.Available)
}

// describe takes the root of the file system, for tests. The values of gopsutil and of system
// calls are those of the real machine.
func describe(root string) Machine {
	m := Machine{OS: systemName(root), Arch: runtime.GOARCH, Go: runtime.Version(), CPU: describeCPU(root), GPUs: gpus(root), Supply: powerSupply(root)}
	m.Kernel, _ = host.KernelVersion()
	if system, role, err := host.Virtualization(); err == nil && role == "guest" {
		m.Virtualization = system
	}
	m.ClockSource = line(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	if l, err := load.Avg(); err == nil {
		m.Load1 = l.Load1
	}
	if v, err := mem.VirtualMemory(); err == nil {
		m.Memory = Memory{TotalBytes: v.Total, AvailableBytes: v.Available}
	}
	m.Memory.LimitBytes = cgroup.MemoryLimit(root, m.Memory.TotalBytes)
	_, setting, _ := strings.Cut(line(root, "sys/kernel/mm/transparent_hugepage/enabled"), "[") // "always [madvise] never"
	m.Memory.HugePages, _, _ = strings.Cut(setting, "]")
	userinput.Lines(&m)
	return m
}

// systemName is the system's own name for itself. On Linux it comes from os-release; gopsutil would
// call lsb_release for it.
func systemName(root string) string {
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		text, _ := os.ReadFile(filepath.Join(root, file))
		for line := range strings.Lines(string(text)) {
			if name, found := strings.CutPrefix(line, "PRETTY_NAME="); found {
				return strings.Trim(strings.TrimSpace(name), `"'`)
			}
		}
	}
	if platform, _, version, err := host.PlatformInformation(); err == nil && runtime.GOOS != "linux" {
		return strings.TrimSpace(platform + " " + version)
	}
	return runtime.GOOS
}

// line reads a file of one line; empty: it cannot be read.
func line(root, path string) string {
	text, _ := os.ReadFile(filepath.Join(root, path))
	return strings.TrimSpace(string(text))
}

// A Disk is the file system that a directory is on.
type Disk struct {
	Path       string `json:"path"` // that was asked for
	Type       string `json:"type,omitempty"`
	TotalBytes uint64 `json:"total_bytes"`
	FreeBytes  uint64 `json:"free_bytes"` // for this user
}

// FreeDisk is the space that is left where a folder is or would be; 0 if that is not known.
func FreeDisk(dir string) uint64 {
	d, err := DiskOf(dir)
	if err != nil {
		return 0
	}
	return d.FreeBytes
}

// DiskOf returns the file system of a directory, which need not exist yet: then that of the
// nearest one above it that does.
func DiskOf(dir string) (Disk, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Disk{}, fmt.Errorf("free space of %s: %w", dir, err)
	}
	for existing := abs; ; existing = filepath.Dir(existing) {
		_, err := os.Stat(existing)
		if err != nil && existing != filepath.Dir(existing) {
			continue
		}
		use, err := disk.Usage(existing)
		if err != nil {
			return Disk{}, fmt.Errorf("free space of %s: %w", dir, err)
		}
		return Disk{Path: abs, Type: use.Fstype, TotalBytes: use.Total, FreeBytes: use.Free}, nil
	}
}
