package machine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A files map is a made-up file system: contents by path, "-> target" for links.
type files map[string]string

func (f files) write(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, text := range f {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestThisMachineIsDescribed(t *testing.T) {
	m := Describe("")
	if m.OS == "" || m.Arch != runtime.GOARCH || m.Go != runtime.Version() {
		t.Errorf("OS %q, Arch %q, Go %q", m.OS, m.Arch, m.Go)
	}
	if m.CPU.Threads < 1 || m.CPU.Affinity < 1 || m.CPU.Usable <= 0 || m.CPU.Usable > float64(m.CPU.Affinity) {
		t.Errorf("CPU is %+v", m.CPU)
	}
	if m.Memory.TotalBytes < 1<<26 || m.Memory.AvailableBytes > m.Memory.TotalBytes {
		t.Errorf("Memory is %+v", m.Memory)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	var again Machine
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, again); diff != "" {
		t.Errorf("JSON does not survive a round trip (-want +got):\n%s", diff)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(string(text), host) {
		t.Errorf("the description names the host %s", host)
	}
}

func TestTheDiskIsDescribedOnRequest(t *testing.T) {
	if d := Describe("").Disk; d != nil {
		t.Errorf("without a directory, the disk is %+v", d)
	}
	if d := Describe(t.TempDir()).Disk; d == nil || d.TotalBytes == 0 {
		t.Errorf("the disk is %+v", d)
	}
}

func TestMemoryThatIsLeftRespectsTheContainer(t *testing.T) {
	whole := AvailableMemory()
	if whole == 0 || whole > Describe("").Memory.TotalBytes {
		t.Errorf("AvailableMemory() = %d", whole)
	}
	limited := files{
		"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/memory.max": "10000000", "sys/fs/cgroup/a/memory.current": "7000000",
		"sys/fs/cgroup/a/memory.stat": "anon 5000000\ninactive_file 2000000\nactive_file 1",
	}.write(t)
	if got := memoryLeft(limited, 1<<40); got != 5_000_000 {
		t.Errorf("with 5 of 10 MB in use, %d bytes are available, want 5000000", got)
	}
	above := files{
		"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "max", "sys/fs/cgroup/a/b/memory.current": "10",
		"sys/fs/cgroup/a/memory.max": "5000", "sys/fs/cgroup/a/memory.current": "4000",
	}.write(t)
	if got := memoryLeft(above, 1<<40); got != 1000 {
		t.Errorf("with 4000 of 5000 bytes in use in the group above, %d are available, want 1000", got)
	}
	if got := memoryLeft(limited, 77); got != 77 {
		t.Errorf("with 77 bytes left of the machine, %d are available", got)
	}
	gap := files{
		"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "9000", // whose use nobody tells
		"sys/fs/cgroup/a/memory.max": "5000", "sys/fs/cgroup/a/memory.current": "4500",
	}.write(t)
	if got := memoryLeft(gap, 1<<40); got != 500 {
		t.Errorf("with 4500 of 5000 bytes in use above a group that does not tell, %d are available, want 500", got)
	}
	older := files{
		"proc/self/cgroup": "4:memory:/m", "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "1000", "sys/fs/cgroup/memory/m/memory.usage_in_bytes": "3000",
	}.write(t)
	if got := memoryLeft(older, 1<<40); got != 0 {
		t.Errorf("beyond the limit, %d bytes are available, want none", got)
	}
	cached := files{
		"proc/self/cgroup": "4:memory:/m", "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "1000", "sys/fs/cgroup/memory/m/memory.usage_in_bytes": "900",
		"sys/fs/cgroup/memory/m/memory.stat": "inactive_file 1\ntotal_inactive_file 600\ntotal_inactive_file 5 5",
	}.write(t)
	if got := memoryLeft(cached, 1<<40); got != 700 {
		t.Errorf("with 900 of 1000 bytes in use, 600 of them a cache, %d are available, want 700", got)
	}
}

func TestWhatIsNotThereStaysEmpty(t *testing.T) {
	m := describe(t.TempDir())
	if m.ClockSource != "" || m.GPUs != nil || m.CPU.Quota != 0 || m.CPU.NUMANodes != 0 || m.Memory.LimitBytes != 0 || m.Memory.HugePages != "" {
		t.Errorf("of nothing, %+v was found", m)
	}
}

func TestSettingsOfTheKernelAreRead(t *testing.T) {
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

func TestLimitsOfContainersAreFound(t *testing.T) {
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
		{"older, of which a level has no period", files{
			"proc/self/cgroup": "1:cpu:/a/b", "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "900000",
			"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "400000", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000"}, 4, 0},
		{"a limit of all that the machine has is none", files{"proc/self/cgroup": "0::/", "sys/fs/cgroup/memory.max": "1099511627776"}, 0, 0},
		{"hybrid: the newer generation beside the older", files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/unified/a/memory.max": "700"}, 0, 700},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := test.files.write(t)
			if got := cpuQuota(root); got != test.quota {
				t.Errorf("cpuQuota = %v, want %v", got, test.quota)
			}
			if c := describeCPU(root); test.quota > 0 && c.Usable != min(test.quota, float64(c.Affinity)) || test.quota == 0 && c.Usable != float64(c.Affinity) {
				t.Errorf("of %d processors %v are usable", c.Affinity, c.Usable)
			}
			if got := memoryLimit(root, 1<<40); got != test.memory {
				t.Errorf("memoryLimit = %v, want %v", got, test.memory)
			}
		})
	}
}

func TestThreadsThatAreLeftRespectTheContainer(t *testing.T) {
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
			if left, ok := threadsLeft(test.files.write(t)); left != test.left || ok != test.ok {
				t.Errorf("threadsLeft = %d, %v, want %d, %v", left, ok, test.left, test.ok)
			}
		})
	}
}

func TestGPUsAreListed(t *testing.T) {
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

func TestFastInt8NeedsInstructions(t *testing.T) {
	for _, test := range []struct {
		features []string
		want     bool
	}{
		{[]string{"avx", "avx2", "avx512f"}, false}, {[]string{"avx2", "avx_vnni"}, true}, {[]string{"neon"}, false},
		{[]string{"neon", "dotprod"}, true}, {nil, false},
	} {
		if got := (CPU{Features: test.features}).FastInt8(); got != test.want {
			t.Errorf("FastInt8 with %v = %v, want %v", test.features, got, test.want)
		}
	}
}

func TestTheDiskOfAFutureFolderIsFound(t *testing.T) {
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

func TestTimersAreMeasured(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	start := time.Now()
	timers, err := ProbeTimers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	all := []Oversleep{timers.Sleep}
	if runtime.GOOS == "linux" {
		all = append(all, timers.Nano)
	}
	for _, o := range all {
		if o.Sleeps != sleepCount || o.MedianNS < 0 || o.P99NS < o.MedianNS || o.MaxNS < o.P99NS {
			t.Errorf("oversleep is %+v", o)
		}
	}
	if timers.ReadNS <= 0 || timers.StepNS <= 0 {
		t.Errorf("reading takes %v ns in steps of %d", timers.ReadNS, timers.StepNS)
	}
	t.Logf("%+v in %v", timers, took)
}

func TestAProbeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ProbeTimers(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestTheSystemSaysItsName(t *testing.T) {
	for _, c := range []struct {
		files files
		want  string
	}{
		{files{"etc/os-release": "NAME=x\nPRETTY_NAME='Single Quotes 1'"}, "Single Quotes 1"},
		{files{"usr/lib/os-release": "PRETTY_NAME=Plain"}, "Plain"},
		{files{"etc/os-release": "PRETTY_NAME=\"First\"", "usr/lib/os-release": "PRETTY_NAME=\"Second\""}, "First"},
		{files{"etc/os-release": "ID=x", "usr/lib/os-release": "PRETTY_NAME=\"Second\"\r"}, "Second"},
	} {
		if got := systemName(c.files.write(t)); got != c.want {
			t.Errorf("%v is %q, want %q", c.files, got, c.want)
		}
	}
	if got := systemName(t.TempDir()); runtime.GOOS == "linux" && got != "linux" {
		t.Errorf("a system without a name is %q", got)
	}
}

// The kernel's percentile of n values is the one at ⌈p·n⌉, counted from 1.
func TestOversleepsAreOrderStatistics(t *testing.T) {
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

func TestTheHottestPartOfTheProcessorCounts(t *testing.T) {
	root := t.TempDir()
	if _, known := temperature(root); known {
		t.Error("a machine without sensors has a temperature")
	}
	for path, text := range map[string]string{
		"sys/class/thermal/thermal_zone0/temp": "41000\n",
		"sys/class/thermal/thermal_zone1/temp": "200000\n", // not connected
		"sys/class/hwmon/hwmon0/name":          "coretemp\n",
		"sys/class/hwmon/hwmon0/temp2_input":   "67500\n",
		"sys/class/hwmon/hwmon1/name":          "nvme\n",
		"sys/class/hwmon/hwmon1/temp1_input":   "80000\n",
	} {
		full := filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if c, known := temperature(root); !known || c != 67.5 {
		t.Errorf("temperature() = %v, %v, want 67.5 of the processor", c, known)
	}
}
