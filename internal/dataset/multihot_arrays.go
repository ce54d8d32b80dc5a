package dataset

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// An array is where the elements of a NumPy array lie.
type array struct {
	path  string
	first int64 // byte
	rows  int
	width int
	dtype tensor.DType
}

// openTables opens 0.npy to 25.npy of an archive, which are stored as they are.
func (d *MultiHot) openTables(path string) error {
	f, err := fileio.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	members := map[string]*zip.File{} // of several with a name the last, as NumPy has it
	for _, m := range z.File {
		members[m.Name] = m
	}
	for table := range CriteoCategories {
		name := fmt.Sprintf("%d.npy", table)
		member := members[name]
		if member == nil {
			return fmt.Errorf("%s has no %s", path, name)
		}
		a, err := openMember(f, member, info.Size())
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, err)
		}
		a.path = path
		d.tables, d.Hot = append(d.tables, a), append(d.Hot, a.width)
	}
	return nil
}

// openMember opens an array in an archive of so many bytes.
func openMember(f io.ReaderAt, member *zip.File, archive int64) (array, error) {
	start, err := member.DataOffset()
	if err != nil {
		return array{}, err
	}
	if member.Method != zip.Store {
		return array{}, errors.New("it is compressed, want an archive of numpy.savez")
	}
	size := int64(min(member.UncompressedSize64, uint64(archive))) // what the archive says need not be so
	a, err := parseArray(io.NewSectionReader(f, start, size), size, tensor.Int32, 0)
	a.first += start
	return a, err
}

func openArray(path string, dtype tensor.DType, width int) (array, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return array{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return array{}, err
	}
	a, err := parseArray(f, info.Size(), dtype, width)
	if err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	a.path = path
	return a, nil
}

// mostHot bounds the categories that a table may have of a pair; the official data have up to
// 100.
const mostHot = 1 << 12

// parseArray reads the head of an array of one or two axes; width 0: any.
func parseArray(r io.Reader, size int64, dtype tensor.DType, width int) (array, error) {
	counted := &counter{r: r}
	head, err := npy.NewReader(counted)
	if err != nil {
		return array{}, err
	}
	a := array{first: counted.n, dtype: head.Type}
	rightType := head.Type == dtype && !head.Swapped
	if !a.takeShape(head.Shape) || !rightType || width != 0 && a.width != width {
		return a, fmt.Errorf("the array is %v%v, want little-endian %v[N %s]", head.Type, head.Shape, dtype, widthText(width))
	}
	if want := a.first + int64(a.rows)*int64(a.width)*4; size < want {
		return a, fmt.Errorf("there are %d bytes, want %d: the array is cut off", size, want)
	}
	return a, nil
}

// takeShape takes rows and width of one or two axes, if there may be so many.
func (a *array) takeShape(shape tensor.Shape) bool {
	if len(shape) == 1 {
		shape = tensor.Shape{shape[0], 1}
	}
	if len(shape) != 2 || shape[1] < 1 || shape[1] > mostHot {
		return false
	}
	a.rows, a.width = int(shape[0]), int(shape[1])
	return shape[0] >= 1 && shape[0] <= math.MaxInt32
}

func widthText(width int) string {
	if width == 0 {
		return "K"
	}
	return fmt.Sprint(width)
}

// A counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// read returns the elements of some rows as their bits.
func (a array) read(r Run) ([]int32, error) {
	f, err := fileio.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, 4*a.width*r.Count)
	if _, err := f.ReadAt(data, a.first+int64(r.First)*int64(a.width)*4); err != nil {
		return nil, fmt.Errorf("%s: pairs %d to %d: %w", a.path, r.First, r.First+r.Count-1, err)
	}
	out := make([]int32, len(data)/4)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}
