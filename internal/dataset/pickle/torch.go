package pickle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// ReadTorch reads the tensor in a file that torch.save of PyTorch 1.6 or later wrote: an archive
// with a pickle and the memory of the tensor beside it.
func ReadTorch(data []byte) (*Array, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("no archive as torch.save of PyTorch 1.6 or later writes it: %w", err)
	}
	t := &torchFile{archive: archive, known: map[string][]byte{}}
	program, err := t.program()
	if err != nil {
		return nil, err
	}
	v, err := run(&machine{data: program, memo: make(map[uint64]any), storage: t.storage})
	if err != nil {
		return nil, err
	}
	a, ok := v.(*Array)
	if !ok {
		return nil, fmt.Errorf("the file has %s, want a tensor", describe(v))
	}
	return a, nil
}

// describe names what a pickle has in the place of a tensor.
func describe(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a dictionary"
	case []any, Tuple:
		return "a list"
	}
	return fmt.Sprintf("%T", v)
}

// A torchFile is an archive: NAME/data.pkl, NAME/data/0 and so on, NAME being that of the file
// when it was written.
type torchFile struct {
	archive *zip.Reader
	prefix  string
	known   map[string][]byte // by key
}

// program returns the pickle.
func (t *torchFile) program() ([]byte, error) {
	const name = "data.pkl"
	for _, f := range t.archive.File {
		if prefix, ok := strings.CutSuffix(f.Name, name); ok && strings.Count(f.Name, "/") == 1 && strings.HasSuffix(prefix, "/") {
			t.prefix = prefix
			if order, err := t.read("byteorder"); err == nil && string(order) != "little" {
				return nil, fmt.Errorf("the tensor's bytes are in the order %q, want little", order)
			}
			return t.read(name)
		}
	}
	return nil, errors.New("the archive has no data.pkl: torch.save of PyTorch 1.6 or later writes one")
}

// storage returns the memory of a key, which a pickle may ask for again and again.
func (t *torchFile) storage(key string) (data []byte, err error) {
	if data, ok := t.known[key]; ok {
		return data, nil
	}
	data, err = t.read("data/" + key)
	t.known[key] = data
	return data, err
}

// read returns the content of an entry. PyTorch compresses none, so it is no longer than the
// archive.
func (t *torchFile) read(name string) ([]byte, error) {
	for _, f := range t.archive.File {
		if f.Name != t.prefix+name {
			continue
		}
		if f.Method != zip.Store {
			return nil, fmt.Errorf("%s is compressed, which torch.save does not do", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		return data, r.Close()
	}
	return nil, fmt.Errorf("the archive has no %s", t.prefix+name)
}

// A storageType is the type of the numbers of a tensor, as NumPy writes it.
type storageType string

// A torchStorage is the memory of a tensor.
type torchStorage struct {
	dtype
	data []byte
}

// torchNames are what PyTorch asks for in the pickle of a tensor.
func torchNames() map[string]any {
	return map[string]any{
		"torch._utils._rebuild_tensor_v2": maker(rebuildTensor),
		"collections.OrderedDict":         maker(func(Tuple) (any, error) { return &dict{map[string]any{}}, nil }),
		"torch.FloatStorage":              storageType("f4"),
		"torch.DoubleStorage":             storageType("f8"),
		"torch.HalfStorage":               storageType("f2"),
		"torch.LongStorage":               storageType("i8"),
		"torch.IntStorage":                storageType("i4"),
		"torch.ShortStorage":              storageType("i2"),
		"torch.CharStorage":               storageType("i1"),
		"torch.ByteStorage":               storageType("u1"),
	}
}

// persistent puts the memory in the place of its name.
func (m *machine) persistent() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, ok := v.(Tuple)
	if m.storage == nil || !ok || len(id) != 5 || id[0] != "storage" {
		return errors.New("there is nothing beside this file to refer to")
	}
	s, err := m.storageOf(id[1], id[2], id[4])
	m.push(s)
	return err
}

// storageOf reads memory by type, key and number of elements.
func (m *machine) storageOf(typ, key, count any) (*torchStorage, error) {
	t, ok := typ.(storageType)
	name, ok2 := key.(string)
	n, ok3 := count.(int64)
	if !ok || !ok2 || !ok3 || strings.ContainsAny(name, "/\\") {
		return nil, errors.New("the memory of a tensor is not named as PyTorch does it")
	}
	s := &torchStorage{dtype: dtype{code: string(t), order: "<"}}
	var err error
	if s.data, err = m.storage(name); err != nil {
		return nil, err
	}
	if n < 0 || n > math.MaxInt32 || int64(len(s.data)) != n*int64(s.size()) {
		return nil, fmt.Errorf("the memory of a tensor has %d bytes, want %d numbers of %q", len(s.data), n, s.code)
	}
	return s, nil
}

// rebuildTensor makes a tensor of its memory, the first element, extents and strides.
func rebuildTensor(args Tuple) (any, error) {
	wrong := errors.New("a tensor is not as PyTorch writes it")
	if len(args) < 4 {
		return nil, wrong
	}
	s, ok := args[0].(*torchStorage)
	first, ok2 := args[1].(int64)
	shape, err := shapeOf(args[2])
	strides, err2 := shapeOf(args[3])
	if !ok || !ok2 || err != nil || err2 != nil || len(shape) != len(strides) {
		return nil, wrong
	}
	n, err := elementsOf(shape, strides)
	if err != nil {
		return nil, err
	}
	size := s.size()
	if have := int64(len(s.data) / size); first < 0 || first > have || int64(n) > have-first {
		return nil, fmt.Errorf("a tensor of shape %v from element %d on is more than its memory of %d", shape, first, have)
	}
	a := &Array{}
	return a, a.fill(s.dtype, shape, false, s.data[int(first)*size:][:n*size])
}

// elementsOf counts the elements of a tensor whose axes follow each other in memory.
func elementsOf(shape, strides []int) (int, error) {
	n := 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		if shape[axis] != 1 && strides[axis] != n {
			return 0, fmt.Errorf("a tensor of shape %v has strides %v: want one that is contiguous", shape, strides)
		}
		if shape[axis] > 0 && n > math.MaxInt32/shape[axis] {
			return 0, fmt.Errorf("a tensor has shape %v", shape)
		}
		n *= shape[axis]
	}
	return n, nil
}
