package pickle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// ReadTorch reads the tensor in a file that torch.save of PyTorch 1.6 or later wrote: an archive
// with a pickle and the memory of the tensor beside it.
func ReadTorch(data []byte) (*Array, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("no archive as torch.save of PyTorch 1.6 or later writes it: %w", err)
	}
	t := &torchFile{archive: archive, known: map[string][]byte{}, left: uint64(len(data))}
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
	left    uint64            // bytes that entries may still have: several may lie in one place
}

// program returns the pickle.
func (t *torchFile) program() ([]byte, error) {
	const name = "data.pkl"
	for _, f := range t.archive.File {
		prefix, ok := strings.CutSuffix(f.Name, "/"+name)
		if !ok || strings.Contains(prefix, "/") {
			continue
		}
		t.prefix = prefix + "/"
		if order, err := t.read("byteorder"); err == nil && string(order) != "little" {
			return nil, fmt.Errorf("the tensor's bytes are in the order %q, want little", order)
		}
		return t.read(name)
	}
	return nil, errors.New("the archive has no data.pkl: torch.save of PyTorch 1.6 or later writes one")
}

// storage returns the memory of a key, which a pickle may ask for again and again.
func (t *torchFile) storage(key string) (data []byte, err error) {
	data, ok := t.known[key]
	if !ok {
		data, err = t.read("data/" + key)
		t.known[key] = data
	}
	return data, err
}

// read returns the content of an entry.
func (t *torchFile) read(name string) ([]byte, error) {
	name = t.prefix + name
	i := slices.IndexFunc(t.archive.File, func(f *zip.File) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the archive has no %s", name)
	}
	data, err := t.content(t.archive.File[i])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// content reads an entry. PyTorch compresses none, so all of them together are no longer than
// the archive.
func (t *torchFile) content(f *zip.File) ([]byte, error) {
	if f.Method != zip.Store {
		return nil, errors.New("the entry is compressed, which torch.save does not do")
	}
	if f.CompressedSize64 > t.left {
		return nil, errors.New("the entries of the archive have more bytes than it")
	}
	t.left -= f.CompressedSize64
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// A storageType is the type of the numbers of a tensor, as NumPy writes it.
type storageType string

// A torchStorage is the memory of a tensor.
type torchStorage struct {
	dtype
	data []byte
}

// torchNames are what PyTorch asks for in the pickle of a tensor.
var torchNames = map[string]any{
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

// torchName returns what a name of PyTorch's stands for, where there is memory beside the pickle.
func (m *machine) torchName(name string) (any, bool) {
	if m.storage == nil {
		return nil, false
	}
	v, ok := torchNames[name]
	return v, ok
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
	data, err := m.storage(name)
	if err != nil {
		return nil, err
	}
	s := &torchStorage{dtype: dtype{code: string(t), order: "<"}, data: data}
	if have := len(data); have%s.size() != 0 || n != int64(have/s.size()) {
		return nil, fmt.Errorf("the memory of a tensor has %d bytes, want %d numbers of %q", have, n, s.code)
	}
	return s, nil
}

// errTensor is the error for arguments that PyTorch does not write.
var errTensor = errors.New("a tensor is not as PyTorch writes it")

// rebuildTensor makes a tensor of its memory, the first element, extents and strides.
func rebuildTensor(args Tuple) (any, error) {
	if len(args) < 4 {
		return nil, errTensor
	}
	s, ok := args[0].(*torchStorage)
	first, ok2 := args[1].(int64)
	if !ok || !ok2 {
		return nil, errTensor
	}
	shape, err := shapeOf(args[2])
	strides, err2 := shapeOf(args[3])
	if err != nil || err2 != nil || len(shape) != len(strides) {
		return nil, errTensor
	}
	return s.tensor(int(first), shape, strides)
}

// tensor is the part of the memory from the first element on.
func (s *torchStorage) tensor(first int, shape, strides []int) (*Array, error) {
	n, err := product(shape, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if !contiguous(shape, strides) {
		return nil, fmt.Errorf("a tensor of shape %v has strides %v: want one that is contiguous", shape, strides)
	}
	size := s.size()
	if have := len(s.data) / size; first < 0 || first > have || n > have-first {
		return nil, fmt.Errorf("a tensor of shape %v from element %d on is more than its memory of %d", shape, first, have)
	}
	a := &Array{}
	return a, a.fill(s.dtype, shape, false, s.data[first*size:][:n*size])
}

// contiguous reports whether the axes of a tensor follow each other in memory, the last one
// running fastest. The stride of an axis of one element does not matter.
func contiguous(shape, strides []int) bool {
	n := 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		if shape[axis] != 1 && strides[axis] != n {
			return false
		}
		n *= max(shape[axis], 1)
	}
	return true
}
