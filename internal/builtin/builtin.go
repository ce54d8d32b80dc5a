package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// version is part of every name. It must be raised when the same recipe comes to make
// something else.
const version = 1

// A Maker makes what is not there yet, in a folder of its own.
type Maker struct {
	Dir string
	// Engine computes features of anchors, on the CPU in FP32. Without one, models are
	// made whose last layer is random: enough for an engine that only pretends.
	Engine   backend.Engine
	Observer harness.Observer
	Program  string // name and version, for the records of reference runs
	// FullSize makes models with all layers and rows of the real ones, though the files are
	// very large.
	FullSize bool
	// Most, if not 0, is how many samples the data sets have at most whose truth a model of vision makes, sample by sample: who
	// needs a few does not wait for the others.
	Most int
	// FreeDisk and FreeMemory are the bytes that are left, where a folder is and for this process; nil or 0: that is
	// not known.
	FreeDisk   func(dir string) uint64
	FreeMemory func() uint64
	// Rows is how many rows the tables of models for recommendation have at most; 0: as many as
	// the recipe says.
	Rows int64

	images synth.ImageNetSpec // of the data set for classification; zero: imageNet(), of which tests have less
	count  int                // of samples of the others; 0: as many as the model says
}

// spec is that of the data set for classification.
func (m Maker) spec() synth.ImageNetSpec {
	if m.images.Images == 0 {
		return imageNet()
	}
	return m.images
}

// imageNet is the built-in data set for classification. With these anchors and this
// disturbance ResNet-50 answers about 83 of 100 images right, MobileNet about 73. The anchors of 250 of the
// 1,000 classes pass through the network when a model is made: all of them, less disturbed, give about the same
// score and take four times as long.
func imageNet() synth.ImageNetSpec {
	return synth.ImageNetSpec{Seed: synth.Seed, Images: 1024, Classes: 250, Jitter: 0.1}
}

// Dataset returns the folder of the built-in data set of a model.
func (m Maker) Dataset(ctx context.Context, model workload.Model) (string, error) {
	set, err := m.set(model)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(m.Dir, datasetsDir, set.key)
	if _, err := synth.ReadManifest(dir); err == nil {
		return dir, nil
	}
	m.Observer.Phase("making the built-in data set " + model.Dataset)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("making the built-in data set: %w", err)
	}
	if err := set.make(ctx, dir); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // engines only know that something ended
		}
		return "", err
	}
	return dir, nil
}

// Made reports whether the built-in form of a model and the data set of another are there.
func (m Maker) Made(model, data workload.Model) bool {
	path, err := m.modelPath(model)
	if err != nil {
		return false
	}
	set, err2 := m.set(data)
	if err2 != nil {
		return false
	}
	_, err = os.Stat(path)
	_, err2 = synth.ReadManifest(filepath.Join(m.Dir, datasetsDir, set.key))
	return err == nil && err2 == nil
}

// Ports returns the inputs and outputs that the files of a built-in model have, by their roles, and where the files are, made or not.
func (m Maker) Ports(model workload.Model) (ports map[string]workload.Ports, path string, err error) {
	if path, err = m.modelPath(model); err != nil {
		return nil, "", err
	}
	graphs := map[string]*onnx.Model{}
	if r, ok := model.BuiltIn.(workload.Recipe); ok {
		for _, p := range r.Parts {
			if graphs[p.Role], _, err = m.network(p).Build(m.options(p)); err != nil {
				return nil, "", err
			}
		}
	} else {
		r, err := recipe(model)
		if err != nil {
			return nil, "", err
		}
		if graphs[workload.Only], _, err = r.Network.Build(arch.Options{}); err != nil {
			return nil, "", err
		}
	}
	ports = map[string]workload.Ports{}
	for role, graph := range graphs {
		ports[role] = workload.Ports{Inputs: backend.PortsOf(graph.Graph.Inputs), Outputs: backend.PortsOf(graph.Graph.Outputs)}
	}
	return ports, path, nil
}

// Samples is how many samples the built-in data set of a model has; 0: that is known when it is made, or there is none.
func (m Maker) Samples(model workload.Model) int {
	s, err := m.set(model)
	if err != nil {
		return 0
	}
	return s.samples
}

// Model returns the file of a built-in model, or the folder of its files if it has several.
func (m Maker) Model(ctx context.Context, model workload.Model) (string, error) {
	path, err := m.modelPath(model)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Join(m.Dir, modelsDir), 0o755); err != nil {
		return "", fmt.Errorf("making the built-in model: %w", err)
	}
	m.Observer.Phase("making the built-in model " + model.Name)
	if r, ok := model.BuiltIn.(workload.Recipe); ok {
		err = m.makeParts(ctx, r, path)
	} else {
		err = m.makeModel(ctx, model, path)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // engines only know that something ended
		}
		return "", fmt.Errorf("making the built-in model %s: %w", model.Name, err)
	}
	return path, nil
}

// modelPath returns where the file of a model is, made or not.
func (m Maker) modelPath(model workload.Model) (string, error) {
	if r, ok := model.BuiltIn.(workload.Recipe); ok {
		return m.partsPath(r)
	}
	r, err := recipe(model)
	if err != nil {
		return "", err
	}
	return modelPath(m.Dir, r.Network, m.spec(), m.Engine != nil)
}

func (m Maker) makeModel(ctx context.Context, model workload.Model, path string) error {
	r, err := recipe(model)
	if err != nil {
		return err
	}
	a := r.Network
	var options arch.Options
	if m.Engine != nil && a.FeatureSize > 0 {
		if options.Classifier, err = m.classifier(ctx, r); err != nil {
			return err
		}
	}
	graph, _, err := a.Build(options)
	if err != nil {
		return err
	}
	return fileio.WriteOnce(path, func(temporary string) error { return graph.WriteFile(ctx, temporary) })
}

// recipe says what the built-in form of a model is made of.
func recipe(model workload.Model) (vision.BuiltIn, error) {
	r, ok := model.BuiltIn.(vision.BuiltIn)
	if !ok {
		return r, fmt.Errorf("%s has no built-in form", model.Name)
	}
	return r, nil
}

// modelPath names the file of an architecture by everything that its content follows
// from. A model that can classify has a last layer that follows from the data set.
func modelPath(dir string, a arch.Architecture, spec synth.ImageNetSpec, classifies bool) (string, error) {
	key, err := a.Key(arch.Options{})
	if err != nil {
		return "", err
	}
	if classifies && a.FeatureSize > 0 {
		key = fmt.Sprintf("%s-v%d-%s", key, version, spec.Key())
	}
	return filepath.Join(dir, modelsDir, key+".onnx"), nil
}

// HasModel says whether the built-in model is there already, in the folder of a Maker.
func HasModel(dir string, model workload.Model) bool {
	path, err := Maker{Dir: dir, Engine: anyEngine{}}.modelPath(model)
	if err != nil {
		return false
	}
	_, err = os.Stat(path)
	return err == nil
}

// HasDataset returns the folder of the built-in data set of a model, and whether it is
// there already.
func HasDataset(dir string, model workload.Model) (string, bool) {
	set, err := Maker{Dir: dir, Engine: anyEngine{}}.set(model)
	if err != nil {
		return "", false
	}
	folder := filepath.Join(dir, datasetsDir, set.key)
	_, err = synth.ReadManifest(folder)
	return folder, err == nil
}

// anyEngine stands for an engine that computes.
type anyEngine struct{ backend.Engine }

const (
	datasetsDir = "datasets"
	modelsDir   = "models"
)

// IsModel reports whether a file is a model with random weights that was made here, wherever it lies and in
// whatever precision it is by now. A file that cannot be read is none: who opens it says why.
func IsModel(path string) bool {
	head, err := onnx.ReadHead(path)
	return err == nil && arch.Untrained(head.Metadata)
}

// IsDataset reports whether a folder, or that of a file, is a data set that was made here, or has copies of its files. One
// whose manifest cannot be read is one as well.
func IsDataset(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	folder := path
	if !info.IsDir() {
		folder = filepath.Dir(path)
	}
	_, err = synth.ReadManifest(folder)
	return !errors.Is(err, fs.ErrNotExist) || synth.HasMark(path)
}

// loadedShare is how much memory a model takes while it is loaded and runs, for each byte of its files: the one of
// 5.7 GB took 6.8 GB.
const loadedShare = 1.2

// checkRoom refuses to write files for which there is not enough disk, or memory to load them,
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
		graph, _, err := m.network(p).Build(m.options(p))
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
