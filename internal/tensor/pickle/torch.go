package pickle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nlpodyssey/gopickle/types"
)

// ReadTorch reads the tensor of float32 or int64 in a file that torch.save of PyTorch 1.6 or later wrote:
// an archive of NAME/data.pkl, NAME/data/0 and so on.
func ReadTorch(data []byte) (*Array, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("not an archive of torch.save (PyTorch 1.6 or later): %w", err)
	}
	prefix := ""
	for _, f := range archive.File {
		if dir, ok := strings.CutSuffix(f.Name, "/data.pkl"); ok && !strings.Contains(dir, "/") {
			prefix = dir + "/"
		}
	}
	// PyTorch compresses nothing, so all entries together are at most as long as the archive.
	left := uint64(len(data))
	entry := func(name string) ([]byte, error) {
		for _, f := range archive.File {
			if f.Name != prefix+name {
				continue
			}
			if f.Method != zip.Store || f.CompressedSize64 > left {
				return nil, fmt.Errorf("%s: compressed, or longer than the archive", f.Name)
			}
			left -= f.CompressedSize64
			r, err := f.Open()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			content, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			return content, nil
		}
		return nil, fmt.Errorf("the archive has no %s", prefix+name)
	}
	program, err := entry("data.pkl")
	if err != nil {
		return nil, err
	}
	v, err := load(program, findTorchClass, func(id any) (any, error) {
		return loadStorage(id, func(key string) ([]byte, error) { return entry("data/" + key) })
	})
	if err != nil {
		return nil, fmt.Errorf("pickle: %w", err)
	}
	a, ok := v.(*ndarray)
	if !ok || !a.built {
		return nil, fmt.Errorf("the file has a %T, expected a tensor", v)
	}
	return &a.Array, nil
}

// A torchStorage is the numbers of a tensor, and a storageType their type, as NumPy names it.
type (
	torchStorage struct {
		storageType
		data []byte
	}
	storageType string
)

func findTorchClass(module, name string) (any, error) {
	switch module + "." + name {
	case "torch._utils._rebuild_tensor_v2":
		return function(rebuildTensor), nil
	case "torch.FloatStorage":
		return storageType("f4"), nil
	case "torch.LongStorage":
		return storageType("i8"), nil
	}
	return findClass(module, name)
}

// loadStorage returns the numbers for ("storage", type, key, device, count).
func loadStorage(id any, storage func(key string) ([]byte, error)) (any, error) {
	t, ok := id.(*types.Tuple)
	if !ok || len(*t) != 5 || (*t)[0] != "storage" {
		return nil, errTorch
	}
	of, ok := (*t)[1].(storageType)
	key, ok2 := (*t)[2].(string)
	n, ok3 := (*t)[4].(int)
	if !ok || !ok2 || !ok3 {
		return nil, errTorch
	}
	data, err := storage(key)
	if err != nil {
		return nil, err
	}
	if size := of.size(); len(data)%size != 0 || n != len(data)/size {
		return nil, fmt.Errorf("the tensor has %d bytes, expected %d numbers of %d", len(data), n, size)
	}
	return torchStorage{of, data}, nil
}

// size is how many bytes a number has.
func (s storageType) size() int { return elementSize(string(s)) }

var errTorch = errors.New("a tensor is not written as PyTorch writes it")

// rebuildTensor makes a tensor of its numbers, the first element, extents and strides.
func rebuildTensor(args []any) (any, error) {
	s, ok := arg[torchStorage](args, 0)
	first, ok2 := arg[int](args, 1)
	if !ok || !ok2 || len(args) < 4 {
		return nil, errTorch
	}
	shape, err := shapeOf(args[2])
	if err != nil {
		return nil, err
	}
	strides, err := shapeOf(args[3])
	if err != nil {
		return nil, err
	}
	if len(shape) != len(strides) {
		return nil, errTorch
	}
	size := s.size()
	n, err := product(shape, len(s.data)/size)
	if err != nil {
		return nil, err
	}
	stride := 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		if shape[axis] != 1 && strides[axis] != stride {
			return nil, fmt.Errorf("a tensor of shape %v has strides %v, it must be contiguous", shape, strides)
		}
		stride *= max(shape[axis], 1)
	}
	if first < 0 || first > len(s.data)/size-n {
		return nil, fmt.Errorf("a tensor of shape %v starts at element %d of %d", shape, first, len(s.data)/size)
	}
	return &ndarray{Array{Type: string(s.storageType), Shape: shape, Data: s.data[size*first:][:size*n]}, true}, nil
}
