package machine

import (
	"path/filepath"
	"runtime"
	"slices"

	"github.com/shirou/gopsutil/v4/cpu"
	sysfeatures "golang.org/x/sys/cpu"

	"github.com/mlperf-go/mlperf/internal/machine/cgroup"
)

// A CPU describes the processors of a machine.
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
	Quota    float64 `json:"quota,omitempty"` // processors' worth of time for the container; 0: no limit
	Usable   float64 `json:"usable"`          // the smaller of the two
}

func describeCPU(root string) CPU {
	c := CPU{Threads: runtime.NumCPU(), Affinity: runtime.NumCPU(), Quota: cgroup.CPUQuota(root)}
	var flags []string // of the kernel, for what package cpu does not report
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		sockets := map[string]bool{}
		for _, i := range info {
			sockets[i.PhysicalID] = true
		}
		c.Model, c.MHz, c.Sockets, flags = info[0].ModelName, info[0].Mhz, len(sockets), info[0].Flags
	}
	if n, err := cpu.Counts(false); err == nil {
		c.Cores = n
	}
	if n, err := cpu.Counts(true); err == nil && n > 0 {
		c.Threads = n
	}
	// The instruction sets for which inference engines have kernels, in a fixed order.
	x86, arm := &sysfeatures.X86, &sysfeatures.ARM64
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
			c.Features = append(c.Features, f.name)
		}
	}
	c.Governor = line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	nodes, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/node/node[0-9]*"))
	c.NUMANodes = len(nodes)
	c.Usable = float64(c.Affinity)
	if c.Quota > 0 {
		c.Usable = min(c.Usable, c.Quota)
	}
	return c
}

// FastInt8 reports whether this machine's processor multiplies 8-bit integers quickly.
func FastInt8() bool { return describeCPU("/").FastInt8() }

// FastInt8 reports whether the processor multiplies 8-bit integers faster than floats. Otherwise a quantised model
// gains little.
func (c CPU) FastInt8() bool {
	return slices.ContainsFunc(c.Features, func(f string) bool {
		return slices.Contains([]string{"avx_vnni", "avx512_vnni", "amx_int8", "dotprod", "i8mm"}, f)
	})
}
