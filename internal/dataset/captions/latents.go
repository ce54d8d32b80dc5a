package captions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/dataset/pickle"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// Where the latents may lie, of which the first is read.
var latentFiles = []string{"latents/latents.pt", "latents/latents.npy", "latents.pt", "latents.npy"}

// channels are those of latents.
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

// parse reads latents as PyTorch or NumPy saves them.
func (l *Latents) parse(data []byte) error {
	if strings.HasSuffix(l.Path, ".npy") {
		return l.parseNumPy(data)
	}
	a, err := pickle.ReadTorch(data)
	if err != nil {
		return err
	}
	var shape tensor.Shape
	for _, n := range a.Shape {
		shape = append(shape, int64(n))
	}
	if err := l.sizes(shape); err != nil {
		return err
	}
	if err := a.Floats(l.Values); err != nil {
		return err
	}
	return l.check()
}

func (l *Latents) parseNumPy(data []byte) error {
	r, err := npy.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if err := l.sizes(r.Shape); err != nil {
		return err
	}
	if err := r.Read(tensor.Of(l.Values, r.Shape...)); err != nil {
		return err
	}
	return l.check()
}

// sizes takes the extents, and makes room.
func (l *Latents) sizes(shape tensor.Shape) error {
	isSide := func(n int64) bool { return n >= 1 && n <= maxSide }
	if len(shape) != 4 || shape[0] != 1 || shape[1] != channels || !isSide(shape[2]) || !isSide(shape[3]) {
		return fmt.Errorf("the latents have the shape %v, want [1 %d height width] with sides up to %d", shape, channels, maxSide)
	}
	l.Height, l.Width = int(shape[2]), int(shape[3])
	l.Values = make([]float32, channels*l.Height*l.Width)
	return nil
}

// check wants numbers.
func (l *Latents) check() error {
	for i, v := range l.Values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("number %d of the latents is %v", i, v)
		}
	}
	return nil
}
