package captions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
		data, err := fileio.ReadFile(path, maxLatents)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		l := Latents{Path: path}
		if err == nil {
			err = l.parse(data)
		}
		if err != nil {
			return l, fmt.Errorf("reading the latents: %s: %w", path, err)
		}
		return l, nil
	}
	return Latents{}, fmt.Errorf("reading the latents: %s has none of %s", dir, strings.Join(latentFiles, ", "))
}

func (l *Latents) parse(data []byte) error {
	var read func() error
	var shape tensor.Shape
	if strings.HasSuffix(l.Path, ".npy") {
		r, err := npy.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		shape, read = r.Shape, func() error { return r.Read(tensor.Of(l.Values, r.Shape...)) }
	} else {
		a, err := pickle.ReadTorch(data)
		if err != nil {
			return err
		}
		for _, n := range a.Shape {
			shape = append(shape, int64(n))
		}
		read = func() error { return a.Floats(l.Values) }
	}
	isSide := func(n int64) bool { return n >= 1 && n <= maxSide }
	if len(shape) != 4 || shape[0] != 1 || shape[1] != channels || !isSide(shape[2]) || !isSide(shape[3]) {
		return fmt.Errorf("the shape of the latents is %v: must be [1 %d height width] with sides up to %d", shape, channels, maxSide)
	}
	l.Height, l.Width = int(shape[2]), int(shape[3])
	l.Values = make([]float32, channels*l.Height*l.Width)
	if err := read(); err != nil {
		return err
	}
	for i, v := range l.Values {
		if v-v != 0 {
			return fmt.Errorf("number %d of the latents is %v", i, v)
		}
	}
	return nil
}
