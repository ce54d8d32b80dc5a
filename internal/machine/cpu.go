package machine

import (
	"math"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	sysfeatures "golang.org/x/sys/cpu"
)

// A CPU is what there is to compute with.
type CPU struct {
	Model     string   `json:"model"`
	Sockets   int      `json:"sockets,omitempty"`
	Cores     int      `json:"cores,omitempty"` // physical
	Threads   int      `json:"threads"`         // logical processors of the machine
	NUMANodes int      `json:"numa_nodes,omitempty"`
	MHz       float64  `json:"mhz,omitempty"`      // nominal or current, as the system tells
	Governor  string   `json:"governor,omitempty"` // of the frequency, e.g. performance
	Features  []string `json:"features,omitempty"` // instruction sets that matter to inference

	Affinity int     `json:"affinity"`        // logical processors that this process may use
	Quota    float64 `json:"quota,omitempty"` // processors' worth of time that the container may use; 0: no limit
	Usable   float64 `json:"usable"`          // the smaller of the two
}

// identify finds the model and the number of its sockets. It returns its flags.
func (c *CPU) identify() []string {
	info, err := cpu.Info()
	if err != nil || len(info) == 0 {
		return nil
	}
	sockets := map[string]bool{}
	for _, i := range info {
		sockets[i.PhysicalID] = true
	}
	c.Model, c.MHz, c.Sockets = info[0].ModelName, info[0].Mhz, len(sockets)
	return info[0].Flags
}

func describeCPU(root string) CPU {
	c := CPU{Threads: runtime.NumCPU(), Affinity: runtime.NumCPU(), Quota: cpuQuota(root)}
	flags := c.identify()
	if n, err := cpu.Counts(false); err == nil {
		c.Cores = n
	}
	if n, err := cpu.Counts(true); err == nil && n > 0 {
		c.Threads = n
	}
	c.Features = features(flags)
	c.Governor = line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	nodes, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/node/node[0-9]*"))
	c.NUMANodes = len(nodes)
	c.Usable = float64(c.Affinity)
	if c.Quota > 0 {
		c.Usable = min(c.Usable, c.Quota)
	}
	return c
}

// features lists the instruction sets that inference engines have kernels for, in a fixed order.
// flags is the kernel's list, for what package cpu does not report.
func features(flags []string) []string {
	x86, arm := &sysfeatures.X86, &sysfeatures.ARM64
	var names []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx", x86.HasAVX}, {"f16c", x86.HasF16C}, {"fma", x86.HasFMA}, {"avx2", x86.HasAVX2}, {"avx_vnni", x86.HasAVXVNNI},
		{"avx512f", x86.HasAVX512F}, {"avx512bw", x86.HasAVX512BW}, {"avx512vl", x86.HasAVX512VL}, {"avx512_vnni", x86.HasAVX512VNNI},
		{"avx512_bf16", x86.HasAVX512BF16}, {"avx512_fp16", slices.Contains(flags, "avx512_fp16")},
		{"amx_tile", x86.HasAMXTile}, {"amx_int8", x86.HasAMXInt8}, {"amx_bf16", x86.HasAMXBF16},
		{"amx_fp16", slices.Contains(flags, "amx_fp16")},

		{"neon", arm.HasASIMD}, {"fp16", arm.HasASIMDHP}, {"dotprod", arm.HasASIMDDP}, {"i8mm", arm.HasI8MM},
		{"bf16", runtime.GOARCH == "arm64" && slices.Contains(flags, "bf16")}, {"sve", arm.HasSVE}, {"sve2", arm.HasSVE2},
	} {
		if f.has {
			names = append(names, f.name)
		}
	}
	return names
}

// FastInt8 reports whether this machine's processor multiplies 8-bit integers quickly.
func FastInt8() bool { return describeCPU("/").FastInt8() }

// FastInt8 reports whether the processor multiplies 8-bit integers faster than floats: without such
// instructions a quantised model gains little.
func (c CPU) FastInt8() bool {
	return slices.ContainsFunc(c.Features, func(f string) bool {
		return slices.Contains([]string{"avx_vnni", "avx512_vnni", "amx_int8", "dotprod", "i8mm"}, f)
	})
}

// A container limits what a process may use by control groups. There are two generations of them,
// often mounted side by side, and a limit may sit at any level above the process.

// controller has its own files in the groups of the older generation and of the newer. Those of a list that
// have the same place say the same.
type controller struct {
	name         string
	older, newer []string
}

// groups returns the contents of a controller's files in this process's group and in all groups above it: of
// the older generation if that has the controller, else of the newer. A file that is not there is empty.
func (c controller) groups(root string) (list [][]string, isOlder bool) {
	for _, text := range strings.Split(line(root, "proc/self/cgroup"), "\n") {
		fields := strings.SplitN(text, ":", 3)
		if len(fields) != 3 {
			continue
		}
		names, group := strings.Split(fields[1], ","), fields[2]
		switch {
		case fields[0] == "0" && fields[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				list = append(list, climb(filepath.Join(root, mount), group, c.newer)...)
			}
		case slices.Contains(names, c.name):
			for _, mount := range []string{c.name, fields[1]} {
				if found := climb(filepath.Join(root, "sys/fs/cgroup", mount), group, c.older); found != nil {
					return found, true
				}
			}
		}
	}
	return list, false
}

// climb reads files in a group and in all above it. In a container the path may be that of the
// host, and only its end, or nothing of it, be mounted; so what is missing is skipped.
func climb(mount, group string, files []string) (list [][]string) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		texts := make([]string, len(files))
		for i, file := range files {
			texts[i] = line(mount, filepath.Join(group, file))
		}
		if slices.ContainsFunc(texts, func(text string) bool { return text != "" }) {
			list = append(list, texts)
		}
		if group == "/" {
			return list
		}
	}
}

// cpuQuota returns how many processors' worth of time the groups allow; 0 if they do not limit it.
func cpuQuota(root string) float64 {
	cpu := controller{"cpu", []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, []string{"cpu.max"}}
	groups, _ := cpu.groups(root)
	smallest := 0.0
	for _, texts := range groups {
		if n := processorsWorth(strings.Join(texts, " ")); n > 0 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// processorsWorth divides a quota by its period; 0 if it is no limit, which is written as max or -1.
func processorsWorth(text string) float64 {
	quota, period, _ := strings.Cut(text, " ")
	q, errQ := strconv.ParseFloat(quota, 64)
	p, errP := strconv.ParseFloat(period, 64)
	if errQ != nil || errP != nil || !(q > 0) || !(p > 0) || math.IsInf(q/p, 0) {
		return 0
	}
	return q / p
}

// memoryFiles are the limit of a group, what is in use in it, and of what.
var memoryFiles = controller{
	"memory", []string{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"}, []string{"memory.max", "memory.current", "memory.stat"},
}

// memoryLimit returns the smallest limit of the groups; 0 if none is below the machine's memory.
func memoryLimit(root string, total uint64) uint64 {
	groups, _ := memoryFiles.groups(root)
	smallest := uint64(0)
	for _, texts := range groups {
		n, err := strconv.ParseUint(texts[0], 10, 64) // "max" is no limit
		if err == nil && n < total && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// memoryLeft returns what the groups leave of the available memory: of each its limit less what is
// in use in it and cannot be given back at once (the inactive part of the file cache can).
func memoryLeft(root string, available uint64) uint64 {
	groups, isOlder := memoryFiles.groups(root)
	inactive := "inactive_file"
	if isOlder {
		inactive = "total_inactive_file"
	}
	for _, texts := range groups {
		limit, errLimit := strconv.ParseUint(texts[0], 10, 64)
		use, errUse := strconv.ParseUint(texts[1], 10, 64)
		if errLimit != nil || errUse != nil {
			continue
		}
		use -= min(use, statistic(texts[2], inactive))
		available = min(available, limit-min(use, limit))
	}
	return available
}

// FreeThreads returns how many threads this process may still start as far as control groups limit
// their number; ok is false if none does.
func FreeThreads() (left int, ok bool) { return threadsLeft("/") }

// threadsLeft returns the smallest difference between the threads that a group may have and those
// that it has, which include those of the groups below.
func threadsLeft(root string) (left int, ok bool) {
	files := []string{"pids.max", "pids.current"}
	groups, _ := controller{"pids", files, files}.groups(root)
	for _, texts := range groups {
		limit, errLimit := strconv.Atoi(texts[0]) // "max" is no limit
		use, errUse := strconv.Atoi(texts[1])
		if errLimit != nil || errUse != nil {
			continue
		}
		if n := max(0, limit-use); !ok || n < left {
			left, ok = n, true
		}
	}
	return left, ok
}

// statistic takes a number by name out of a list of names and numbers.
func statistic(list, name string) uint64 {
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, _ := strconv.ParseUint(fields[1], 10, 64)
			return n
		}
	}
	return 0
}
