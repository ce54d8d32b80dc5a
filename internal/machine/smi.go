package machine

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// smiMemory asks nvidia-smi how many bytes of memory each card has, by its address on the bus.
// Without that program, or without its answer, nothing is known.
func smiMemory(ctx context.Context) map[string]uint64 {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=pci.bus_id,memory.total", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return nil
	}
	return parseSMI(string(out))
}

// parseSMI reads lines such as "00000000:3B:00.0, 81559": an address with a domain of eight
// digits, of which the kernel writes four, and MiB.
func parseSMI(text string) map[string]uint64 {
	memory := map[string]uint64{}
	for l := range strings.Lines(text) {
		address, size, ok := strings.Cut(strings.TrimSpace(l), ", ")
		mib, err := strconv.ParseUint(size, 10, 32)
		if !ok || err != nil {
			continue
		}
		if domain, rest, ok := strings.Cut(address, ":"); ok && len(domain) == 8 {
			address = domain[4:] + ":" + rest
		}
		memory[strings.ToLower(address)] = mib << 20
	}
	return memory
}
