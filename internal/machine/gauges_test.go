package machine

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/shirou/gopsutil/v4/cpu"
)

func TestTimeThatIsNotIdleIsBusy(t *testing.T) {
	at := cpu.TimesStat{User: 100, System: 50, Idle: 1000, Nice: 7, Iowait: 3, Irq: 1, Softirq: 2, Steal: 4, Guest: 90}
	for _, c := range []struct {
		name string
		more cpu.TimesStat
		want float64
	}{
		{"nothing to do", cpu.TimesStat{Idle: 8, Iowait: 2}, 0},
		{"half of it", cpu.TimesStat{User: 3, System: 2, Idle: 4, Iowait: 1}, 50},
		{"all of it, whoever has it", cpu.TimesStat{User: 1, System: 1, Nice: 1, Irq: 1, Softirq: 1, Steal: 1}, 100},
		{"interrupts and what a host takes are work", cpu.TimesStat{Irq: 2, Softirq: 1, Steal: 1, Idle: 12}, 25},
		{"guests are a part of the user's", cpu.TimesStat{User: 5, Guest: 5, Idle: 5}, 50},
		{"no time has passed", cpu.TimesStat{}, math.NaN()},
		{"a counter that went back", cpu.TimesStat{Idle: -5}, math.NaN()},
		{"the wait for disks went back more than work came", cpu.TimesStat{User: 5, Iowait: -3}, 100},
		{"the rest went back", cpu.TimesStat{User: -3, Idle: 5}, 0},
	} {
		b := at
		b.User, b.System, b.Idle, b.Nice = b.User+c.more.User, b.System+c.more.System, b.Idle+c.more.Idle, b.Nice+c.more.Nice
		b.Iowait, b.Irq, b.Softirq, b.Steal, b.Guest = b.Iowait+c.more.Iowait, b.Irq+c.more.Irq, b.Softirq+c.more.Softirq, b.Steal+c.more.Steal, b.Guest+c.more.Guest
		if got := busyBetween(at, b); math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: %g %%, want %g", c.name, got, c.want)
		}
	}
}

func TestTheFrequencyIsReadOfFewProcessors(t *testing.T) {
	frequencies := files{}
	for i := range 9 {
		frequencies[fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i)] = fmt.Sprint((i + 1) * 1000000)
	}
	if got := gauges(frequencies.write(t))[1].Read(); got != 2500 {
		t.Errorf("the mean of 1 to 9 GHz is %g MHz, want that of the first four", got)
	}
}

func TestGaugesReadTheKernelsFiles(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2000000\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "3000000\n",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq": "off\n",
		"sys/class/thermal/thermal_zone0/temp":                 "41500\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range gauges(root) {
		got := g.Read()
		switch g.Name {
		case "frequency":
			if got != 2500 {
				t.Errorf("frequency %g MHz, want the mean 2500", got)
			}
		case "temperature":
			if got != 41.5 {
				t.Errorf("temperature %g, want 41.5", got)
			}
		default:
			if !math.IsNaN(got) && (got < 0 || got > 100) {
				t.Errorf("%s %g %s", g.Name, got, g.Unit)
			}
		}
	}
	for _, g := range gauges(t.TempDir())[1:] {
		if got := g.Read(); !math.IsNaN(got) {
			t.Errorf("%s of a machine that does not tell: %g", g.Name, got)
		}
	}
}
