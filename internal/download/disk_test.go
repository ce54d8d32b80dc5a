package download

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// twoMirrors are servers that both have a file, and an item with their addresses.
func twoMirrors(t *testing.T) (second *server, it Item) {
	t.Helper()
	first, second := newServer(t), newServer(t)
	for _, s := range []*server{first, second} {
		s.put("m.onnx", randomBytes(3*testChunk))
	}
	_, it = plainItem(File{Name: "m.onnx", URLs: []string{first.URL + "/m.onnx", second.URL + "/m.onnx"}})
	return second, it
}

func TestWhatIsWrongWithTheDiskIsNotAskedOfAnotherServer(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, o *Options) (want string){
		"no room": func(_ *testing.T, o *Options) string {
			o.Free = func(string) (uint64, error) { return 7, nil }
			return "7 B are free there"
		},
		"a part file that cannot be written": func(t *testing.T, o *Options) string {
			mustDo(t, os.MkdirAll(filepath.Join(o.Dir, flat("m.onnx.part"), "inside"), 0o755))
			return "m.onnx.part"
		},
	} {
		t.Run(name, func(t *testing.T) {
			second, it := twoMirrors(t)
			o, n := options(t)
			want := prepare(t, &o)
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if err == nil || strings.Count(err.Error(), want) != 1 {
				t.Errorf("Get = %v, want %q once", err, want)
			}
			if second.requests.Load() != 0 || n.has("trying") {
				t.Errorf("the second server had %d requests; notes %q", second.requests.Load(), n.lines)
			}
		})
	}
}

// Only a server with ranges can go on with a part file.
func TestOfAFileThatCannotBeContinuedNothingIsKept(t *testing.T) {
	data := randomBytes(3 * testChunk)
	s := newServer(t)
	s.fault = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		hijack(t, w, "200 OK\nContent-Length: 3000", data[:2000])
		return true
	}
	m, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	if _, err := Get(t.Context(), m, it, o); err == nil || !strings.Contains(err.Error(), "after 2000 bytes") {
		t.Errorf("Get = %v, want that it breaks off after 2000 bytes", err)
	}
	entries, err := os.ReadDir(filepath.Join(o.Dir, stateDir))
	mustDo(t, err)
	for _, e := range entries {
		if strings.Contains(e.Name(), "m.onnx") {
			t.Errorf("%s is kept", e.Name())
		}
	}
}

// Apache says of NAME.gz that it is encoded, if it was told so, and serves it as it is.
func TestAGzipFileMayBeSaidToBeEncoded(t *testing.T) {
	data := gzipOf(tarOf(t, entry{name: "a", data: "A"}))
	for name, want := range map[string]string{"x.tar.gz": "", "x.TGZ": "", "x.tar": "encoded as x-gzip"} {
		s, it := archiveItem(t, name, data, Unpack{Format: "tar.gz"})
		s.fault = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.Header().Set("Content-Encoding", "x-gzip")
			return false
		}
		o, _ := options(t)
		_, err := Get(t.Context(), manifestOf(it), it, o)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: Get = %v, want %q", name, err, want)
		}
	}
}

// What lies where a download wants to write is the user's, unless an earlier one wrote it.
func TestWhatIsTheUsersIsNotOverwritten(t *testing.T) {
	files := map[string]string{
		"case_00001/imaging.nii.gz": "1i", "case_00001/segmentation.nii.gz": "1s",
		"case_00002/imaging.nii.gz": "2i", "case_00002/segmentation.nii.gz": "2s",
	}
	_, archived := archiveItem(t, "x.tar", tarOf(t, entry{name: "a", data: "A"}), Unpack{Format: "tar"})
	for name, c := range map[string]struct {
		it   Item
		file string
	}{
		"a file of a folder that is handed over": {kits(), "case_00002/imaging.nii.gz"},
		"a copy that is made":                    {kits(), "case_00400/segmentation.nii.gz"},
		"an archive that is kept":                {archived, "x.tar"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			o.KeepArchives = true
			if c.it.Folder != nil {
				o.FromFiles = []string{writeFiles(t, files)}
			}
			mine := filepath.Join(o.Dir, c.file)
			mustDo(t, os.MkdirAll(filepath.Dir(mine), 0o755))
			mustDo(t, os.WriteFile(mine, []byte("mine"), 0o644))
			_, err := Get(t.Context(), manifestOf(c.it), c.it, o)
			if !errors.As(err, new(*InTheWayError)) || !strings.Contains(err.Error(), mine+" is in the way: its contents are others") {
				t.Errorf("Get = %v, want that %s is in the way", err, c.file)
			}
			wantFile(t, o, c.file, []byte("mine"))
			o.Force = true
			mustGet(t, c.it, o)
			if got, err := os.ReadFile(mine); err != nil || string(got) == "mine" {
				t.Errorf("with Force it is %q, %v", got, err)
			}
		})
	}
}
