package power

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A raplCounter is the energy of a processor package: Intel's and AMD's RAPL, as the kernel
// shows it (Documentation/power/powercap). Memory and cores are left out: in some processors they are parts of the package, in
// others beside it.
type raplCounter struct {
	zone  string
	label string
	span  float64 // µJ at which it wraps
	last  float64
	total float64 // µJ since it was opened
}

// raplZone is a package; zones within have a second number. Those of intel-rapl-mmio are the
// same packages.
var raplZone = regexp.MustCompile(`^intel-rapl:[0-9]+$`)

// raplRemedy lets all users read the counters. Since Linux 5.10 only root may: CVE-2020-8694.
const raplRemedy = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj lets all users read it until the next start"

// openRAPL opens the counters of all packages.
func openRAPL(root string) ([]counter, error) {
	dir := filepath.Join(root, "sys/class/powercap")
	zones, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("RAPL: %w", err)
	}
	var list []counter
	for _, z := range zones {
		if !raplZone.MatchString(z.Name()) {
			continue
		}
		c := &raplCounter{zone: filepath.Join(dir, z.Name())}
		label, _ := os.ReadFile(filepath.Join(c.zone, "name"))
		if c.label = strings.TrimSpace(string(label)); !strings.HasPrefix(c.label, "package") {
			continue // psys contains packages
		}
		if c.last, err = c.micro("energy_uj"); err == nil {
			c.span, err = c.micro("max_energy_range_uj")
		}
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: %s", err, raplRemedy)
		}
		if err != nil {
			return nil, fmt.Errorf("RAPL: %w", err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New(
			"RAPL: this machine reports no energy of its processors, like most virtual machines; on a physical one: sudo modprobe intel_rapl_msr")
	}
	return list, nil
}

// micro reads a number of µJ.
func (c *raplCounter) micro(file string) (float64, error) {
	path := filepath.Join(c.zone, file)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return float64(n), nil
}

func (c *raplCounter) name() string { return "RAPL " + c.label }

// joules must be called more often than the counter wraps.
func (c *raplCounter) joules() (float64, error) {
	now, err := c.micro("energy_uj")
	if err != nil {
		return 0, err
	}
	d := now - c.last
	if d < 0 {
		d += c.span // it has wrapped
	}
	if d < 0 || d > c.span/2 { // what is read every second wraps after a small part of its span
		return 0, fmt.Errorf("%s went back from %.0f to %.0f µJ of %.0f, which is not a wrap: it was set back", c.zone, c.last, now, c.span)
	}
	c.last, c.total = now, c.total+d
	return c.total / 1e6, nil
}
