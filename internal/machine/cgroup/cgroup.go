// Package cgroup reads the limits of the control groups that this process is in. Control groups limit the resources of a container.
// Their two generations may be mounted side by side, and a limit may sit at any level above the process.
//
//	quota := cgroup.CPUQuota("/") // 0.5: half of a processor
//
// root is the folder that holds proc and sys: "/", or a copy in tests.
package cgroup

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A controller has files of its own in the groups of the older generation and of the newer. The files at the same place
// of both lists have the same meaning.
type controller struct {
	name         string
	older, newer []string
}

// groups returns the contents of a controller's files in this process's group and in all groups above it: of
// the older generation if that has the controller, else of the newer. A missing file is empty.
func (c controller) groups(root string) (list [][]string, isOlder bool) {
	for _, text := range strings.Split(read(root, "proc/self/cgroup"), "\n") {
		fields := strings.SplitN(text, ":", 3)
		if len(fields) != 3 {
			continue
		}
		names, group := strings.Split(fields[1], ","), fields[2]
		switch {
		case fields[0] == "0" && fields[1] == "":
			for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
				list = append(list, readGroups(filepath.Join(root, mount), group, c.newer)...)
			}
		case slices.Contains(names, c.name):
			for _, mount := range []string{c.name, fields[1]} {
				if found := readGroups(filepath.Join(root, "sys/fs/cgroup", mount), group, c.older); found != nil {
					return found, true
				}
			}
		}
	}
	return list, false
}

func read(root, path string) string {
	text, _ := os.ReadFile(filepath.Join(root, path))
	return strings.TrimSpace(string(text))
}

// readGroups reads files in a group and in all above it, and skips groups without any. In a container the path may be that of the
// host, and only its end, or nothing of it, be mounted.
func readGroups(mount, group string, files []string) (list [][]string) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		texts := make([]string, len(files))
		for i, file := range files {
			texts[i] = read(mount, filepath.Join(group, file))
		}
		if slices.ContainsFunc(texts, func(text string) bool { return text != "" }) {
			list = append(list, texts)
		}
		if group == "/" {
			return list
		}
	}
}

// CPUQuota returns how many processors' worth of time the groups allow; 0 without a limit.
func CPUQuota(root string) float64 {
	cpu := controller{"cpu", []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}, []string{"cpu.max"}}
	groups, _ := cpu.groups(root)
	smallest := 0.0
	for _, texts := range groups {
		quota, period, _ := strings.Cut(strings.Join(texts, " "), " ")
		q, errQ := strconv.ParseFloat(quota, 64) // max and -1 are no limits
		p, errP := strconv.ParseFloat(period, 64)
		if n := q / p; errQ == nil && errP == nil && n > 0 && !math.IsInf(n, 0) && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// memoryFiles are the limit of a group, its use, and the parts of that.
var memoryFiles = controller{
	"memory", []string{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"}, []string{"memory.max", "memory.current", "memory.stat"},
}

// MemoryLimit returns the smallest limit of the groups; 0 without one below the machine's memory.
func MemoryLimit(root string, total uint64) uint64 {
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

// MemoryLeft returns how much of the available memory the groups leave: the limit of each less its use,
// without the inactive part of the file cache, which the kernel gives back at once.
func MemoryLeft(root string, available uint64) uint64 {
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
		for line := range strings.Lines(texts[2]) {
			if name, n, _ := strings.Cut(strings.TrimSpace(line), " "); name == inactive {
				cached, _ := strconv.ParseUint(n, 10, 64)
				use -= min(use, cached)
			}
		}
		available = min(available, limit-min(use, limit))
	}
	return available
}

// ThreadsLeft returns how many more threads the groups allow: the smallest difference between the threads that a group may have and
// those that it has, with those of the groups below. ok is false without a limit.
func ThreadsLeft(root string) (left int, ok bool) {
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
