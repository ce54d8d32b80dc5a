package machine

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"
)

// Conditions are the causes, at an instant, for a machine to be slower than it could be.
type Conditions struct {
	at        time.Time // with the clock of the day, and the monotonic one, which stands still while the machine sleeps
	settings  []string
	throttles uint64 // times that the processor was slowed down since the start of the machine
	stolen    float64
	all       float64 // seconds of processor time, with the stolen ones
}

// CurrentConditions reads the conditions of this machine. It takes a few milliseconds.
func CurrentConditions() Conditions {
	c := Conditions{at: time.Now(), throttles: throttles("/"), settings: kernelSettings("/")}
	if avg, err := load.Avg(); err == nil {
		if warning := highLoad(avg.Load1, describeCPU("/").Usable); warning != "" {
			c.settings = append(c.settings, warning)
		}
	}
	if times, err := cpu.Times(false); err == nil && len(times) > 0 {
		c.stolen, c.all = times[0].Steal, allTime(times[0])
	}
	return c
}

// kernelSettings are the settings of the kernel that make the machine slower or its speed vary.
func kernelSettings(root string) (list []string) {
	const base = "sys/devices/system/cpu"
	if g := line(root, base+"/cpu0/cpufreq/scaling_governor"); g != "" && g != "performance" {
		list = append(list, fmt.Sprintf(
			"the frequency governor is %s: single queries may wait for the clock to rise; sudo cpupower frequency-set -g performance", g))
	}
	if line(root, base+"/intel_pstate/no_turbo") == "0" || line(root, base+"/cpufreq/boost") == "1" {
		list = append(list, "turbo is on: the clock depends on temperature and on the number of busy cores")
	}
	if line(root, base+"/smt/active") == "1" {
		list = append(list, "SMT is on: two threads share a core, so twice the threads are not twice as fast")
	}
	return list
}

// highLoad warns of other programs that use more than a fifth of the processors.
func highLoad(load, usable float64) string {
	if usable > 0 && load > usable/5 {
		return fmt.Sprintf("load average %.1f on %.4g CPUs: results may be slower than on an idle machine", load, usable)
	}
	return ""
}

// throttles counts how often the cores were slowed down because they were too hot.
func throttles(root string) (n uint64) {
	files, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"))
	for _, f := range files {
		if v, err := strconv.ParseUint(line("", f), 10, 64); err == nil {
			n += v
		}
	}
	return n
}

// Settings are the settings and the load of the machine that make its speed vary, each with its remedy.
func (c Conditions) Settings() []string { return c.settings }

// mostStolen is the share of the processor time that a hypervisor may give to other VMs without a warning.
const mostStolen = 0.02

// During lists the events from c to after: heat, and time that the hypervisor gave to other VMs.
func (c Conditions) During(after Conditions) []string {
	var list []string
	if n := after.throttles - c.throttles; after.throttles > c.throttles {
		list = append(list, fmt.Sprintf("the processor throttled %d times because of heat: results are slower than the machine could be", n))
	}
	if all := after.all - c.all; all > 0 && (after.stolen-c.stolen)/all > mostStolen {
		list = append(list, fmt.Sprintf("%.0f %% CPU steal: the hypervisor ran other VMs; latencies and rates suffer and vary",
			100*(after.stolen-c.stolen)/all))
	}
	return list
}

// ClockJump is how much more time went by from c to after on the clock of the day than on the monotonic one: the machine slept, or its
// clock was set. Less than 0: it was set back. 0: no more than time servers correct.
func (c Conditions) ClockJump(after Conditions) time.Duration {
	return clockJump(after.at.Round(0).Sub(c.at.Round(0)), after.at.Sub(c.at))
}

// mostJump is how much time servers may correct a clock during a run.
const mostJump = time.Second

// clockJump compares two clocks. A machine that sleeps loses time which nothing measures: servers
// elsewhere go on, and its processor cools down.
func clockJump(day, monotonic time.Duration) time.Duration {
	jump := day - monotonic
	if jump.Abs() <= mostJump {
		return 0
	}
	return jump.Round(time.Second)
}
