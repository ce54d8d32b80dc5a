package captions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
)

// latentFiles are the places of the latents. The first that exists counts.
var latentFiles = []string{"latents/latents.pt", "latents/latents.npy", "latents.pt", "latents.npy"}

// channels is the number of planes of latents.
const channels = 4

const (
	maxLatents = 256 << 20
	maxSide    = 1 << 12
)

// Latents are the noise that every image begins with: Channels planes of Height × Width numbers.
type Latents struct {
	Path          string
	Height, Width int
	Values        []float32
}

// ReadLatents reads the latents of a folder.
func ReadLatents(dir string) (Latents, error) {
	for _, name := range latentFiles {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		shape, values, err := ReadNoise(path, "height", "width")
		if err == nil && shape[1] != channels {
			err = fmt.Errorf("reading the latents: %s: the shape of the latents is %v: must be [1 %d height width]", path, shape, channels)
		}
		if err != nil {
			return Latents{Path: path}, err
		}
		return Latents{path, int(shape[2]), int(shape[3]), values}, nil
	}
	return Latents{}, fmt.Errorf("reading the latents: %s has none of %s", dir, strings.Join(latentFiles, ", "))
}

// ReadNoise reads latents of a single sample from a file of PyTorch or NumPy. Their shape is 1, the channels, and an extent of each
// axis that is named.
func ReadNoise(path string, axes ...string) (shape tensor.Shape, values []float32, err error) {
	data, err := fileio.ReadFile(path, maxLatents)
	if err == nil {
		shape, values, err = parseNoise(strings.HasSuffix(path, ".npy"), data, axes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the latents: %s: %w", path, err)
	}
	return shape, values, nil
}

func parseNoise(numpy bool, data []byte, axes []string) (shape tensor.Shape, values []float32, err error) {
	var read func() error
	if numpy {
		r, err := npy.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, nil, err
		}
		shape, read = r.Shape, func() error { return r.Read(tensor.Of(values, r.Shape...)) }
	} else {
		a, err := pickle.ReadTorch(data)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range a.Shape {
			shape = append(shape, int64(n))
		}
		read = func() error { return a.Floats(values) }
	}
	wrong := func(n int64) bool { return n < 1 || n > maxSide }
	if len(shape) != 2+len(axes) || shape[0] != 1 || slices.ContainsFunc(shape, wrong) || shape.Len() > maxLatents {
		return nil, nil, fmt.Errorf("the shape of the latents is %v: must be [1 channels %s] with sides up to %d", shape, strings.Join(axes, " "), maxSide)
	}
	values = make([]float32, shape.Len())
	if err := read(); err != nil {
		return nil, nil, err
	}
	for i, v := range values {
		if v-v != 0 {
			return nil, nil, fmt.Errorf("number %d of the latents is %v", i, v)
		}
	}
	return shape, values, nil
}
