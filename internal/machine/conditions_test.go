package machine

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
)

func TestKernelSettings(t *testing.T) {
	const base = "sys/devices/system/cpu/"
	for name, c := range map[string]struct {
		files files
		want  []string
	}{
		"nothing shown": {files{}, nil},
		"tuned":         {files{base + "cpu0/cpufreq/scaling_governor": "performance", base + "intel_pstate/no_turbo": "1", base + "smt/active": "0", base + "cpufreq/boost": "0"}, nil},
		"as it comes": {files{base + "cpu0/cpufreq/scaling_governor": "powersave", base + "intel_pstate/no_turbo": "0", base + "smt/active": "1"},
			[]string{"the frequency governor is powersave: ", "turbo is on", "SMT is on"}},
		"AMD's turbo": {files{base + "cpufreq/boost": "1"}, []string{"turbo is on"}},
	} {
		if got := kernelSettings(c.files.write(t)); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := highLoad(0.4, 2) + highLoad(5, 0); got != "" {
		t.Errorf("a machine that is nearly idle, and one without a number of processors: %q", got)
	}
	if got := highLoad(3, 2); !strings.HasPrefix(got, "load average 3.0 on 2 CPUs") {
		t.Errorf("a busy machine: %q", got)
	}
}

func TestConditionsDuringARun(t *testing.T) {
	before := Conditions{throttles: 3, stolen: 10, all: 1000}
	for name, c := range map[string]struct {
		after Conditions
		want  string
	}{
		"nothing":                  {Conditions{throttles: 3, stolen: 10.5, all: 1100}, ""},
		"heat":                     {Conditions{throttles: 8, stolen: 10, all: 1100}, "throttled 5 times"},
		"other VMs":                {Conditions{throttles: 3, stolen: 20, all: 1100}, "10 % CPU steal"},
		"no time has passed":       {before, ""},
		"as much as is usual":      {Conditions{throttles: 3, stolen: 12, all: 1100}, ""},
		"counters that began anew": {Conditions{throttles: 1, stolen: 0, all: 10}, ""},
	} {
		if got := strings.Join(before.During(c.after), "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	const count = "sys/devices/system/cpu/cpu%/thermal_throttle/core_throttle_count"
	if n := throttles(files{strings.Replace(count, "%", "0", 1): "4", strings.Replace(count, "%", "1", 1): "4"}.write(t)); n != 8 {
		t.Errorf("throttles() = %d, want 8", n)
	}
	now := CurrentConditions()
	if jump := now.ClockJump(CurrentConditions()); now.all <= 0 || jump != 0 {
		t.Errorf("this machine has %g s of processor time, and a jump: %v", now.all, jump)
	}
}

func TestClockJump(t *testing.T) {
	for _, c := range []struct {
		day, monotonic, want time.Duration
	}{
		{10*time.Minute + time.Second, 10 * time.Minute, 0}, // as time servers correct it
		{10*time.Minute - time.Second, 10 * time.Minute, 0},
		{time.Hour + 10*time.Minute, 10 * time.Minute, time.Hour},
		{13 * time.Second, 11400 * time.Millisecond, 2 * time.Second},
		{-time.Minute, time.Minute, -2 * time.Minute},
	} {
		if got := clockJump(c.day, c.monotonic); got != c.want {
			t.Errorf("%v, monotonic %v: %v, want %v", c.day, c.monotonic, got, c.want)
		}
	}
}

func TestBusyBetween(t *testing.T) {
	for name, c := range map[string]struct {
		more cpu.TimesStat
		want float64
	}{
		"idle":                             {cpu.TimesStat{Idle: 8, Iowait: 2}, 0},
		"half of it":                       {cpu.TimesStat{User: 3, System: 2, Idle: 4, Iowait: 1}, 50},
		"all of it":                        {cpu.TimesStat{User: 1, System: 1, Nice: 1, Irq: 1, Softirq: 1, Steal: 1}, 100},
		"interrupts and steal are work":    {cpu.TimesStat{Irq: 2, Softirq: 1, Steal: 1, Idle: 12}, 25},
		"guests are a part of the user's":  {cpu.TimesStat{User: 5, Guest: 5, Idle: 5}, 50},
		"no time has passed":               {cpu.TimesStat{}, math.NaN()},
		"the wait for disks may turn back": {cpu.TimesStat{User: 5, Iowait: -3}, 100},
	} {
		if got := busyBetween(cpu.TimesStat{}, c.more); math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: %g %%, want %g", name, got, c.want)
		}
	}
}

func TestGauges(t *testing.T) {
	shown := files{
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2000000",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "3000000",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq": "off",
		"sys/class/thermal/thermal_zone0/temp":                 "41000",
		"sys/class/thermal/thermal_zone1/temp":                 "200000", // a sensor that is not connected
		"sys/class/hwmon/hwmon0/name":                          "coretemp",
		"sys/class/hwmon/hwmon0/temp2_input":                   "67500",
		"sys/class/hwmon/hwmon1/name":                          "nvme",
		"sys/class/hwmon/hwmon1/temp1_input":                   "80000", // hotter, but not a processor
	}
	for _, g := range gauges(shown.write(t)) {
		got, want := g.Read(), map[string]float64{"frequency": 2500, "temperature": 67.5}
		if w, fixed := want[g.Name]; fixed && got != w || !fixed && !math.IsNaN(got) && (got < 0 || got > 100) {
			t.Errorf("%s %g %s, want %g", g.Name, got, g.Unit, w)
		}
	}
	for _, g := range gauges(t.TempDir())[1:] {
		if got := g.Read(); !math.IsNaN(got) {
			t.Errorf("%s without files: %g", g.Name, got)
		}
	}
}
