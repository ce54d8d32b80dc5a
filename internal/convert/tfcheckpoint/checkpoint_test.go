package tfcheckpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/convert/tfcheckpoint/checkpointtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// some are variables of several shapes, in several blocks.
func some() map[string]checkpointtest.Variable {
	v := map[string]checkpointtest.Variable{"g": {Numbers: []float32{1.5}}, "Variable": {Dims: []int64{1}, Numbers: []float32{7}}}
	for i := range 12 {
		v[fmt.Sprintf("dynamic_seq2seq/x/%02d", i)] = checkpointtest.Variable{Dims: []int64{2, int64(i + 1)}, Numbers: make([]float32, 2*(i+1))}
		v[fmt.Sprintf("dynamic_seq2seq/x/%02d", i)].Numbers[i] = float32(i) + 0.25
	}
	return v
}

func TestReadVariables(t *testing.T) {
	for _, shards := range []int{1, 3} {
		dir, want := t.TempDir(), some()
		checkpointtest.Write(t, dir, shards, want)
		above := t.TempDir()
		if err := os.Rename(dir, filepath.Join(above, "unpacked")); err != nil {
			t.Fatal(err)
		}
		prefix := filepath.Join(above, "unpacked", "translate.ckpt")
		for _, path := range []string{above, filepath.Dir(prefix), prefix, prefix + ".index", prefix + ".meta", fmt.Sprintf("%s.data-00000-of-%05d", prefix, shards)} {
			c, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, w := range want {
				v, err := c.Find(w.Dims, "nowhere", name)
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.Read(v)
				if diff := cmp.Diff(w.Numbers, got); err != nil || diff != "" {
					t.Errorf("%d files, %s (-want +got): %v\n%s", shards, name, err, diff)
				}
			}
		}
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	checkpointtest.Write(t, dir, 1, some())
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find([]int64{1}, "dynamic_seq2seq/decoder/kernel", "decoder/kernel"); err == nil || !strings.Contains(err.Error(), `no variable "dynamic_seq2seq/decoder/kernel" (it has 14 others)`) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Find([]int64{2, 5}, "dynamic_seq2seq/x/03"); err == nil || !strings.Contains(err.Error(), `"dynamic_seq2seq/x/03" has shape [2 4], expected [2 5]`) {
		t.Errorf("error %v", err)
	}
	if _, err := Open(t.TempDir()); !testenv.Names(err, "0 files *.index … one") {
		t.Errorf("an empty folder: error %v", err)
	}
	two := t.TempDir()
	checkpointtest.Write(t, two, 1, some())
	if err := os.WriteFile(filepath.Join(two, "other.ckpt.index"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(two); !testenv.Names(err, "2 files *.index … one") {
		t.Errorf("two checkpoints: error %v", err)
	}
	if _, err := Open(filepath.Join(dir, "other.ckpt")); err == nil || !strings.Contains(err.Error(), "other.ckpt: no such file") || !strings.Contains(err.Error(), "other.ckpt.index") {
		t.Errorf("another prefix: error %v", err)
	}
	other := filepath.Join(dir, "model.pt")
	if err := os.WriteFile(other, []byte("PK"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other); !testenv.Names(err, fmt.Sprintf("%[1]s is not a checkpoint of TensorFlow: expected files %[1]s.index and", other)) {
		t.Errorf("a file of PyTorch: error %v", err)
	}
}

func TestDamagedIndex(t *testing.T) {
	entries := map[string][]byte{"": {8, 1}, "x": {8, 1, 0x12, 4, 0x12, 2, 8, 2, 0x28, 8}}
	good := checkpointtest.Table(entries)
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "cut off"},
		{"cut off", good[:len(good)-1], "it is not an index of a checkpoint, or is cut off"},
		{"text", bytes.Repeat([]byte("x"), 100), "it is not an index"},
		{"a flipped byte", append([]byte{good[0] ^ 1}, good[1:]...), "check sum"},
		{"no first half", good[len(good)/2:], "cut off"},
		{"no header", checkpointtest.Table(map[string][]byte{"x": entries["x"]}), "the header says 0 files with elements, expected 1 to 99999"},
		{"many files", checkpointtest.Table(map[string][]byte{"": {8, 0xff, 0xff, 0xff, 0x7f}}), "files with elements"},
		{"big-endian", checkpointtest.Table(map[string][]byte{"": {8, 1, 0x10, 1}}), "big-endian"},
		{"no message", checkpointtest.Table(map[string][]byte{"": {8, 1}, "x": {0xff}}), `variable "x"`},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "m.index"), test.file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !testenv.Names(err, test.want) || !strings.Contains(err.Error(), "m.index") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func TestUnsupportedVariables(t *testing.T) {
	for _, test := range []struct {
		name  string
		entry []byte
		dims  []int64
		want  string
	}{
		{"float64", []byte{8, 2, 0x12, 0, 0x28, 8}, nil, "is of type 2: must be float32"},
		{"slices", []byte{8, 1, 0x12, 0, 0x28, 4, 0x3a, 0}, nil, "stored in slices"},
		{"too few bytes", []byte{8, 1, 0x12, 4, 0x12, 2, 8, 2, 0x28, 4}, []int64{2}, "has 4 bytes, expected 8"},
		{"no elements", []byte{8, 1, 0x12, 4, 0x12, 2, 8, 0}, []int64{-1}, `"x" has shape [0]`},
		{"more elements than there are numbers", append([]byte{8, 1, 0x12, 32}, bytes.Repeat([]byte{0x12, 6, 8, 0xff, 0xff, 0xff, 0xff, 7}, 4)...), []int64{-1, -1, -1, -1}, "has shape [2147483647 2147483647"},
		{"another number of axes", []byte{8, 1, 0x12, 4, 0x12, 2, 8, 2, 0x28, 8}, []int64{-1, -1}, "has shape [2], expected [-1 -1]"},
		{"huge", []byte{8, 1, 0x12, 8, 0x12, 6, 8, 0xff, 0xff, 0xff, 0xff, 7}, []int64{-1}, "for its shape [2147483647]"},
	} {
		c, err := parseIndex(checkpointtest.Table(map[string][]byte{"": {8, 1}, "x": test.entry}))
		if err != nil {
			t.Fatal(test.name, err)
		}
		if _, err := c.Find(test.dims, "x"); !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func TestDamagedElements(t *testing.T) {
	dir := t.TempDir()
	checkpointtest.Write(t, dir, 1, some())
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Find([]int64{2, 12}, "dynamic_seq2seq/x/11")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "translate.ckpt.data-00000-of-00001")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"a flipped byte", func() error { data[v.offset] ^= 1; return os.WriteFile(path, data, 0o644) }, "the file is damaged"},
		{"cut off", func() error { return os.Truncate(path, int64(v.offset)+3) }, "the file is cut off"},
		{"gone", func() error { return os.Remove(path) }, "translate.ckpt.data-00000-of-00001"},
	} {
		if err := test.change(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(v); !testenv.Names(err, test.want) || !strings.Contains(err.Error(), v.Name) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	v.shard = 7
	if _, err := c.Read(v); err == nil || !strings.Contains(err.Error(), "in file 7 of 1") {
		t.Errorf("another file: error %v", err)
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add(checkpointtest.Table(map[string][]byte{"": {8, 1}, "x": {8, 1, 0x12, 4, 0x12, 2, 8, 2, 0x28, 8}, "xy": {8, 1, 0x12, 0, 0x28, 4}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := parseIndex(file)
		if err != nil {
			return
		}
		for name, v := range c.variables {
			if found, err := c.Find(v.Dims, name); err == nil && product(found.Dims)*4 != found.size {
				t.Errorf("variable %+v", found)
			}
		}
	})
}

func product(dims []int64) uint64 {
	n := uint64(1)
	for _, d := range dims {
		n *= uint64(d)
	}
	return n
}
