package machine

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/machine/cgroup"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// files is a made-up file system: contents by path, "-> target" for links.
type files map[string]string

func (f files) write(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, text := range f {
		path = filepath.Join(root, path)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, link := strings.CutPrefix(text, "-> "); link {
			testenv.Must(t, os.Symlink(target, path))
		} else {
			testenv.Must(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
		}
	}
	return root
}

func TestDescribeThisMachine(t *testing.T) {
	m := Describe(t.TempDir())
	if m.OS == "" || m.Arch != runtime.GOARCH || m.Disk == nil || m.Disk.TotalBytes == 0 {
		t.Errorf("OS %q, Arch %q, disk %+v", m.OS, m.Arch, m.Disk)
	}
	if m.CPU.Threads < 1 || m.CPU.Affinity < 1 || m.CPU.Usable <= 0 || m.CPU.Usable > float64(m.CPU.Affinity) {
		t.Errorf("CPU is %+v", m.CPU)
	}
	if left := AvailableMemory(); m.Memory.TotalBytes < 1<<26 || m.Memory.AvailableBytes > m.Memory.TotalBytes || left == 0 || left > m.Memory.TotalBytes {
		t.Errorf("Memory is %+v, AvailableMemory() = %d", m.Memory, left)
	}
	text, err := json.Marshal(m)
	testenv.Must(t, err)
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(string(text), host) {
		t.Errorf("the description names the host %s", host)
	}
}

func TestDiskOfAFutureFolder(t *testing.T) {
	dir := t.TempDir()
	now, err := DiskOf(dir)
	if err != nil || now.TotalBytes == 0 || now.FreeBytes > now.TotalBytes {
		t.Fatalf("DiskOf(%s) = %+v, %v", dir, now, err)
	}
	future := filepath.Join(dir, "a", "b")
	if d, err := DiskOf(future); err != nil || d.Path != future || d.TotalBytes != now.TotalBytes {
		t.Errorf("DiskOf(%s) = %+v, %v, want the disk of %s", future, d, err, dir)
	}
}

func TestMemoryLeft(t *testing.T) {
	const v2, v1 = "sys/fs/cgroup/a/", "sys/fs/cgroup/memory/m/"
	for name, c := range map[string]struct {
		files files
		want  uint64
	}{
		"no groups": {files{}, 1 << 40},
		"newer, with a cache": {files{
			"proc/self/cgroup": "0::/a", v2 + "memory.max": "10000000", v2 + "memory.current": "7000000",
			v2 + "memory.stat": "anon 5000000\ninactive_file 2000000\nactive_file 1"}, 5_000_000},
		"limited above": {files{
			"proc/self/cgroup": "0::/a/b", v2 + "b/memory.max": "max", v2 + "b/memory.current": "10", v2 + "memory.max": "5000", v2 + "memory.current": "4000"}, 1000},
		"limited above a group without a use": {files{
			"proc/self/cgroup": "0::/a/b", v2 + "b/memory.max": "9000", v2 + "memory.max": "5000", v2 + "memory.current": "4500"}, 500},
		"older, beyond the limit": {files{"proc/self/cgroup": "4:memory:/m", v1 + "memory.limit_in_bytes": "1000", v1 + "memory.usage_in_bytes": "3000"}, 0},
		"older, with a cache": {files{
			"proc/self/cgroup": "4:memory:/m", v1 + "memory.limit_in_bytes": "1000", v1 + "memory.usage_in_bytes": "900",
			v1 + "memory.stat": "inactive_file 1\ntotal_inactive_file 600"}, 700},
	} {
		root := c.files.write(t)
		if got := cgroup.MemoryLeft(root, 1<<40); got != c.want {
			t.Errorf("%s: %d bytes are available, want %d", name, got, c.want)
		}
		if got := cgroup.MemoryLeft(root, 0); got != 0 {
			t.Errorf("%s: %d bytes are available of a machine without any", name, got)
		}
	}
}

func TestDescribeReadsTheKernelsFiles(t *testing.T) {
	m := describe(files{
		"etc/os-release": "ID=x\nPRETTY_NAME=\"Made Up 7\"",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
		"sys/kernel/mm/transparent_hugepage/enabled":                      "always [madvise] never",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":            "powersave",
		"sys/devices/system/node/node0/x":                                 "",
		"sys/devices/system/node/node1/x":                                 "",
	}.write(t))
	got := []any{m.OS, m.ClockSource, m.Memory.HugePages, m.CPU.Governor, m.CPU.NUMANodes}
	if diff := cmp.Diff([]any{"Made Up 7", "tsc", "madvise", "powersave", 2}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLimitsOfContainers(t *testing.T) {
	for _, test := range []struct {
		name   string
		files  files
		quota  float64
		memory uint64
	}{
		{"no groups", files{}, 0, 0},
		{"newer, no limit", files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "max 100000", "sys/fs/cgroup/a/memory.max": "max"}, 0, 0},
		{"newer, limited", files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "150000 100000", "sys/fs/cgroup/a/memory.max": "1000"}, 1.5, 1000},
		{"newer, limited above", files{
			"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "400000 100000", "sys/fs/cgroup/a/cpu.max": "200000 100000",
			"sys/fs/cgroup/a/b/memory.max": "5000", "sys/fs/cgroup/memory.max": "3000"}, 2, 3000},
		{"newer, path of the host", files{"proc/self/cgroup": "0::/../../docker/x", "sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5, 0},
		{"older", files{
			"proc/self/cgroup":                     "4:memory:/m\n1:cpu,cpuacct:/c\n0::/",
			"sys/fs/cgroup/cpu/c/cpu.cfs_quota_us": "300000", "sys/fs/cgroup/cpu/c/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/memory/m/memory.limit_in_bytes": "2000", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 3, 2000},
		{"older, joint mount", files{
			"proc/self/cgroup":                            "1:cpu,cpuacct:/",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "100000",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "50000"}, 2, 0},
		{"older, no limit", files{
			"proc/self/cgroup": "1:cpu:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 0, 0},
		{"nonsense", files{"proc/self/cgroup": "hello\n0::/a", "sys/fs/cgroup/a/cpu.max": "x y z", "sys/fs/cgroup/a/memory.max": "-5"}, 0, 0},
		{"numbers that no kernel writes", files{
			"proc/self/cgroup": "0::/a/b/c/d", "sys/fs/cgroup/a/b/c/d/cpu.max": "inf 100000", "sys/fs/cgroup/a/b/c/cpu.max": "nan 1", "sys/fs/cgroup/a/b/cpu.max": "5 0",
			"sys/fs/cgroup/a/cpu.max": "", "sys/fs/cgroup/a/memory.max": "1e3"}, 0, 0},
		{"older, a level without a period", files{
			"proc/self/cgroup": "1:cpu:/a/b", "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "900000",
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "400000", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000"}, 4, 0},
		{"a limit of all that the machine has is none", files{"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "1099511627776"}, 0, 0},
		{"hybrid: the newer generation beside the older", files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/unified/a/memory.max": "700"}, 0, 700},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := test.files.write(t)
			if got := cgroup.CPUQuota(root); got != test.quota {
				t.Errorf("CPUQuota = %v, want %v", got, test.quota)
			}
			if c := describeCPU(root); test.quota > 0 && c.Usable != min(test.quota, float64(c.Affinity)) || test.quota == 0 && c.Usable != float64(c.Affinity) {
				t.Errorf("of %d processors %v are usable", c.Affinity, c.Usable)
			}
			if got := cgroup.MemoryLimit(root, 1<<40); got != test.memory {
				t.Errorf("MemoryLimit = %v, want %v", got, test.memory)
			}
		})
	}
}

func TestThreadsLeft(t *testing.T) {
	for _, test := range []struct {
		name  string
		files files
		left  int
		ok    bool
	}{
		{"no groups", files{}, 0, false},
		{"newer, no limit", files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/pids.max": "max", "sys/fs/cgroup/a/pids.current": "9"}, 0, false},
		{"newer, limited", files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/pids.max": "100", "sys/fs/cgroup/a/pids.current": "30"}, 70, true},
		{"newer, limited above", files{
			"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/pids.max": "max", "sys/fs/cgroup/a/b/pids.current": "5",
			"sys/fs/cgroup/a/pids.max": "64", "sys/fs/cgroup/a/pids.current": "60"}, 4, true},
		{"newer, the nearest is the smallest", files{
			"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/pids.max": "7", "sys/fs/cgroup/a/b/pids.current": "5",
			"sys/fs/cgroup/a/pids.max": "64", "sys/fs/cgroup/a/pids.current": "60"}, 2, true},
		{"older", files{"proc/self/cgroup": "3:pids:/m", "sys/fs/cgroup/pids/m/pids.max": "50", "sys/fs/cgroup/pids/m/pids.current": "20"}, 30, true},
		{"beyond the limit", files{"proc/self/cgroup": "0::/", "sys/fs/cgroup/pids.max": "10", "sys/fs/cgroup/pids.current": "12"}, 0, true},
		{"a group above does not tell its threads", files{
			"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/pids.max": "50", "sys/fs/cgroup/a/pids.max": "64", "sys/fs/cgroup/a/pids.current": "60",
			"sys/fs/cgroup/a/b/pids.current": "49"}, 1, true},
		{"nor does the process's own", files{"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/pids.max": "50", "sys/fs/cgroup/a/pids.max": "64", "sys/fs/cgroup/a/pids.current": "60"}, 4, true},
		{"nonsense", files{"proc/self/cgroup": "0::/", "sys/fs/cgroup/pids.max": "many", "sys/fs/cgroup/pids.current": "few"}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if left, ok := cgroup.ThreadsLeft(test.files.write(t)); left != test.left || ok != test.ok {
				t.Errorf("ThreadsLeft = %d, %v, want %d, %v", left, ok, test.left, test.ok)
			}
		})
	}
}

func TestGPUs(t *testing.T) {
	root := files{
		"sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de", "sys/bus/pci/devices/0000:01:00.0/class": "0x030200",
		"sys/bus/pci/devices/0000:01:00.0/device": "0x2335", "sys/bus/pci/devices/0000:01:00.0/driver": "-> ../../../bus/pci/drivers/nvidia",
		"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA H200\nIRQ: 11",
		"proc/driver/nvidia/version":                       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 2024\nGCC version: 12",
		"sys/bus/pci/devices/0000:02:00.0/vendor":          "0x1002", "sys/bus/pci/devices/0000:02:00.0/class": "0x038000",
		"sys/bus/pci/devices/0000:02:00.0/product_name": "AMD Instinct MI300X", "sys/bus/pci/devices/0000:02:00.0/driver": "-> ../drivers/amdgpu",
		"sys/bus/pci/devices/0000:03:00.0/vendor": "0x8086", "sys/bus/pci/devices/0000:03:00.0/class": "0x030000",
		"sys/bus/pci/devices/0000:03:00.0/device": "0x56c0",
		"sys/bus/pci/devices/0000:04:00.0/vendor": "0x1af4", "sys/bus/pci/devices/0000:04:00.0/class": "0x030000", // a virtual screen
		"sys/bus/pci/devices/0000:05:00.0/vendor": "0x10de", "sys/bus/pci/devices/0000:05:00.0/class": "0x040300", // sound
	}.write(t)
	want := []GPU{
		{"NVIDIA H200", "NVIDIA", "0000:01:00.0", "nvidia 550.54.15"},
		{"AMD Instinct MI300X", "AMD", "0000:02:00.0", "amdgpu"},
		{"Intel device 56c0", "Intel", "0000:03:00.0", ""},
	}
	if diff := cmp.Diff(want, gpus(root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProbeTimers(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ProbeTimers(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	testenv.SkipLong(t, "takes 0.4 s")
	timers, err := ProbeTimers(t.Context())
	testenv.Must(t, err)
	if timers.ReadNS <= 0 || timers.StepNS <= 0 || timers.Sleep.Sleeps != sleepCount || runtime.GOOS == "linux" && timers.Nano.Sleeps != sleepCount {
		t.Errorf("%+v", timers)
	}
}

func TestSystemName(t *testing.T) {
	for _, c := range []struct {
		files files
		want  string
	}{
		{files{"etc/os-release": "NAME=x\nPRETTY_NAME='Single Quotes 1'"}, "Single Quotes 1"},
		{files{"etc/os-release": "PRETTY_NAME=\"First\"", "usr/lib/os-release": "PRETTY_NAME=\"Second\""}, "First"},
		{files{"etc/os-release": "ID=x", "usr/lib/os-release": "PRETTY_NAME=Second\r"}, "Second"},
		{files{}, "linux"},
	} {
		if got := systemName(c.files.write(t)); runtime.GOOS == "linux" && got != c.want {
			t.Errorf("%v is %q, want %q", c.files, got, c.want)
		}
	}
}

// The percentile of n values is the one at ⌈p·n⌉, counted from 1.
func TestOversleepPercentiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		late, err := measure(t.Context(), func(d time.Duration) {
			n++
			time.Sleep(d + time.Duration(n)*time.Microsecond) // 1 to 120 µs late
		})
		if want := (Oversleep{MedianNS: 60_000, P99NS: 119_000, MaxNS: 120_000, Sleeps: 120}); err != nil || late != want {
			t.Errorf("oversleep is %+v, %v, want %+v", late, err, want)
		}
	})
}

func TestHasAddress(t *testing.T) {
	hosts := map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.5.4.3": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": true, "::": true,
		"192.0.2.1": false, "2001:db8::1": false, "::ffff:192.0.2.1": false, "": false,
	}
	own, err := net.InterfaceAddrs()
	testenv.Must(t, err)
	for _, a := range own { // also those that others can reach
		ip := a.(*net.IPNet).IP
		hosts[ip.String()] = true
		if ip.To4() != nil {
			hosts["::ffff:"+ip.String()] = true
		}
	}
	for host, want := range hosts {
		if got := HasAddress(t.Context(), host); got != want {
			t.Errorf("HasAddress(%q) = %t", host, got)
		}
	}
}
