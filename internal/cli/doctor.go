package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newDoctor() *cobra.Command {
	var library, device string
	var fix, yes, asJSON, peak bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine: ONNX Runtime, devices, processor, timers, disk, and missing parts",
		Long: `Check everything that runs need: print what this machine has, what it lacks, and which
command fixes that. With --peak also measure a product of large matrices and a copy of memory,
for about two seconds: later runs say what fraction of these they achieve.

Exit status: 0 if nothing is missing, 1 otherwise.`,
		Example: "  mlperf doctor\n  mlperf doctor --fix\n  mlperf doctor --device openvino",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !fix {
				if err := refuseFlags(cmd.Flags(), "is of --fix: without it nothing is asked", "yes"); err != nil {
					return err
				}
			}
			if device != "" {
				var err error
				if device, err = ort.CanonicalDevice(device); err != nil {
					return usage("--device: %w", err)
				}
			}
			d, err := diagnose(cmd.Context(), library, device, peak)
			if err != nil {
				return err
			}
			if fix && d.Fetches != "" {
				if err := fetchRuntime(cmd, d.Fetches, yes); err != nil {
					return err
				}
				return lookAgain(cmd, device, peak, asJSON)
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), "doctor", d)
			} else {
				err = printDiagnosis(cmd.OutOrStdout(), d)
			}
			if err == nil && len(d.Missing) > 0 {
				return finished(ExitError)
			}
			return err
		},
	}
	defineLibrary(cmd.Flags(), &library)
	cmd.Flags().StringVar(&device, "device", "",
		"look at the ONNX Runtime that runs on this device take, and whether it can be used; with --fix, get one")
	cmd.Flags().BoolVar(&fix, "fix", false, "install missing parts, after asking")
	cmd.Flags().BoolVar(&peak, "peak", false, "measure the most that the device does: a matrix product, and copies in memory")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --fix: do not ask")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// fetchRuntime gets ONNX Runtime with a device. In the folder of our own, a damaged library is replaced.
func fetchRuntime(cmd *cobra.Command, device string, yes bool) error {
	m, it, err := lookupItem(download.Runtime, device)
	if err != nil {
		return err
	}
	dir, err := it.UsualDir()
	if err != nil {
		return err
	}
	_, err = fetchItem(cmd, m, it, download.Options{Dir: dir, Force: true}, yes)
	return err
}

// lookAgain looks at a device in a process of its own: this one has opened a library, and can open only one.
func lookAgain(cmd *cobra.Command, device string, peak, asJSON bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	again := exec.CommandContext(cmd.Context(), program, "doctor", "--device", device, "--fix=false", fmt.Sprintf("--peak=%t", peak),
		fmt.Sprintf("--json=%t", asJSON))
	again.Stdout, again.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	err = again.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return finished(exit.ExitCode())
	}
	return err
}

func printDiagnosis(w io.Writer, d *diagnosis) error {
	userinput.Lines(d)
	var b strings.Builder
	m, cpu := d.Machine, d.Machine.CPU
	fmt.Fprintf(&b, "program      %s, %s\n", d.Program, m.Go)
	fmt.Fprintf(&b, "system       %s, kernel %s, %s\n", m.OS, m.Kernel, m.Arch)
	fmt.Fprintf(&b, "processor    %s, %s, %s, %s usable\n", cmp.Or(cpu.Model, "unknown"), units.Count(cpu.Cores, "core"), units.Count(cpu.Threads, "thread"),
		units.Number(cpu.Usable))
	fmt.Fprintf(&b, "features     %s\n", strings.Join(cpu.Features, " "))
	fmt.Fprintf(&b, "memory       %s, %s available\n", units.Memory(m.Memory.TotalBytes), units.Memory(m.Memory.AvailableBytes))
	for _, g := range m.GPUs {
		name, driver := g.Name, "no driver is loaded"
		if !strings.HasPrefix(name, g.Vendor) {
			name = g.Vendor + " " + name
		}
		if g.Driver != "" {
			driver = "driver " + g.Driver
		}
		fmt.Fprintf(&b, "GPU          %s at %s, %s\n", name, g.PCI, driver)
	}
	if m.Disk != nil {
		fmt.Fprintf(&b, "disk         %s free for %s\n", units.Bytes(m.Disk.FreeBytes), d.Cache)
	}
	oversleep := func(name string, o machine.Oversleep) {
		fmt.Fprintf(&b, "%-12s wakes %s late at the median, %s at p99\n", name, units.Duration(time.Duration(o.MedianNS)),
			units.Duration(time.Duration(o.P99NS)))
	}
	fmt.Fprintf(&b, "clock        %s, %s to read\n", cmp.Or(m.ClockSource, "of the system"), units.Text(d.Timers.ReadNS, "ns"))
	oversleep("timer", d.Timers.Sleep)
	if d.Timers.Nano.P99NS > 0 {
		oversleep("nanosleep", d.Timers.Nano)
	}
	fmt.Fprintf(&b, "load         %s in the last minute\n", units.Number(m.Load1))
	if d.Library != "" {
		var others strings.Builder
		for _, c := range d.Candidates {
			switch {
			case c.Chosen:
				fmt.Fprintf(&b, "ONNX Runtime %s, %s (%s)\n", d.Version, d.Library, c.Where)
			case c.Version != "" && c.Reason != ort.SameFile:
				fmt.Fprintf(&others, "  not used   %s, %s (%s): %s\n", c.Version, c.Path, c.Where, c.Reason)
			}
		}
		b.WriteString(others.String())
	}
	for _, p := range d.Providers {
		state := "works"
		switch {
		case !p.Compiled:
			state = "not in this library"
		case !p.Usable:
			state = "cannot be used: " + p.Reason
		case p.Difference != nil:
			state = fmt.Sprintf("works: outputs of a small model differ from the CPU's by %s at most", units.Number(*p.Difference))
			if n := p.Nodes["cpu"]; n > 0 {
				state += fmt.Sprintf("; %d of its %d nodes ran on the CPU", n, n+p.Nodes[p.Device])
			}
		}
		fmt.Fprintf(&b, "  %-10s %s\n", p.Device, state)
	}
	if d.Ceiling != nil {
		fmt.Fprintf(&b, "peak         %v\n", d.Ceiling)
	}
	for _, r := range d.Missing {
		fmt.Fprintf(&b, "MISSING: %s\n  fix: %s\n", r.What, r.Fix)
	}
	if len(d.Missing) == 0 {
		b.WriteString("Nothing is missing.\n")
	}
	return sayText(w, b.String())
}

// A diagnosis lists what runs need on this machine, and what is missing.
type diagnosis struct {
	Program    string          `json:"program"`
	Machine    machine.Machine `json:"machine"`
	Timers     machine.Timers  `json:"timers"`
	Cache      string          `json:"cache_dir"`
	Data       string          `json:"data_dir"`
	Library    string          `json:"onnxruntime,omitempty"` // the file
	Version    string          `json:"onnxruntime_version,omitempty"`
	Candidates []ort.Candidate `json:"candidates"`
	Providers  []ort.Provider  `json:"providers,omitempty"`
	Ceiling    *report.Ceiling `json:"ceiling,omitempty"` // measured now
	Missing    []remedy        `json:"missing"`
	Fetches    string          `json:"-"` // the device with which ONNX Runtime is to be got; empty: nothing helps
}

// A remedy fixes something that is missing.
type remedy struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

// diagnose looks for everything that runs need. Library is the file of ONNX Runtime; empty: the installed one. Device is one that
// has to be usable; empty: the CPU is enough. Peak asks for the ceiling to be measured.
func diagnose(ctx context.Context, library, device string, peak bool) (*diagnosis, error) {
	d := &diagnosis{Program: program(), Missing: []remedy{}}
	var err error
	if d.Cache, err = home.CacheDir(); err != nil {
		return nil, err
	}
	if d.Data, err = home.DataDir(); err != nil {
		return nil, err
	}
	d.Machine = machine.Describe(d.Cache)
	if d.Timers, err = machine.ProbeTimers(ctx); err != nil {
		return nil, err
	}
	d.checkDisk()
	d.findLibrary(ctx, library, device, peak)
	switch {
	case device == "":
	case d.Library == "" && library == "" && os.Getenv(ort.LibraryVariable) == "":
		if _, it, err := lookupItem(download.Runtime, device); err == nil { // rather than one without the device
			d.Fetches = it.Name
		}
	case len(d.Missing) == 0:
		err = d.checkDevice(library, device)
	}
	return d, err
}

func (d *diagnosis) miss(what, fix string) {
	d.Missing = append(d.Missing, remedy{What: what, Fix: fix})
}

// checkDisk wants room for the built-in models, their images, and the pre-processed samples.
func (d *diagnosis) checkDisk() {
	const least = 2 << 30
	if disk := d.Machine.Disk; disk != nil && disk.FreeBytes < least {
		d.miss(fmt.Sprintf("only %d MiB are free in %s, built-in models and data need %d", disk.FreeBytes>>20, d.Cache, least>>20),
			"free some, or set MLPERF_CACHE_DIR to a folder on another disk")
	}
}

// checkDevice wants a device that can be used. A library that the user names is not replaced by another.
func (d *diagnosis) checkDevice(library, device string) error {
	i := slices.IndexFunc(d.Providers, func(p ort.Provider) bool { return p.Device == device })
	if i < 0 {
		return fmt.Errorf("ONNX Runtime says nothing of the device %s", device)
	}
	p := d.Providers[i]
	if p.Usable {
		return nil
	}
	d.miss("device "+p.Device+": "+p.Reason, p.Remedy)
	if library != "" || os.Getenv(ort.LibraryVariable) != "" {
		return nil
	}
	_, it, err := lookupItem(download.Runtime, p.Device)
	if err != nil {
		return nil // not to be had
	}
	dir, err := it.UsualDir()
	if err != nil {
		return err
	}
	unfinished := filepath.Dir(d.Library) == dir // an interrupted download
	if !download.Installed(dir, it) && (!p.Compiled || unfinished) {
		d.Fetches = p.Device
		d.Missing[len(d.Missing)-1].Fix = ort.Remedy + " --device " + p.Device
	}
	return nil
}

// findLibrary looks for ONNX Runtime, for a device or without one, and tries its devices.
func (d *diagnosis) findLibrary(ctx context.Context, path, device string, peak bool) {
	library, candidates, err := ort.Search{Explicit: path, Device: device}.Find()
	d.Candidates = candidates
	if err != nil {
		d.miss("ONNX Runtime: "+strings.TrimSuffix(err.Error(), "\nRun: "+ort.Remedy), ort.Remedy+", or name a library with --ort-lib FILE")
		if path == "" && os.Getenv(ort.LibraryVariable) == "" { // a download does not bring a file that the user named
			d.Fetches = "cpu"
		}
		return
	}
	d.Library, d.Version = library.Path, library.Version
	engine, err := ort.New(library, nil)
	if err != nil {
		d.miss(fmt.Sprintf("ONNX Runtime cannot be loaded: %v", err), ort.Remedy)
		return
	}
	defer engine.Close()
	if d.Providers, err = engine.Providers(ctx); err != nil {
		d.miss(fmt.Sprintf("the devices of ONNX Runtime cannot be tried: %v", err), "try another library with mlperf doctor")
	}
	if peak {
		if d.Ceiling, err = run.MeasureCeiling(ctx, engine, device); err != nil {
			d.miss(fmt.Sprintf("the ceiling of %s: %v", cmp.Or(device, "cpu"), err), "look at the device with mlperf doctor --device "+cmp.Or(device, "cpu"))
		}
	}
}
