package machine

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/shirou/gopsutil/v4/cpu"
)

// A Gauge is a measurement that changes while this machine works.
type Gauge struct {
	Name   string
	Unit   string
	Server string // that tells it; empty: this machine
	// Running says that it is how many requests the server answers now.
	Running bool
	// Read returns the present value, or the mean since the last call; NaN: not known.
	Read func() float64
}

// Gauges are the load, the frequency and the temperature of this machine's processors. Reading
// them all takes well below a millisecond.
func Gauges() []Gauge { return gauges("/") }

func gauges(root string) []Gauge {
	return []Gauge{
		{Name: "processors busy", Unit: "%", Read: busyPercent()},
		{Name: "frequency", Unit: "MHz", Read: meanMHz(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")},
		{Name: "temperature", Unit: "°C", Read: func() float64 {
			if celsius, known := temperature(root); known {
				return celsius
			}
			return math.NaN()
		}},
	}
}

// busyPercent returns the share of the time of all processors that was not idle since the last call.
func busyPercent() func() float64 {
	var before cpu.TimesStat
	return func() float64 {
		times, err := cpu.Times(false)
		if err != nil || len(times) == 0 {
			return math.NaN()
		}
		last := before
		before = times[0]
		return busyBetween(last, before)
	}
}

// busyBetween is the share of the time between two readings that was not idle, in percent; NaN: no time has passed.
func busyBetween(a, b cpu.TimesStat) float64 {
	idle := func(t cpu.TimesStat) float64 { return t.Idle + t.Iowait }
	total := allTime(b) - allTime(a)
	if !(total > 0) {
		return math.NaN()
	}
	return 100 * min(max(1-(idle(b)-idle(a))/total, 0), 1) // the kernel's count of Iowait may go back
}

// allTime is all time of the processors. The time of guests is a part of User.
func allTime(t cpu.TimesStat) float64 {
	return t.User + t.System + t.Idle + t.Nice + t.Iowait + t.Irq + t.Softirq + t.Steal
}

// mostFiles is the number of processors whose frequency is read: asking may interrupt them.
const mostFiles = 4

// meanMHz returns the mean of the files that hold kHz, in MHz.
func meanMHz(root, pattern string) func() float64 {
	files, _ := filepath.Glob(filepath.Join(root, pattern))
	files = files[:min(len(files), mostFiles)]
	return func() float64 {
		sum, n := 0.0, 0.0
		for _, f := range files {
			if v, err := strconv.ParseFloat(line("", f), 64); err == nil {
				sum, n = sum+v/1000, n+1
			}
		}
		return sum / n // NaN without files
	}
}

// Temperature returns how hot the hottest part of the processor is, in degrees Celsius; false if
// the system does not say, as in most virtual machines.
func Temperature() (celsius float64, known bool) { return temperature("/") }

// Plausible bounds of a temperature. Sensors that are not connected show others.
const coldest, hottest = -40, 150

// temperature looks at the thermal zones of the kernel, and at the sensors of processors.
func temperature(root string) (hot float64, known bool) {
	files, _ := filepath.Glob(filepath.Join(root, "sys/class/thermal/thermal_zone*/temp"))
	drivers, _ := filepath.Glob(filepath.Join(root, "sys/class/hwmon/hwmon*/name"))
	for _, name := range drivers {
		if slices.Contains([]string{"coretemp", "k10temp", "zenpower", "cpu_thermal"}, line("", name)) {
			inputs, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "temp*_input"))
			files = append(files, inputs...)
		}
	}
	for _, path := range files {
		milli, err := strconv.ParseFloat(line("", path), 64)
		if c := milli / 1000; err == nil && c > coldest && c < hottest && (!known || c > hot) {
			hot, known = c, true
		}
	}
	return hot, known
}
