package machine

import (
	"path/filepath"
	"slices"
	"strconv"
)

// Temperature returns how hot the hottest part of the processor is, in degrees Celsius; false if
// the system does not say, as in most virtual machines.
func Temperature() (celsius float64, known bool) { return temperature("/") }

// Plausible bounds of a temperature. Sensors that are not connected show others.
const coldest, hottest = -40, 150

// temperature looks at the thermal zones of the kernel, and at the sensors of processors.
func temperature(root string) (hot float64, known bool) {
	zones, _ := filepath.Glob(filepath.Join(root, "sys/class/thermal/thermal_zone*/temp"))
	for _, path := range append(zones, sensors(root)...) {
		milli, err := strconv.ParseFloat(line("", path), 64)
		if c := milli / 1000; err == nil && c > coldest && c < hottest && (!known || c > hot) {
			hot, known = c, true
		}
	}
	return hot, known
}

// sensors are the files of the sensors that processors have, by the names of their drivers.
func sensors(root string) (files []string) {
	names, _ := filepath.Glob(filepath.Join(root, "sys/class/hwmon/hwmon*/name"))
	for _, name := range names {
		if slices.Contains([]string{"coretemp", "k10temp", "zenpower", "cpu_thermal"}, line("", name)) {
			inputs, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "temp*_input"))
			files = append(files, inputs...)
		}
	}
	return files
}
