package machine

import (
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A container limits what a process may use by control groups. There are two generations of them,
// often mounted side by side, and a limit may sit at any level above the process.

// controller has its own files in the groups of the older generation and of the newer. Those of a list that
// have the same place say the same.
type controller struct {
	name         string
	older, newer []string
}

// groups returns the contents of a controller's files in this process's group and in all groups above it: of
// the older generation if that has the controller, else of the newer. A file that is not there is empty.
func (c controller) groups(root string) (list [][]string, isOlder bool) {
	for _, text := range strings.Split(line(root, "proc/self/cgroup"), "\n") {
		fields := strings.SplitN(text, ":", 3)
		if len(fields) != 3 {
			continue
		}
		names, group := strings.Split(fields[1], ","), fields[2]
		switch {
		case fields[0] == "0" && fields[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				list = append(list, climb(filepath.Join(root, mount), group, c.newer)...)
			}
		case slices.Contains(names, c.name):
			for _, mount := range []string{c.name, fields[1]} {
				if found := climb(filepath.Join(root, "sys/fs/cgroup", mount), group, c.older); found != nil {
					return found, true
				}
			}
		}
	}
	return list, false
}

// climb reads files in a group and in all above it. In a container the path may be that of the
// host, and only its end, or nothing of it, be mounted; so what is missing is skipped.
func climb(mount, group string, files []string) (list [][]string) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		texts := make([]string, len(files))
		for i, file := range files {
			texts[i] = line(mount, filepath.Join(group, file))
		}
		if slices.ContainsFunc(texts, func(text string) bool { return text != "" }) {
			list = append(list, texts)
		}
		if group == "/" {
			return list
		}
	}
}

// cpuQuota returns how many processors' worth of time the groups allow; 0 if they do not limit it.
func cpuQuota(root string) float64 {
	cpu := controller{"cpu", []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, []string{"cpu.max"}}
	groups, _ := cpu.groups(root)
	smallest := 0.0
	for _, texts := range groups {
		if n := processorsWorth(strings.Join(texts, " ")); n > 0 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// processorsWorth divides a quota by its period; 0 if it is no limit, which is written as max or -1.
func processorsWorth(text string) float64 {
	quota, period, _ := strings.Cut(text, " ")
	q, errQ := strconv.ParseFloat(quota, 64)
	p, errP := strconv.ParseFloat(period, 64)
	if errQ != nil || errP != nil || !(q > 0) || !(p > 0) || math.IsInf(q/p, 0) {
		return 0
	}
	return q / p
}

// memoryFiles are the limit of a group, what is in use in it, and of what.
var memoryFiles = controller{
	"memory", []string{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"}, []string{"memory.max", "memory.current", "memory.stat"},
}

// memoryLimit returns the smallest limit of the groups; 0 if none is below the machine's memory.
func memoryLimit(root string, total uint64) uint64 {
	groups, _ := memoryFiles.groups(root)
	smallest := uint64(0)
	for _, texts := range groups {
		n, err := strconv.ParseUint(texts[0], 10, 64) // "max" is no limit
		if err == nil && n < total && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// memoryLeft returns what the groups leave of the available memory: of each its limit less what is
// in use in it and cannot be given back at once (the inactive part of the file cache can).
func memoryLeft(root string, available uint64) uint64 {
	groups, isOlder := memoryFiles.groups(root)
	inactive := "inactive_file"
	if isOlder {
		inactive = "total_inactive_file"
	}
	for _, texts := range groups {
		limit, errLimit := strconv.ParseUint(texts[0], 10, 64)
		use, errUse := strconv.ParseUint(texts[1], 10, 64)
		if errLimit != nil || errUse != nil {
			continue
		}
		use -= min(use, statistic(texts[2], inactive))
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
	files := []string{"pids.max", "pids.current"}
	groups, _ := controller{"pids", files, files}.groups(root)
	for _, texts := range groups {
		limit, errLimit := strconv.Atoi(texts[0]) // "max" is no limit
		use, errUse := strconv.Atoi(texts[1])
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
