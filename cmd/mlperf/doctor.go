package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A diagnosis is what doctor finds.
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
	Missing    []remedy        `json:"missing"`
}

// A remedy is something that is missing and what fixes it.
type remedy struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
}

func newDoctor() *cobra.Command {
	asJSON, library := false, ""
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this machine: ONNX Runtime, devices, processor, timers, disk, and what is missing",
		Long: `Look for everything that runs need and say what was found, what was not, and which
command fixes that.

Exit status: 0 if nothing is missing, 1 otherwise.`,
		Example: "  mlperf doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := diagnose(cmd.Context(), library)
			if err != nil {
				return err
			}
			if asJSON {
				err = report.JSON(cmd.OutOrStdout(), d)
			} else {
				err = d.print(cmd.OutOrStdout())
			}
			if err == nil && len(d.Missing) > 0 {
				return finished(exitError)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&library, "ort-lib", "", "ONNX Runtime library to look at (default: the installed one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// leastFree is how much disk a run with built-in models and data needs: the models, the
// images, and the pre-processed samples.
const leastFree = 2 << 30

func diagnose(ctx context.Context, path string) (*diagnosis, error) {
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
	if disk := d.Machine.Disk; disk != nil && disk.FreeBytes < leastFree {
		d.miss(fmt.Sprintf("only %d MiB are free in %s, built-in models and data need %d", disk.FreeBytes>>20, d.Cache, leastFree>>20),
			"free some, or set MLPERF_CACHE_DIR to a folder on another disk")
	}
	d.findLibrary(ctx, path)
	return d, nil
}

func (d *diagnosis) miss(what, fix string) { d.Missing = append(d.Missing, remedy{what, fix}) }

// findLibrary looks for ONNX Runtime and tries its devices.
func (d *diagnosis) findLibrary(ctx context.Context, path string) {
	library, candidates, err := ort.Search{Explicit: path}.Find()
	d.Candidates = candidates
	if err != nil {
		d.miss("ONNX Runtime: "+strings.TrimSuffix(err.Error(), "\n"+ort.Remedy), ort.Remedy)
		return
	}
	d.Library, d.Version = library.Path, library.Version
	engine, err := ort.New(library)
	if err != nil {
		d.miss(fmt.Sprintf("ONNX Runtime cannot be loaded: %v", err), ort.Remedy)
		return
	}
	defer engine.Close()
	if d.Providers, err = engine.Providers(ctx); err != nil {
		d.miss(fmt.Sprintf("the devices of ONNX Runtime cannot be tried: %v", err), "mlperf doctor --ort-lib FILE tries another library")
	}
}

func (d *diagnosis) print(w io.Writer) error {
	var b strings.Builder
	m, cpu := d.Machine, d.Machine.CPU
	fmt.Fprintf(&b, "program      %s, %s\n", d.Program, m.Go)
	fmt.Fprintf(&b, "system       %s, kernel %s, %s\n", m.OS, m.Kernel, m.Arch)
	fmt.Fprintf(&b, "processor    %s, %d cores, %d threads, %.4g usable\n", cpu.Model, cpu.Cores, cpu.Threads, cpu.Usable)
	fmt.Fprintf(&b, "features     %s\n", strings.Join(cpu.Features, " "))
	fmt.Fprintf(&b, "memory       %d MiB, %d MiB available\n", m.Memory.TotalBytes>>20, m.Memory.AvailableBytes>>20)
	for _, g := range m.GPUs {
		fmt.Fprintf(&b, "GPU          %+v\n", g)
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
	for _, p := range d.Providers {
		state := "works"
		switch {
		case !p.Compiled:
			state = "not in this library"
		case !p.Usable:
			state = "cannot be used: " + p.Reason
		}
		fmt.Fprintf(&b, "  %-10s %s\n", p.Device, state)
	}
	if len(d.Missing) == 0 {
		b.WriteString("Nothing is missing.\n")
	}
	for _, r := range d.Missing {
		fmt.Fprintf(&b, "MISSING: %s\n  fix: %s\n", r.What, r.Fix)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
