package machine

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A container limits what a process may use by control groups. There are two generations of them,
// often mounted side by side, and a limit may sit at any level above the process.

// cgroupFiles returns the contents of a file in this process's group and all groups above it, of
// one controller: the older generation if it has the controller, else the newer.
func cgroupFiles(root, controller, older, newer string) (texts []string, isOlder bool) {
	for _, line := range strings.Split(line(root, "proc/self/cgroup"), "\n") {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch controllers := strings.Split(fields[1], ","); {
		case fields[0] == "0" && fields[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				texts = append(texts, climb(filepath.Join(root, mount), fields[2], newer)...)
			}
		case slices.Contains(controllers, controller):
			for _, mount := range []string{controller, fields[1]} {
				if found := climb(filepath.Join(root, "sys/fs/cgroup", mount), fields[2], older); found != nil {
					return found, true
				}
			}
		}
	}
	return texts, false
}

// climb reads a file in a group and in all above it. In a container the path may be that of the
// host, and only its end, or nothing of it, be mounted; so what is missing is skipped.
func climb(mount, group, file string) (texts []string) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		if text, err := os.ReadFile(filepath.Join(mount, group, file)); err == nil {
			texts = append(texts, strings.TrimSpace(string(text)))
		}
		if group == "/" {
			return texts
		}
	}
}

// cpuQuota returns how many processors' worth of time the groups allow; 0 if they do not limit it.
func cpuQuota(root string) float64 {
	texts, isOlder := cgroupFiles(root, "cpu", "cpu.cfs_quota_us", "cpu.max")
	var periods []string
	if isOlder {
		periods, _ = cgroupFiles(root, "cpu", "cpu.cfs_period_us", "")
	}
	smallest := 0.0
	for i, text := range texts {
		quota, period, _ := strings.Cut(text, " ")
		if isOlder && i < len(periods) {
			period = periods[i]
		}
		q, errQ := strconv.ParseFloat(quota, 64) // "max", or -1, is no limit
		p, errP := strconv.ParseFloat(period, 64)
		if errQ == nil && errP == nil && q > 0 && p > 0 && (smallest == 0 || q/p < smallest) {
			smallest = q / p
		}
	}
	return smallest
}

// memoryLimit returns the smallest limit of the groups; 0 if none is below the machine's memory.
func memoryLimit(root string, total uint64) uint64 {
	texts, _ := cgroupFiles(root, "memory", "memory.limit_in_bytes", "memory.max")
	smallest := uint64(0)
	for _, text := range texts {
		n, err := strconv.ParseUint(text, 10, 64) // "max" is no limit
		if err == nil && n < total && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// memoryLeft returns what the groups leave of the available memory: of each its limit less what is
// in use in it and cannot be given back at once (the inactive part of the file cache can).
func memoryLeft(root string, available uint64) uint64 {
	limits, isOlder := cgroupFiles(root, "memory", "memory.limit_in_bytes", "memory.max")
	uses, _ := cgroupFiles(root, "memory", "memory.usage_in_bytes", "memory.current")
	stats, _ := cgroupFiles(root, "memory", "memory.stat", "memory.stat")
	inactive := "inactive_file"
	if isOlder {
		inactive = "total_inactive_file"
	}
	// All lists begin with the process's own group and go up.
	for i := range min(len(limits), len(uses)) {
		limit, errLimit := strconv.ParseUint(limits[i], 10, 64)
		use, errUse := strconv.ParseUint(uses[i], 10, 64)
		if errLimit != nil || errUse != nil {
			continue
		}
		if i < len(stats) {
			use -= min(use, statistic(stats[i], inactive))
		}
		available = min(available, limit-min(use, limit))
	}
	return available
}

// FreeThreads returns how many threads this process may still start as far as control groups limit
// their number; ok is false if none does.
func FreeThreads() (left int, ok bool) { return threadsLeft("/") }

// threadsLeft returns the smallest difference between the threads that a group may have and those
// that it has, which include those of the groups below.
func threadsLeft(root string) (left int, ok bool) {
	limits, _ := cgroupFiles(root, "pids", "pids.max", "pids.max")
	uses, _ := cgroupFiles(root, "pids", "pids.current", "pids.current")
	for i := range min(len(limits), len(uses)) {
		limit, errLimit := strconv.Atoi(limits[i]) // "max" is no limit
		use, errUse := strconv.Atoi(uses[i])
		if errLimit != nil || errUse != nil {
			continue
		}
		if n := max(0, limit-use); !ok || n < left {
			left, ok = n, true
		}
	}
	return left, ok
}

// statistic takes a number by name out of a list of names and numbers.
func statistic(list, name string) uint64 {
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, _ := strconv.ParseUint(fields[1], 10, 64)
			return n
		}
	}
	return 0
}
