package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/home"
)

// A Diagnosis is what runs need on this machine, and what of it is there.
type Diagnosis struct {
	Program    string          `json:"program"`
	Machine    machine.Machine `json:"machine"`
	Timers     machine.Timers  `json:"timers"`
	Cache      string          `json:"cache_dir"`
	Data       string          `json:"data_dir"`
	Library    string          `json:"onnxruntime,omitempty"` // the file
	Version    string          `json:"onnxruntime_version,omitempty"`
	Candidates []ort.Candidate `json:"candidates"`
	Providers  []ort.Provider  `json:"providers,omitempty"`
	Missing    []Remedy        `json:"missing"`
}

// A Remedy is something that is missing and what fixes it.
type Remedy struct {
	What string `json:"what"`
	Fix  string `json:"fix"`
	// Installs: the remedy is to install ONNX Runtime.
	Installs bool `json:"installs,omitempty"`
}

// leastFree is how much disk a run with built-in models and data needs: the models, the
// images, and the pre-processed samples.
const leastFree = 2 << 30

// Diagnose looks for everything that runs need. Library names the file of ONNX Runtime;
// empty: the installed one.
func Diagnose(ctx context.Context, program, library string) (*Diagnosis, error) {
	d := &Diagnosis{Program: program, Missing: []Remedy{}}
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
	d.findLibrary(ctx, library)
	return d, nil
}

func (d *Diagnosis) miss(what, fix string) {
	d.Missing = append(d.Missing, Remedy{What: what, Fix: fix})
}

// findLibrary looks for ONNX Runtime and tries its devices.
func (d *Diagnosis) findLibrary(ctx context.Context, path string) {
	library, candidates, err := ort.Search{Explicit: path}.Find()
	d.Candidates = candidates
	if err != nil {
		d.miss("ONNX Runtime: "+strings.TrimSuffix(err.Error(), "\n"+ort.Remedy), ort.Remedy)
		d.Missing[len(d.Missing)-1].Installs = path == "" // one that was named is missing itself
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
}
