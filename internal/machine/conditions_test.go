package machine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
		{"heat", Conditions{throttles: 8, stolen: 10, all: 1100}, "slowed down 5 times"},
		{"a host with others", Conditions{throttles: 3, stolen: 20, all: 1100}, "gave 10 % of the processor time to others"},
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
	if got := crowd(3, 2); len(got) != 1 || !strings.Contains(got[0], "3.0 processes") {
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
		{"it slept", time.Hour + 10*time.Minute, 10 * time.Minute, "1h0m0s of the run are missing in what was measured: this machine slept, or its clock was set"},
		{"a little", 13 * time.Second, 11400 * time.Millisecond, "2s of the run are missing in what was measured: this machine slept, or its clock was set"},
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
