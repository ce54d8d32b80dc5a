package machine

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
)

func TestWhatMakesSpeedVaryIsSaid(t *testing.T) {
	const base = "sys/devices/system/cpu/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"a machine that shows nothing", nil, nil},
		{"tuned", map[string]string{"cpu0/cpufreq/scaling_governor": "performance", "intel_pstate/no_turbo": "1", "smt/active": "0"}, nil},
		{"as it comes", map[string]string{"cpu0/cpufreq/scaling_governor": "powersave", "intel_pstate/no_turbo": "0", "smt/active": "1"},
			[]string{"governor is powersave", "turbo is on", "SMT is on"}},
		{"AMD's turbo", map[string]string{"cpufreq/boost": "1"}, []string{"turbo is on"}},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			full := filepath.Join(root, base+path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text+"\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		got := settingsOf(root)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", c.name, got[i], want)
			}
		}
	}
}

func TestWhatHappenedDuringARunIsSaid(t *testing.T) {
	before := Conditions{throttles: 3, stolen: 10, all: 1000}
	for _, c := range []struct {
		name  string
		after Conditions
		want  string
	}{
		{"nothing", Conditions{throttles: 3, stolen: 10.5, all: 1100}, ""},
		{"heat", Conditions{throttles: 8, stolen: 10, all: 1100}, "throttled 5 times"},
		{"a host with others", Conditions{throttles: 3, stolen: 20, all: 1100}, "10 % CPU steal"},
		{"no time has passed", before, ""},
		{"as much as is usual", Conditions{throttles: 3, stolen: 12, all: 1100}, ""},
		{"counters that began anew", Conditions{throttles: 1, stolen: 0, all: 10}, ""},
	} {
		if got := strings.Join(before.During(c.after), "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOthersThatWantTheProcessorsAreSeen(t *testing.T) {
	for _, c := range []struct{ load, usable float64 }{{0.3, 2}, {0.4, 2}, {0, 0}, {5, 0}} {
		if got := crowd(c.load, c.usable); got != nil {
			t.Errorf("%g processes on %g processors: %q", c.load, c.usable, got)
		}
	}
	if got := crowd(3, 2); len(got) != 1 || !strings.Contains(got[0], "load average 3.0 on 2 CPUs") {
		t.Errorf("a busy machine: %q", got)
	}
	if c := Look(); c.all <= 0 {
		t.Errorf("this machine has no processor time: %+v", c)
	}
}

func TestThrottlingOfAllCoresCounts(t *testing.T) {
	root := t.TempDir()
	for _, core := range []string{"cpu0", "cpu1"} {
		full := filepath.Join(root, "sys/devices/system/cpu", core, "thermal_throttle/core_throttle_count")
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte("4\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if n := throttles(root); n != 8 {
		t.Errorf("throttles() = %d, want 8", n)
	}
}

func TestAMachineThatSleptIsFoundOut(t *testing.T) {
	for _, c := range []struct {
		name       string
		day, taken time.Duration
		want       string
	}{
		{"both clocks agree", 10 * time.Minute, 10 * time.Minute, ""},
		{"a time server corrects", 10*time.Minute + time.Second, 10 * time.Minute, ""},
		{"and the other way", 10*time.Minute - time.Second, 10 * time.Minute, ""},
		{"it slept", time.Hour + 10*time.Minute, 10 * time.Minute, "1h0m0s of the run were not measured: this machine slept, or its clock was set"},
		{"a little", 13 * time.Second, 11400 * time.Millisecond, "2s of the run were not measured: this machine slept, or its clock was set"},
		{"its clock was set back", -time.Minute, time.Minute, "the clock of this machine was set back by 2m0s during the run"},
	} {
		if got := jumped(c.day, c.taken); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	before := Look()
	if got := before.Jumped(Look()); got != "" {
		t.Errorf("nothing happened: %s", got)
	}
}

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
