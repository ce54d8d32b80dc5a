package captions

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const header = "id\timage_id\tcaption\theight\twidth\tfile_name\tcoco_url\n"

// folder writes files, by name and content, and returns their folder.
func folder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		testenv.Tree(t, dir, map[string]string{files[i]: files[i+1]})
	}
	return dir
}

func TestCaptions(t *testing.T) {
	table := header +
		"70\t227049\tA city at night with people walking around.\t640\t480\ta.jpg\thttp://a\n" +
		"71\t5\t\"A sign that reads \"\"STOP\"\" in red\"\t640\t480\tb.jpg\thttp://b\n" +
		"72\t6\tA 6\" nail &amp; wood \t1\t1\tc.jpg\thttp://c\r\n" +
		"73\t7\tno line end\t1\t1\td.jpg\thttp://d"
	want := []string{"A city at night with people walking around.", `A sign that reads "STOP" in red`, `A 6" nail &amp; wood `, "no line end"}
	for _, name := range tables {
		if got, err := Read(folder(t, name, table), 0); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := Read(folder(t, tables[1], "caption\nb\n", tables[0], table+"\n\"open"), 2); err != nil || !slices.Equal(got, want[:2]) {
		t.Errorf("count 2, an error after it, a second table: %q, %v, want %q", got, err, want[:2])
	}
}

// The captions are those that pandas reads in tables with quotes everywhere (testdata/make_tables.py).
func TestCaptionsEqualPandas(t *testing.T) {
	cases := testenv.JSON[[]struct {
		Table    string
		Captions []string
	}](t, "testdata/tables.json.gz")
	if len(cases) != 300 {
		t.Fatalf("%d tables, want 300", len(cases))
	}
	for _, c := range cases {
		got, err := parse([]byte(c.Table), 0)
		if (err == nil) != (c.Captions != nil) || !slices.Equal(got, c.Captions) {
			t.Errorf("%q: %q, %v, want %q", c.Table, got, err, c.Captions)
		}
	}
}

func TestCaptionErrors(t *testing.T) {
	for _, c := range []struct {
		name, table, want string
		count             int
	}{
		{"an empty table", "\n \n", "reading the names of columns: the table is empty", 0},
		{"an open quote in the names", "\"caption", "reading the names of columns: line 1: the quote that opens a cell is not closed", 0},
		{"no rows", header, "0 captions, expected 1", 0},
		{"too few rows", "caption\na\n", "1 captions, expected 2", 2},
		{"no column", "id\ttext\n1\ta\n", `the columns are id, text: must be one "caption"`, 0},
		{"an empty caption", "caption\ta\rx\t1\r \t2\r", "line 3: the caption of sample 1 is empty", 0},
		{"a row that is too short", "id\tcaption\n1\n", "line 2: the caption of sample 0 is empty", 0},
		{"a row that is too long", "caption\r\n\"a\r\nb\"\r\n \r\nx\ty\r\n", "line 5 has 2 cells, expected 1", 0},
		{"an open quote", "caption\n\"a\nb\nc\"\n\n\"d", "line 6: the quote that opens a cell is not closed", 0},
		{"not UTF-8", "caption\na\n\xff\n", "line 3: not UTF-8", 0},
	} {
		list, err := Read(folder(t, tables[0], c.table), c.count)
		if err == nil || !strings.HasSuffix(err.Error(), "captions.tsv: "+c.want) {
			t.Errorf("%s: %q, %v, want %q", c.name, list, err, c.want)
		}
	}
	if _, err := Read(t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "captions/captions.tsv") {
		t.Errorf("an empty folder: %v", err)
	}
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLatentsOfPyTorchAndNumPy(t *testing.T) {
	for _, name := range latentFiles {
		got, err := ReadLatents(folder(t, name, testdata(t, filepath.Base(name))))
		if err != nil || got.Height != 2 || got.Width != 3 || len(got.Values) != 24 || got.Values[0] != -1 || got.Values[23] != 1.875 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// written writes an array as NumPy does.
func written(t testing.TB, a tensor.Tensor) string {
	t.Helper()
	var buf bytes.Buffer
	if err := npy.Write(&buf, a); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// otherPickle is an archive of torch.save with another text in its pickle.
func otherPickle(t testing.TB, archive, from, to string) string {
	t.Helper()
	old, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range old.File {
		data, err := fs.ReadFile(old, f.Name)
		if strings.HasSuffix(f.Name, ".pkl") {
			data = bytes.Replace(data, []byte(from), []byte(to), 1)
		}
		w, err2 := z.CreateHeader(&zip.FileHeader{Name: f.Name})
		if err = errors.Join(err, err2); err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestLatentsErrors(t *testing.T) {
	pt := testdata(t, "latents.pt")
	nan := tensor.New(tensor.Float32, 1, 4, 1, 1)
	tensor.Data[float32](nan)[2] = float32(math.NaN())
	for _, c := range []struct{ name, file, content, want string }{
		{"a PyTorch file cut off", "latents.pt", pt[:200], "not an archive of torch.save"},
		{"a PyTorch file changed", "latents.pt", strings.Replace(pt, "\x00\x00\x80\xbf", "\x00\x00\x80\xbe", 1), "checksum"},
		{"a NumPy file cut off", "latents.npy", testdata(t, "latents.npy")[:150], "unexpected EOF"},
		{"three channels", "latents.npy", written(t, tensor.New(tensor.Float32, 1, 3, 2, 2)), "the shape of the latents is [1 3 2 2]: must be [1 4 height width]"},
		{"two images", "latents.npy", written(t, tensor.New(tensor.Float32, 2, 4, 2, 2)), "is [2 4 2 2]: must be"},
		{"a PyTorch file of three channels", "latents.pt", otherPickle(t, pt, "(K\x01K\x04", "(K\x01K\x03"), "is [1 3 2 3]: must be"},
		{"a PyTorch file of whole numbers", "latents.pt", otherPickle(t, pt, "FloatStorage", "IntStorage"), "torch.IntStorage, which is refused"},
		{"three axes", "latents.npy", written(t, tensor.New(tensor.Float32, 4, 2, 2)), "is [4 2 2]: must be"},
		{"no rows", "latents.npy", written(t, tensor.New(tensor.Float32, 1, 4, 0, 2)), "is [1 4 0 2]: must be"},
		{"not an array", "latents.npy", "<html>", "latents.npy"},
		{"half precision", "latents.npy", written(t, tensor.New(tensor.Float16, 1, 4, 2, 2)), "elements of type float16"},
		{"huge sides", "latents.npy", strings.Replace(written(t, tensor.New(tensor.Float32, 1, 4, 2, 2)), "(1, 4, 2, 2)", "(1,4,99999,1)", 1), "sides up to 4096"},
		{"not a number", "latents.npy", written(t, nan), "number 2 of the latents is NaN"},
	} {
		if _, err := ReadLatents(folder(t, c.file, c.content)); !testenv.Names(err, c.want) || !strings.Contains(err.Error(), c.file) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ReadLatents(t.TempDir()); err == nil || !strings.Contains(err.Error(), "latents/latents.pt") {
		t.Errorf("an empty folder: %v", err)
	}
}

// archive writes an archive of NumPy's arrays.
func archive(t testing.TB, arrays map[string]tensor.Tensor) string {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, a := range arrays {
		w, err := z.Create(name + ".npy")
		if err == nil {
			err = npy.Write(w, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestStatisticsOfEitherPrecision(t *testing.T) {
	double, err := ReadStatistics("testdata/statistics.npz")
	if err != nil || len(double.Mean) != 5 || len(double.Covariance) != 25 || double.Covariance[1] != double.Covariance[5] {
		t.Fatalf("%+v, %v", double, err)
	}
	short, err := ReadStatistics("testdata/short.npz")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range double.Covariance {
		if math.Abs(short.Covariance[i]-v) > 1e-6 {
			t.Errorf("number %d is %v, and %v in float32", i, v, short.Covariance[i])
		}
	}
	if d, err := accuracy.FrechetDistance(double, short); err != nil || math.Abs(d) > 1e-5 {
		t.Errorf("their distance is %v, %v", d, err)
	}
}

func TestWriteStatistics(t *testing.T) {
	want := accuracy.FeatureStatistics{Mean: []float64{1, -2.5}, Covariance: []float64{2, 0.5, 0.5, 1e-300}}
	path := filepath.Join(t.TempDir(), StatisticsFile)
	if err := WriteStatistics(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadStatistics(path); err != nil || !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Covariance, want.Covariance) {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this system has no /dev/full: %v", err)
	}
	defer full.Close()
	if err := writeStatistics(full, want); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("on a full disk: %v", err)
	}
}

func TestStatisticsErrors(t *testing.T) {
	of := func(shape ...int64) tensor.Tensor { return tensor.New(tensor.Float64, shape...) }
	for _, c := range []struct{ name, content, want string }{
		{"nothing", "", "not an archive of NumPy arrays"},
		{"no mean", archive(t, map[string]tensor.Tensor{"sigma": of(2, 2)}), "no array mu"},
		{"no covariance", archive(t, map[string]tensor.Tensor{"mu": of(2)}), "no array sigma"},
		{"a covariance of another size", archive(t, map[string]tensor.Tensor{"mu": of(2), "sigma": of(3, 3)}), "the shape of sigma is [3 3]: must be [2 2] for the 2 features of mu"},
		{"a covariance of one axis", archive(t, map[string]tensor.Tensor{"mu": of(2), "sigma": of(4)}), "sigma is [4]: must be"},
		{"no features", archive(t, map[string]tensor.Tensor{"mu": of(0), "sigma": of(0, 0)}), "mu is [0]: must be"},
		{"a covariance that is not square", archive(t, map[string]tensor.Tensor{"mu": of(2), "sigma": of(2, 1)}), "sigma is [2 1]: must be"},
		{"a mean with two axes", archive(t, map[string]tensor.Tensor{"mu": of(2, 2), "sigma": of(2, 2)}), "mu is [2 2]: must be"},
		{"too many features", archive(t, map[string]tensor.Tensor{"mu": of(maxFeatures + 1), "sigma": of(1, 1)}), "mu is [8193]: must be [n] with up to 8192 features"},
		{"integers", archive(t, map[string]tensor.Tensor{"mu": tensor.New(tensor.Int64, 2), "sigma": of(2, 2)}), "the numbers of mu are int64"},
		{"cut off", testdata(t, "statistics.npz")[:300], "not an archive"},
	} {
		path := filepath.Join(folder(t, StatisticsFile, c.content), StatisticsFile)
		if _, err := ReadStatistics(path); !testenv.Names(err, c.want) || !strings.Contains(err.Error(), StatisticsFile) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzCaptions(f *testing.F) {
	f.Add([]byte(header+"1\t2\t\"a \"\"b\"\"\"\t1\t1\ta\tb\n"), 1)
	f.Add([]byte("caption\na\nb"), 0)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		list, err := parse(data, count&7)
		for i, caption := range list {
			if err == nil && strings.TrimSpace(caption) == "" {
				t.Errorf("caption %d is empty", i)
			}
		}
	})
}

func FuzzLatents(f *testing.F) {
	f.Add([]byte(testdata(f, "latents.pt")), true)
	f.Add([]byte(testdata(f, "latents.npy")), false)
	f.Fuzz(func(t *testing.T, data []byte, torch bool) {
		if shape, values, err := parseNoise(!torch, data, []string{"height", "width"}); err == nil && int64(len(values)) != shape.Len() {
			t.Errorf("%d numbers of %v", len(values), shape)
		}
	})
}

func FuzzStatistics(f *testing.F) {
	f.Add([]byte(testdata(f, "statistics.npz")))
	f.Add([]byte(testdata(f, "short.npz")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStatistics(data); err == nil && len(s.Covariance) != len(s.Mean)*len(s.Mean) {
			t.Errorf("a mean of %d and a covariance of %d", len(s.Mean), len(s.Covariance))
		}
	})
}

func FuzzTable(f *testing.F) {
	f.Add("caption\n\"a \"\"b\"\"\"\tc\r\n\n\"d\ne\"f\n")
	f.Add("\ufeffid\tcaption\r1\tx\r")
	f.Fuzz(func(t *testing.T, text string) {
		r := &tableReader{data: []byte(text)}
		for begin := 0; ; {
			row, err := r.row()
			if err != nil || row == nil {
				return
			}
			if r.begin <= begin || r.pos > len(r.data) {
				t.Fatalf("a row begins in line %d, after one of line %d", r.begin, begin)
			}
			begin = r.begin
		}
	})
}
