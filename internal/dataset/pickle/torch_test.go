package pickle

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTensorsOfPyTorchAreRead(t *testing.T) {
	a, err := ReadTorch(readFile(t, "torch_float.pt"))
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, 24)
	if err := a.Floats(values); err != nil || values[0] != 0 || values[23] != 23 || !cmp.Equal(a.Shape, []int{1, 2, 3, 4}) {
		t.Errorf("the tensor is %v %v, %v", a.Shape, values, err)
	}
	a, err = ReadTorch(readFile(t, "torch_part.pt"))
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := a.Integers(); err != nil || !cmp.Equal(whole, []int64{3, 4, 5, 6, 7, 8}) || !cmp.Equal(a.Shape, []int{2, 3}) {
		t.Errorf("the part of a tensor is %v %v, %v", a.Shape, whole, err)
	}
}

// archive writes an archive of entries; a name that ends with "!" is compressed.
func archive(t testing.TB, entries ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(entries); i += 2 {
		name, compressed := strings.CutSuffix(entries[i], "!")
		h := &zip.FileHeader{Name: name}
		if compressed {
			h.Method = zip.Deflate
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(entries[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// tensorOf is the pickle of a tensor of eight float32, but for what is given.
func tensorOf(storage, count, first, shape, strides string) string {
	return "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + storage + "\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" +
		count + "tQ" + first + shape + strides + "\x89ccollections\nOrderedDict\n)RtR."
}

func TestWhatIsNoTensorIsNamed(t *testing.T) {
	memory := strings.Repeat("\x00", 32)
	const two4, strides = "(K\x02K\x04t", "(K\x04K\x01t"
	good := tensorOf("FloatStorage", "K\x08", "K\x00", two4, strides)
	if a, err := ReadTorch(archive(t, "x/data.pkl", good, "x/data/0", memory)); err != nil || a.Len() != 8 {
		t.Fatalf("%v, %v", a, err)
	}
	whole := archive(t, "x/data.pkl", good, "x/data/0", memory)
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "no archive as torch.save", nil},
		{"a file that ends too early", "no archive as torch.save", whole[:len(whole)-30]},
		{"the old form", "no archive as torch.save", []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")},
		{"no pickle", "has no data.pkl", archive(t, "x/data/0", memory)},
		{"no memory", "has no x/data/0", archive(t, "x/data.pkl", good)},
		{"too little memory", "has 31 bytes, want 8 numbers", archive(t, "x/data.pkl", good, "x/data/0", memory[:31])},
		{"compressed memory", "is compressed", archive(t, "x/data.pkl", good, "x/data/0!", memory)},
		{"the other order", `in the order "big"`, archive(t, "x/data.pkl", good, "x/data/0", memory, "x/byteorder", "big")},
		{"a type that is not known", "torch.BFloat16Storage, which is refused", archive(t, "x/data.pkl", tensorOf("BFloat16Storage", "K\x08", "K\x00", two4, strides), "x/data/0", memory)},
		{"another function", "os.system, which is refused", archive(t, "x/data.pkl", "cos\nsystem\n.")},
		{"a dictionary", "a dictionary, want a tensor", archive(t, "x/data.pkl", "}.")},
		{"turned axes", "want one that is contiguous", archive(t, "x/data.pkl", tensorOf("FloatStorage", "K\x08", "K\x00", two4, "(K\x01K\x02t"), "x/data/0", memory)},
		{"more than there is", "more than its memory of 8", archive(t, "x/data.pkl", tensorOf("FloatStorage", "K\x08", "K\x01", two4, strides), "x/data/0", memory)},
		{"a part before the first", "more than its memory of 8", archive(t, "x/data.pkl", tensorOf("FloatStorage", "K\x08", "J\xff\xff\xff\xff", two4, strides), "x/data/0", memory)},
		{"a key that leads elsewhere", "not named as PyTorch", archive(t, "x/data.pkl", strings.Replace(good, "X\x01\x00\x00\x000", "X\x03\x00\x00\x00../", 1), "x/data/0", memory)},
		{"a type in the place of a tensor", "a value is pickle.storageType", archive(t, "x/data.pkl", "ctorch\nFloatStorage\n.")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a, err := ReadTorch(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ReadTorch = %v, %v, want an error with %q", a, err, c.want)
			}
		})
	}
	for _, data := range []string{good, "NQ."} {
		if v, err := Read([]byte(data)); err == nil {
			t.Errorf("a pickle without an archive refers to something beside it: %v", v)
		}
	}
}

func FuzzReadTorch(f *testing.F) {
	f.Add(readFile(f, "torch_float.pt"))
	f.Add(readFile(f, "torch_part.pt"))
	f.Add(archive(f, "x/data.pkl", "N.", "x/data/0", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadTorch(data)
		if err == nil && len(a.Objects) == 0 && len(a.Data) > len(data) {
			t.Errorf("%d bytes became a tensor of %d", len(data), len(a.Data))
		}
	})
}
