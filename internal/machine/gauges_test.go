package machine

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

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
