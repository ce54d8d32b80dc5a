package survey

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/run"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	library           string
	mend, yes, asJSON bool
}

func newDoctor() *cobra.Command {
	o := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine: ONNX Runtime, devices, processor, timers, disk, and what is missing",
		Long: `Look for everything that runs need and say what was found, what was not, and which
command fixes that.

Exit status: 0 if nothing is missing, 1 otherwise.`,
		Example: "  mlperf doctor\n  mlperf doctor --fix",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().StringVar(&o.library, "ort-lib", "", "ONNX Runtime library to look at (default: the installed one)")
	cmd.Flags().BoolVar(&o.mend, "fix", false, "install what is missing, after asking")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "with --fix: do not ask")
	cli.JSONFlag(cmd.Flags(), &o.asJSON)
	return cmd
}

func (o *doctorFlags) run(cmd *cobra.Command) error {
	if !o.mend {
		if err := cli.Pointless(cmd.Flags(), "is of --fix, and nothing is asked without it", "yes"); err != nil {
			return err
		}
	}
	d, err := o.diagnose(cmd)
	if err != nil {
		return err
	}
	if o.asJSON {
		err = cli.PrintJSON(cmd.OutOrStdout(), "doctor", d)
	} else {
		err = printDiagnosis(cmd.OutOrStdout(), d)
	}
	if err == nil && len(d.Missing) > 0 {
		return cli.Finished(cli.ExitError)
	}
	return err
}

// diagnose looks at the machine: once more after something was installed.
func (o *doctorFlags) diagnose(cmd *cobra.Command) (*run.Diagnosis, error) {
	d, err := run.Diagnose(cmd.Context(), cli.Program(), o.library)
	if err != nil || !o.mend {
		return d, err
	}
	ran, err := fix(cmd, d, o.yes)
	if err != nil || !ran {
		return d, err
	}
	return run.Diagnose(cmd.Context(), cli.Program(), o.library)
}

func printDiagnosis(w io.Writer, d *run.Diagnosis) error {
	var b strings.Builder
	m, cpu := d.Machine, d.Machine.CPU
	fmt.Fprintf(&b, "program      %s, %s\n", d.Program, m.Go)
	fmt.Fprintf(&b, "system       %s, kernel %s, %s\n", m.OS, m.Kernel, m.Arch)
	fmt.Fprintf(&b, "processor    %s, %d cores, %d threads, %.4g usable\n", cpu.Model, cpu.Cores, cpu.Threads, cpu.Usable)
	fmt.Fprintf(&b, "features     %s\n", strings.Join(cpu.Features, " "))
	fmt.Fprintf(&b, "memory       %d MiB, %d MiB available\n", m.Memory.TotalBytes>>20, m.Memory.AvailableBytes>>20)
	for _, g := range m.GPUs {
		fmt.Fprintf(&b, "GPU          %s\n", gpuText(g))
	}
	if m.Disk != nil {
		fmt.Fprintf(&b, "disk         %d MiB free for %s\n", m.Disk.FreeBytes>>20, d.Cache)
	}
	oversleep := func(name string, o machine.Oversleep) {
		fmt.Fprintf(&b, "%-12s wakes %v late at the median, %v at p99\n", name, time.Duration(o.MedianNS), time.Duration(o.P99NS))
	}
	fmt.Fprintf(&b, "clock        %s, %.0f ns to read\n", m.ClockSource, d.Timers.ReadNS)
	oversleep("timer", d.Timers.Sleep)
	if d.Timers.Nano.P99NS > 0 {
		oversleep("nanosleep", d.Timers.Nano)
	}
	fmt.Fprintf(&b, "load         %.2f in the last minute\n", m.Load1)
	if d.Library != "" {
		fmt.Fprintf(&b, "ONNX Runtime %s, %s\n", d.Version, d.Library)
	}
	printDevices(&b, d)
	printMissing(&b, d.Missing)
	_, err := io.WriteString(w, b.String())
	return err
}

// gpuText is an accelerator in words.
func gpuText(g machine.GPU) string {
	driver := "no driver is loaded"
	if g.Driver != "" {
		driver = "driver " + g.Driver
	}
	name := g.Name
	if !strings.HasPrefix(name, g.Vendor) {
		name = g.Vendor + " " + name
	}
	return fmt.Sprintf("%s at %s, %s", name, g.PCI, driver)
}

// printDevices says which devices the library can use.
func printDevices(b *strings.Builder, d *run.Diagnosis) {
	width := 10 // of the usual names
	for _, p := range d.Providers {
		width = max(width, len(p.Device))
	}
	for _, p := range d.Providers {
		state := "works"
		switch {
		case !p.Compiled:
			state = "not in this library"
		case !p.Usable:
			state = "cannot be used: " + p.Reason
		}
		fmt.Fprintf(b, "  %-*s %s\n", width, p.Device, state)
	}
}

// printMissing says what is missing, and how to get it.
func printMissing(b *strings.Builder, missing []run.Remedy) {
	if len(missing) == 0 {
		b.WriteString("Nothing is missing.\n")
	}
	for _, r := range missing {
		fmt.Fprintf(b, "MISSING: %s\n  fix: %s\n", r.What, r.Fix)
	}
}
