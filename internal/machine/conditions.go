package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/load"
)

// Conditions are what makes a machine slower than it could be, at an instant.
type Conditions struct {
	at        time.Time // with both clocks: that of the day, and the one that stands still while the machine sleeps
	warnings  []string
	throttles uint64 // times that the processor was slowed down since it was started
	stolen    float64
	all       float64 // seconds of processor time, with what is stolen
}

// Look looks at the conditions before a run. It takes a few milliseconds.
func Look() Conditions { return look("/") }

// crowded is the share of the processors that others may want before it is said.
const crowded = 0.2

func look(root string) Conditions {
	c := Conditions{at: time.Now(), throttles: throttles(root), warnings: settingsOf(root)}
	if avg, err := load.Avg(); err == nil {
		c.warnings = append(c.warnings, crowd(avg.Load1, describeCPU(root).Usable)...)
	}
	if times, err := cpu.Times(false); err == nil && len(times) > 0 {
		c.stolen, c.all = times[0].Steal, allTime(times[0])
	}
	return c
}

// settingsOf are the settings of the kernel that matter.
func settingsOf(root string) (list []string) {
	const base = "sys/devices/system/cpu"
	if g := line(root, base+"/cpu0/cpufreq/scaling_governor"); g != "" && g != "performance" {
		list = append(list, fmt.Sprintf("the frequency governor is %s: single queries may wait for the clock to rise; sudo cpupower frequency-set -g performance", g))
	}
	if line(root, base+"/intel_pstate/no_turbo") == "0" || line(root, base+"/cpufreq/boost") == "1" {
		list = append(list, "turbo is on: the clock depends on temperature and on the number of busy cores")
	}
	if line(root, base+"/smt/active") == "1" {
		list = append(list, "SMT is on: two threads share a core, so twice the threads are not twice as fast")
	}
	return list
}

// crowd says that others want the processors.
func crowd(load, usable float64) []string {
	if usable > 0 && load > crowded*usable {
		return []string{fmt.Sprintf("load average %.1f on %.4g CPUs: results may be slower than on an idle machine", load, usable)}
	}
	return nil
}

// throttles counts how often the cores were slowed down because they were too hot.
func throttles(root string) (n uint64) {
	files, _ := filepath.Glob(filepath.Join(root, "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			n += v
		}
	}
	return n
}

// Settings are those of the machine that make its speed vary, each with what helps.
func (c Conditions) Settings() []string { return c.warnings }

// mostStolen is the share of the processor time that a host may give to others.
const mostStolen = 0.02

// During says what happened between two looks: heat, and time that a host gave to others.
func (c Conditions) During(after Conditions) []string {
	var list []string
	if n := after.throttles - c.throttles; after.throttles > c.throttles {
		list = append(list, fmt.Sprintf("the processor throttled %d times because of heat: results are slower than the machine could be", n))
	}
	if all := after.all - c.all; all > 0 && (after.stolen-c.stolen)/all > mostStolen {
		list = append(list, fmt.Sprintf("%.0f %% CPU steal: the hypervisor ran other VMs; latencies and rates suffer and vary", 100*(after.stolen-c.stolen)/all))
	}
	return list
}

// Jumped says that between two looks the clock of the day did not go as the one that times are taken with; empty: it did.
func (c Conditions) Jumped(after Conditions) string {
	return jumped(after.at.Round(0).Sub(c.at.Round(0)), after.at.Sub(c.at))
}

// mostJump is how much a clock may be corrected during a run, as time servers have it done.
const mostJump = time.Second

// jumped says what two clocks that ran differently mean. A machine that sleeps loses time which nothing measures: servers
// elsewhere go on, and its processor cools down.
func jumped(day, taken time.Duration) string {
	switch jump := day - taken; {
	case jump > mostJump:
		return fmt.Sprintf("%v of the run were not measured: this machine slept, or its clock was set", jump.Round(time.Second))
	case jump < -mostJump:
		return fmt.Sprintf("the clock of this machine was set back by %v during the run", (-jump).Round(time.Second))
	}
	return ""
}
