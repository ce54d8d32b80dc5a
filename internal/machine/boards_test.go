package machine

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestABoardForTheEdgeIsDescribed: an eMMC with its parts, a link without a cable, no PCI, a kernel that says little.
func TestABoardForTheEdgeIsDescribed(t *testing.T) {
	root := files{
		"sys/block/mmcblk0/size":                               "61071360",
		"sys/block/mmcblk0/queue/rotational":                   "0",
		"sys/block/mmcblk0boot0/size":                          "8192",
		"sys/block/mmcblk0boot1/size":                          "8192",
		"sys/block/mmcblk0rpmb/size":                           "8192",
		"sys/block/mmcblk0gp0/size":                            "8192",
		"sys/block/mmcblk1/size":                               "124735488",
		"sys/block/zram0/size":                                 "4000000",
		"sys/block/nbd0/size":                                  "0",
		"sys/class/net/eth0/speed":                             "-1",
		"sys/class/net/eth0/type":                              "1",
		"sys/class/net/eth0/device/uevent":                     "DRIVER=st_gmac\nOF_NAME=ethernet",
		"sys/class/net/docker0/speed":                          "10000", // which stands for no device
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "1800000",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "schedutil",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "600000",
		"sys/class/thermal/thermal_zone0/temp":                 "38461",
		"sys/class/thermal/thermal_zone1/temp":                 "250000", // a sensor that is not connected
		"sys/class/hwmon/hwmon0/name":                          "cpu_thermal",
		"sys/class/hwmon/hwmon0/temp1_input":                   "41000",
		"sys/class/hwmon/hwmon1/name":                          "nvme",
		"sys/class/hwmon/hwmon1/temp1_input":                   "70000", // hotter, and no processor
		"sys/devices/system/cpu/smt/active":                    "0",
		"sys/devices/system/cpu/cpufreq/boost":                 "0",
		"sys/devices/system/cpu/intel_pstate/no_turbo":         "1",
		"sys/devices/system/cpu/cpu1/thermal_throttle/other":   "7",
		"sys/devices/system/cpu/cpu0/cache/index0/type":        "Data",
		"sys/bus/pci/devices/0000:01:00.0/vendor":              "0x10ec",
		"sys/bus/pci/devices/0000:01:00.0/class":               "0x020000",
		"proc/self/cgroup":                                     "0::/",
		"sys/class/dmi/id/not":                                 "there",
	}.write(t)
	want := Inventory{
		MaxMHz: 1800,
		Drives: []Drive{{"mmcblk0", "eMMC or SD card", 61071360 * 512}, {"mmcblk1", "eMMC or SD card", 124735488 * 512}},
		NICs:   []NIC{{Name: "eth0", Driver: "st_gmac", Kind: "Ethernet"}},
	}
	if diff := cmp.Diff(want, inventory(root, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c, known := temperature(root); !known || c != 41 {
		t.Errorf("%g °C, known %v, want the 41 of the processor", c, known)
	}
	if list := settingsOf(root); len(list) != 1 || !strings.HasPrefix(list[0], "the frequency governor is schedutil: ") {
		t.Errorf("settings %q, want the governor alone", list)
	}
	if n := throttles(root); n != 0 {
		t.Errorf("throttled %d times, and nothing counts it", n)
	}
}

// TestADriveWithSeveralPathsIsListedOnce: the kernel shows each path of an NVMe drive, and hides it from lists.
func TestADriveWithSeveralPathsIsListedOnce(t *testing.T) {
	root := files{
		"sys/block/nvme0n1/size": "2000", "sys/block/nvme0n1/hidden": "0",
		"sys/block/nvme0c0n1/size": "2000", "sys/block/nvme0c0n1/hidden": "1",
		"sys/block/nvme0c1n1/size": "2000", "sys/block/nvme0c1n1/hidden": "1",
	}.write(t)
	if diff := cmp.Diff([]Drive{{"nvme0n1", "NVMe SSD", 2000 * 512}}, drives(root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A level is a group of a made-up container: what it limits, or not.
type level struct {
	quota, period     int    // of processor time in µs; 0: no limit
	memory, use, lazy uint64 // limit (0: none), what is in use, and what of it is a cache that nobody needs
	pids, threads     int    // limit (0: none), and those that there are
}

// tree is a machine whose process is in the innermost of some groups, all of which may limit it, and what follows from that
// by the rules of the kernel: the least of all levels.
func tree(random *rand.Rand, older bool) (f files, levels []level) {
	f = files{}
	names := []string{"a.slice", "b.scope", "docker-0123.scope", "x"}[:1+random.IntN(4)]
	group := "/" + path.Join(names...)
	if older {
		f["proc/self/cgroup"] = fmt.Sprintf("9:memory:%[1]s\n8:pids:%[1]s\n7:cpu,cpuacct:%[1]s\n1:name=systemd:%[1]s\n0::%[1]s", group)
	} else {
		f["proc/self/cgroup"] = "0::" + group
	}
	for at := "/"; ; {
		l := level{period: 1000 * (1 + random.IntN(200)), use: uint64(random.IntN(1000)), threads: random.IntN(90)}
		l.lazy = uint64(random.IntN(1200))
		if random.IntN(2) == 0 {
			l.quota = 1 + random.IntN(1_000_000)
		}
		if random.IntN(2) == 0 {
			l.memory = 1 + uint64(random.IntN(2000))
		}
		if random.IntN(2) == 0 {
			l.pids = 1 + random.IntN(100)
		}
		if older {
			l.older(f, at)
		} else {
			l.newer(f, at)
		}
		if levels = append(levels, l); len(levels) > len(names) {
			return f, levels
		}
		at = path.Join(at, names[len(levels)-1])
	}
}

// orMax is a number, or the word that says that there is no limit.
func orMax[N int | uint64](n N, none string) string {
	if n == 0 {
		return none
	}
	return fmt.Sprint(n)
}

func (l level) newer(f files, group string) {
	at := path.Join("sys/fs/cgroup", group)
	maps.Copy(f, files{
		at + "/cpu.max":    fmt.Sprintf("%s %d", orMax(l.quota, "max"), l.period),
		at + "/memory.max": orMax(l.memory, "max"), at + "/memory.current": fmt.Sprint(l.use), at + "/memory.stat": fmt.Sprintf("anon 5\ninactive_file %d\nactive_file 3", l.lazy),
		at + "/pids.max": orMax(l.pids, "max"), at + "/pids.current": fmt.Sprint(l.threads),
	})
}

func (l level) older(f files, group string) {
	cpu, memory, pids := path.Join("sys/fs/cgroup/cpu,cpuacct", group), path.Join("sys/fs/cgroup/memory", group), path.Join("sys/fs/cgroup/pids", group)
	maps.Copy(f, files{
		cpu + "/cpu.cfs_quota_us": orMax(l.quota, "-1"), cpu + "/cpu.cfs_period_us": fmt.Sprint(l.period),
		memory + "/memory.limit_in_bytes": orMax(l.memory, "9223372036854771712"), memory + "/memory.usage_in_bytes": fmt.Sprint(l.use),
		memory + "/memory.stat": fmt.Sprintf("inactive_file 1\ntotal_inactive_file %d", l.lazy),
		pids + "/pids.max":      orMax(l.pids, "max"), pids + "/pids.current": fmt.Sprint(l.threads),
	})
}

// TestTheTightestOfAllGroupsCounts, in both generations, for processors, memory and threads.
func TestTheTightestOfAllGroupsCounts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const total = 1500
	for i := range 40 {
		f, levels := tree(random, i%2 == 0)
		root := f.write(t)
		quota, limit, left, threads, known := math.Inf(1), uint64(0), uint64(total), math.MaxInt, false
		for _, l := range levels {
			if l.quota > 0 {
				quota = min(quota, float64(l.quota)/float64(l.period))
			}
			if l.memory > 0 {
				left = min(left, l.memory-min(l.memory, l.use-min(l.use, l.lazy)))
				if l.memory < total && (limit == 0 || l.memory < limit) {
					limit = l.memory
				}
			}
			if l.pids > 0 {
				threads, known = min(threads, max(0, l.pids-l.threads)), true
			}
		}
		if math.IsInf(quota, 1) {
			quota = 0
		}
		if !known {
			threads = 0
		}
		n, ok := threadsLeft(root)
		got := []any{cpuQuota(root), memoryLimit(root, total), memoryLeft(root, total), n, ok}
		if want := []any{quota, limit, left, threads, known}; !slices.Equal(got, want) {
			t.Errorf("%+v: quota, limit, left, threads and whether they are known: %v, want %v", levels, got, want)
		}
	}
}

// TestTextsOfTheKernelThatSayNothingLimitNothing, whatever is in them.
func TestTextsOfTheKernelThatSayNothingLimitNothing(t *testing.T) {
	for _, text := range []string{"", "max", "max 100000", "-1 100000", "0 100000", "100000", "100000 0", "100000 -5", "NaN 100000", "1 NaN", "Inf 1", "1e308 1e-308", "words and more", "\x00", "5 5 5"} {
		root := files{"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": text, "sys/fs/cgroup/a/memory.max": text, "sys/fs/cgroup/a/memory.current": "10", "sys/fs/cgroup/a/pids.max": text, "sys/fs/cgroup/a/pids.current": "3"}.write(t)
		if q := cpuQuota(root); q != 0 {
			t.Errorf("cpu.max %q is %g processors", text, q)
		}
		if text == "100000" {
			continue // a limit, of other things
		}
		if n := memoryLimit(root, 1<<40); n != 0 {
			t.Errorf("memory.max %q is %d bytes", text, n)
		}
		if n, ok := threadsLeft(root); ok {
			t.Errorf("pids.max %q leaves %d threads", text, n)
		}
	}
	for _, list := range []string{"0::", "::", ":", "5:cpu", "x:cpu:/a\n", "0::../../../..", strings.Repeat("0::/\n", 50)} {
		root := files{"proc/self/cgroup": list}.write(t)
		if q, n := cpuQuota(root), memoryLeft(root, 77); q != 0 || n != 77 {
			t.Errorf("of the groups %q there are %g processors and %d bytes", list, q, n)
		}
	}
}

// TestStolenTimeIsSaidFromTwoPercentOn, and nothing is said of counters that went back.
func TestStolenTimeIsSaidFromTwoPercentOn(t *testing.T) {
	for _, c := range []struct {
		stolen, all float64
		want        string
	}{
		{2, 100, ""}, {2.1, 100, "gave 2 % of"}, {50, 100, "gave 50 % of"}, {100, 100, "gave 100 % of"},
		{0, 100, ""}, {5, 0, ""}, {-5, 100, ""}, {5, -100, ""}, {math.NaN(), 100, ""},
	} {
		before := Conditions{stolen: 7, all: 1000}
		list := before.During(Conditions{stolen: 7 + c.stolen, all: 1000 + c.all})
		if said := strings.Join(list, "\n"); !strings.Contains(said, c.want) || (said == "") != (c.want == "") {
			t.Errorf("%g of %g stolen: %q, want %q", c.stolen, c.all, said, c.want)
		}
	}
	for _, c := range []struct{ before, after uint64 }{{0, 0}, {5, 5}, {5, 3}, {0, 3}, {7, 19}} {
		list := Conditions{throttles: c.before}.During(Conditions{throttles: c.after})
		want := ""
		if c.after > c.before {
			want = "slowed down " + strconv.FormatUint(c.after-c.before, 10) + " times"
		}
		if said := strings.Join(list, "\n"); !strings.Contains(said, want) || (said == "") != (want == "") {
			t.Errorf("throttled %d times, then %d: %q, want %q", c.before, c.after, said, want)
		}
	}
}
