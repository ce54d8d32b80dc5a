package builtin

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// loadedShare is how much memory a model takes while it is loaded and runs, for each byte of its files: the one of
// 5.7 GB took 6.8 GB.
const loadedShare = 1.2

// checkRoom refuses to write files for which there is not enough disk, or which nobody could load here,
// before anything is written.
func (m Maker) checkRoom(r workload.Recipe, dir string) error {
	size, err := m.size(r)
	if err != nil {
		return err
	}
	if err := m.checkDisk(size, dir); err != nil {
		return err
	}
	return m.checkMemory(size)
}

// checkDisk compares what files take with the room for them, if that is known.
func (m Maker) checkDisk(size int64, dir string) error {
	if m.FreeDisk == nil {
		return nil
	}
	free := m.FreeDisk(dir)
	if free == 0 || uint64(size) <= free {
		return nil
	}
	err := fmt.Errorf("the files take %d MB, %s has room for %d MB", size/1e6, dir, free/1e6)
	if m.FullSize {
		return userinput.Wrap("full_size", err)
	}
	return err
}

// checkMemory compares what a model of full size takes with what is free, if that is known.
func (m Maker) checkMemory(size int64) error {
	if m.FreeMemory == nil || !m.FullSize {
		return nil
	}
	if free, need := m.FreeMemory(), uint64(loadedShare*float64(size)); free > 0 && need > free {
		return userinput.Errorf("full_size", "a model of %d MB takes about %d MB of memory, %d MB are free", size/1e6, need/1e6, free/1e6)
	}
	return nil
}

// size is how long the weights of a recipe are together: the rest of the files is hardly anything.
func (m Maker) size(r workload.Recipe) (int64, error) {
	total := int64(0)
	for _, p := range r.Parts {
		a, err := m.architecture(p)
		if err != nil {
			return 0, err
		}
		graph, _, err := a.Build(m.options(p))
		if err != nil {
			return 0, err
		}
		total += weightBytes(graph)
	}
	return total, nil
}

func weightBytes(m *onnx.Model) (total int64) {
	for _, t := range m.Graph.Initializers {
		total += t.Data.Size()
	}
	return total
}
