package pickle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
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
	for data, want := range map[string]string{
		good:                               "the pickle asks for torch._utils._rebuild_tensor_v2, which is refused",
		"NQ.":                              "there is nothing beside this file to refer to",
		"(X\x07\x00\x00\x00storageNNNNtQ.": "there is nothing beside this file to refer to",
	} {
		if v, err := Read([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a pickle without an archive refers to something beside it: %v, %v", v, err)
		}
	}
	if _, err := ReadTorch(bytes.Replace(whole, []byte(memory), []byte(strings.Repeat("\x01", 32)), 1)); err == nil || !strings.Contains(err.Error(), "x/data/0: zip: checksum error") {
		t.Errorf("memory that is not what was written: %v", err)
	}
	// The entry of the list at the end is there, but not the one that it points to.
	if _, err := ReadTorch(bytes.Replace(whole, []byte("PK\x03\x04"), []byte("PK\x03\x05"), 1)); err == nil || !strings.Contains(err.Error(), "x/data.pkl: zip: not a valid zip file") {
		t.Errorf("an entry without its head: %v", err)
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

func TestTensorsOfAllTypesAndShapesAreRead(t *testing.T) {
	for storage, typ := range map[string]string{
		"FloatStorage": "f4", "DoubleStorage": "f8", "HalfStorage": "f2", "LongStorage": "i8", "IntStorage": "i4",
		"ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1",
	} {
		size := dtype{code: typ}.size()
		memory := strings.Repeat("\x00", 7*size) + strings.Repeat("\x01", size)
		a, err := ReadTorch(archive(t, "x/data.pkl", tensorOf(storage, "K\x08", "K\x07", ")", ")"), "x/data/0", memory))
		if err != nil || a.Type != typ || len(a.Data) != size || strings.Trim(string(a.Data), "\x01") != "" {
			t.Errorf("the last of 8 elements of %s: %+v, %v", storage, a, err)
		}
	}
	for name, c := range map[string]struct{ shape, strides string }{
		"an axis of one with any stride": {"(K\x02K\x01K\x04t", "(K\x04K\x63K\x01t"},
		"no elements":                    {"(K\x02K\x00K\x03t", "(K\x03K\x03K\x01t"},
	} {
		a, err := ReadTorch(archive(t, "x/data.pkl", tensorOf("ByteStorage", "K\x08", "K\x00", c.shape, c.strides), "x/data/0", "12345678"))
		if err != nil || len(a.Data) != a.Len() {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func TestTensorsThatPyTorchDoesNotWriteAreRefused(t *testing.T) {
	const wrong = "a tensor is not as PyTorch writes it"
	rebuild := "ctorch._utils\n_rebuild_tensor_v2\n"
	for _, c := range []struct{ name, program, want string }{
		{"three arguments", rebuild + "NNN\x87R.", wrong},
		{"no memory", rebuild + "(NK\x00))tR.", wrong},
		{"a first element that is text", tensorOf("ByteStorage", "K\x08", "\x8c\x01x", ")", ")"), wrong},
		{"a shape that is a list", tensorOf("ByteStorage", "K\x08", "K\x00", "]", ")"), wrong},
		{"strides that are text", tensorOf("ByteStorage", "K\x08", "K\x00", "K\x01\x85", "\x8c\x01x\x85"), wrong},
		{"fewer strides than axes", tensorOf("ByteStorage", "K\x08", "K\x00", "K\x01\x85", ")"), wrong},
		{"a shape beyond all bounds", tensorOf("ByteStorage", "K\x08", "K\x00", "(J\xff\xff\xff\x7fJ\xff\xff\xff\x7ft", "(J\xff\xff\xff\x7fK\x01t"), "an array has shape [2147483647 2147483647], which is more than 2147483647 elements"},
		{"a number of elements that is text", tensorOf("ByteStorage", "\x8c\x018", "K\x00", ")", ")"), "not named as PyTorch does it"},
		{"a negative number of elements", tensorOf("ByteStorage", "J\xff\xff\xff\xff", "K\x00", ")", ")"), "has 8 bytes, want -1 numbers"},
		{"part of an element", tensorOf("HalfStorage", "K\x03", "K\x00", ")", ")"), `has 8 bytes, want 3 numbers of "f2"`},
		{"memory named by a number", "NQ.", "there is nothing beside this file to refer to"},
		{"memory of another kind", "(X\x07\x00\x00\x00factoryNNNNtQ.", "there is nothing beside this file to refer to"},
		{"nothing to refer to", "Q.", "there are too few values"},
		{"a list", "].", "the file has a list, want a tensor"},
		{"a number", "K\x05.", "the file has int64, want a tensor"},
	} {
		if a, err := ReadTorch(archive(t, "x/data.pkl", c.program, "x/data/0", "12345678")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: ReadTorch = %v, %v, want an error with %q", c.name, a, err, c.want)
		}
	}
}

// A directory of a thousand names for the same bytes once took as much memory as a thousand files.
func TestEntriesInOnePlaceAreNotReadAgainAndAgain(t *testing.T) {
	program := "("
	for key := range 8 {
		program += "(X\x07\x00\x00\x00storagectorch\nByteStorage\n\x8c\x01" + string(rune('0'+key)) + "\x8c\x03cpuJ\x00\x10\x00\x00tQ"
	}
	memory := strings.Repeat("m", 4096)
	entries := []string{"x/data.pkl", program + "t."}
	for key := range 8 {
		entries = append(entries, "x/data/"+string(rune('0'+key)), memory)
	}
	data := archive(t, entries...)
	if _, err := ReadTorch(data); err == nil || !strings.Contains(err.Error(), "a value is *pickle.torchStorage") {
		t.Fatalf("eight entries of their own: %v", err)
	}
	// All names of the directory are led to the place of the first.
	first := bytes.Index(data, []byte("x/data/0")) - 30
	directory := bytes.Index(data, []byte("PK\x01\x02"))
	for key := 1; key < 8; key++ {
		at := directory + bytes.Index(data[directory:], []byte("x/data/"+string(rune('0'+key)))) - 46
		binary.LittleEndian.PutUint32(data[at+42:], uint32(first))
	}
	cut := bytes.Index(data, []byte("x/data/3")) - 30 // of which three remain
	moved := append(bytes.Clone(data[:cut]), data[directory:]...)
	end := bytes.LastIndex(moved, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint32(moved[end+16:], uint32(cut))
	if _, err := ReadTorch(moved); err == nil || !strings.Contains(err.Error(), "the entries of the archive have more bytes than it") {
		t.Errorf("eight entries in the place of one: %v", err)
	}
}

func TestOnlyAPickleOneFolderDeepIsTheTensor(t *testing.T) {
	good := tensorOf("ByteStorage", "K\x08", "K\x00", ")", ")")
	for _, name := range []string{"data.pkl", "x/y/data.pkl", "x/otherdata.pkl", "x/data.pkl.txt"} {
		if _, err := ReadTorch(archive(t, name, good, "x/data/0", "12345678")); err == nil || !strings.Contains(err.Error(), "the archive has no data.pkl") {
			t.Errorf("a pickle %s: %v", name, err)
		}
	}
	if _, err := ReadTorch(archive(t, "x/y/data.pkl", "N.", "z/data.pkl", good, "z/byteorder", "little", "z/data/0", "12345678", "x/data/0", "x")); err != nil {
		t.Errorf("a pickle in the second folder: %v", err)
	}
}
