package machine

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Temperature returns how hot the hottest part of the processor is, in degrees Celsius; false if
// the system does not say, as in most virtual machines.
func Temperature() (celsius float64, known bool) { return temperature("/") }

// Plausible bounds of a temperature. Sensors that are not connected show others.
const coldest, hottest = -40, 150

// temperature looks at the thermal zones of the kernel, and at the sensors of processors.
func temperature(root string) (hot float64, known bool) {
	zones, _ := filepath.Glob(filepath.Join(root, "sys/class/thermal/thermal_zone*/temp"))
	for _, sensor := range []string{"coretemp", "k10temp", "zenpower", "cpu_thermal"} {
		names, _ := filepath.Glob(filepath.Join(root, "sys/class/hwmon/hwmon*/name"))
		for _, name := range names {
			if line("", name) == sensor {
				inputs, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "temp*_input"))
				zones = append(zones, inputs...)
			}
		}
	}
	for _, path := range zones {
		milli, err := strconv.ParseFloat(strings.TrimSpace(line("", path)), 64)
		if c := milli / 1000; err == nil && c > coldest && c < hottest && (!known || c > hot) {
			hot, known = c, true
		}
	}
	return hot, known
}
