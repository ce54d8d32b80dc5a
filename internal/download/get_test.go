package download

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestWhatIsThereIsNotFetchedAgain(t *testing.T) {
	data := randomBytes(3 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	mustGet(t, it, o)
	s.Close()
	got := mustGet(t, it, o)
	if !got.Already || got.Files != 1 || got.Bytes != int64(len(data)) {
		t.Errorf("Get = %+v, want that it was there", got)
	}
}

func TestWhatWasDamagedOrLostIsFetchedAgain(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(path, []byte("damaged"), 0o644) },
		"lost":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			data, second := randomBytes(3*testChunk), []byte("second")
			s := newServer(t)
			s.put("m.onnx", data)
			s.put("n.txt", second)
			_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
			it.Files = append(it.Files, File{Name: "n.txt", URLs: []string{s.URL + "/n.txt"}})
			o, n := options(t)
			mustGet(t, it, o)
			if err := damage(filepath.Join(o.Dir, "m.onnx")); err != nil {
				t.Fatal(err)
			}
			s.sent.Store(0)
			if got := mustGet(t, it, o); got.Already {
				t.Error("Get finds nothing wrong")
			}
			wantFile(t, o, "m.onnx", data)
			if s.sent.Load() != int64(len(data)) {
				t.Errorf("%d bytes were sent, want those of the file that is wrong", s.sent.Load())
			}
			if !n.has("m.onnx") {
				t.Errorf("notes: %q", n.lines)
			}
		})
	}
}

func TestAFileOfTheUsersIsNotReplacedUnasked(t *testing.T) {
	data := randomBytes(testChunk)
	for name, c := range map[string]struct {
		file  File
		there []byte
		force bool
		wrong string
	}{
		"the right file":               {File{MD5: md5Of(data)}, data, false, ""},
		"another file":                 {File{MD5: md5Of(data)}, []byte("mine"), false, "is in the way: it has MD5"},
		"another file, forced":         {File{MD5: md5Of(data)}, []byte("mine"), true, ""},
		"a file without a checksum":    {File{}, data, false, "no checksum says whether it is right"},
		"a file in an archive":         {File{Unpack: &Unpack{Format: "tar"}}, []byte("mine"), false, "is in the way"},
		"a file in an archive, forced": {File{Unpack: &Unpack{Format: "tar"}}, []byte("mine"), true, ""},
		"the right file in an archive": {File{Unpack: &Unpack{Format: "tar"}}, data, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("m.onnx", data)
			s.put("x.tar", tarOf(t, entry{name: "m.onnx", data: string(data)}))
			c.file.Name = "m.onnx"
			if c.file.Unpack != nil {
				c.file.Name = "x.tar"
			}
			c.file.URLs = []string{s.URL + "/" + c.file.Name}
			m, it := plainItem(c.file)
			o, _ := options(t)
			o.Force = c.force
			if err := os.MkdirAll(o.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(o.Dir, "m.onnx"), c.there, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Get(t.Context(), m, it, o)
			if c.wrong == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantFile(t, o, "m.onnx", data)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !errors.As(err, new(*InTheWayError)) {
				t.Errorf("Get = %v, want %q", err, c.wrong)
			}
			wantFile(t, o, "m.onnx", c.there)
		})
	}
}

func TestTwoDownloadsAtOnceFetchOnce(t *testing.T) {
	data := randomBytes(20 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	hold := make(chan struct{})
	s.fault = func(_ http.ResponseWriter, _ *http.Request, _ int64) bool { <-hold; return false }
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, first := options(t)
	second := &notes{}
	var wg sync.WaitGroup
	for _, n := range []*notes{first, second} {
		o := o
		o.Observer = n
		wg.Go(func() { mustGet(t, it, o) })
	}
	deadline := time.After(10 * time.Second)
	for !first.has("waiting for it") && !second.has("waiting for it") {
		select {
		case <-deadline:
			t.Fatal("neither waits for the other")
		case <-time.After(time.Millisecond):
		}
	}
	close(hold)
	wg.Wait()
	wantFile(t, o, "m.onnx", data)
	if s.sent.Load() != int64(len(data)) {
		t.Errorf("%d bytes were sent, the file has %d", s.sent.Load(), len(data))
	}
}

func TestWhatNeedsRegistrationIsNotAskedFor(t *testing.T) {
	data := randomBytes(testChunk)
	s := newServer(t)
	s.put("free.txt", data)
	s.put("closed.tar", tarOf(t, entry{name: "a", data: "A"}))
	it := Item{
		Kind: Dataset, Name: "d", Title: "D", License: "l", Steps: []string{"register"},
		Files: []File{
			{Name: "free.txt", URLs: []string{s.URL + "/free.txt"}},
			{Name: "closed.tar", URLs: []string{s.URL + "/closed.tar"}, Registration: true, Unpack: &Unpack{Format: "tar"}},
		},
	}
	o, _ := options(t)
	_, err := Get(t.Context(), manifestOf(it), it, o)
	var registration *RegistrationError
	if !errors.As(err, &registration) || !strings.Contains(err.Error(), "closed.tar") || s.requests.Load() != 0 {
		t.Fatalf("Get = %v after %d requests, want that registration is needed before the first", err, s.requests.Load())
	}

	t.Run("and is taken from the user under another name", func(t *testing.T) {
		o, _ := options(t)
		given := filepath.Join(t.TempDir(), "from-my-browser.tar")
		if err := os.WriteFile(given, s.files["closed.tar"], 0o644); err != nil {
			t.Fatal(err)
		}
		o.FromFiles = []string{given}
		mustGet(t, it, o)
		wantFile(t, o, "a", []byte("A"))
		wantFile(t, o, "free.txt", data)
		if kept, err := os.ReadFile(given); err != nil || len(kept) != len(s.files["closed.tar"]) {
			t.Errorf("the user's file: %d bytes, %v", len(kept), err)
		}
	})
	t.Run("and is taken from a mirror", func(t *testing.T) {
		o, _ := options(t)
		o.Mirror = s.URL
		mustGet(t, it, o)
		wantFile(t, o, "a", []byte("A"))
	})
}

func TestAFileOfTheUsersIsChecked(t *testing.T) {
	data := randomBytes(3 * testChunk)
	m, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}, MD5: md5Of(data)})
	for name, c := range map[string]struct {
		given []byte
		wrong string
	}{"the right one": {data, ""}, "another one": {data[1:], "has MD5"}} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			given := filepath.Join(t.TempDir(), "whatever.onnx")
			if err := os.WriteFile(given, c.given, 0o644); err != nil {
				t.Fatal(err)
			}
			o.FromFiles = []string{given}
			_, err := Get(t.Context(), m, it, o)
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("Get = %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestListedFilesComeWithTheirChecksums(t *testing.T) {
	a, b := randomBytes(3*testChunk), []byte("B")
	s := newServer(t)
	list := md5Of(a) + "  ./a.bin\n" + md5Of(b) + "  ./deep folder/b.txt\n"
	s.put("metadata/set.uri", []byte(s.URL+"/data/set\n"))
	s.put("metadata/set.md5", []byte(list))
	s.put("data/set/a.bin", a)
	s.put("data/set/deep folder/b.txt", b)
	_, it := plainItem(File{Name: ".", R2: s.URL + "/metadata/set"})
	o, _ := options(t)
	got := mustGet(t, it, o)
	wantFile(t, o, "a.bin", a)
	wantFile(t, o, "deep folder/b.txt", b)
	if got.Files != 2 || got.Path != o.Dir {
		t.Errorf("Get = %+v", got)
	}

	t.Run("and a wrong one is an error", func(t *testing.T) {
		s.put("data/set/a.bin", b)
		o, _ := options(t)
		_, err := Get(t.Context(), manifestOf(it), it, o)
		if err == nil || !strings.Contains(err.Error(), "/data/set/a.bin has MD5") {
			t.Errorf("Get = %v, want a wrong checksum", err)
		}
	})
	t.Run("and a list that leaves the folder is an error", func(t *testing.T) {
		s.put("metadata/set.md5", []byte(md5Of(a)+"  ./../a.bin\n"))
		o, _ := options(t)
		_, err := Get(t.Context(), manifestOf(it), it, o)
		if err == nil || !strings.Contains(err.Error(), "leaves the folder") {
			t.Errorf("Get = %v, want that the path leaves the folder", err)
		}
	})
	t.Run("and a list may come without its length", func(t *testing.T) {
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if !strings.HasPrefix(r.URL.Path, "/metadata/") {
				return false
			}
			hijack(t, w, "200 OK", map[string][]byte{"/metadata/set.md5": []byte(list), "/metadata/set.uri": []byte(s.URL + "/data/set")}[r.URL.Path])
			return true
		}
		defer func() { s.fault = nil }()
		s.put("data/set/a.bin", a)
		o, _ := options(t)
		mustGet(t, it, o)
		wantFile(t, o, "a.bin", a)
	})
	t.Run("and a list that breaks off is an error", func(t *testing.T) {
		s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			hijack(t, w, fmt.Sprintf("200 OK\nContent-Length: %d", len(list)), []byte(list[:40]))
			return true
		}
		defer func() { s.fault = nil }()
		o, _ := options(t)
		if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
			t.Errorf("Get = %v, want an unexpected end", err)
		}
	})
	t.Run("and a mirror has list and files", func(t *testing.T) {
		s.put("mirror/set.md5", []byte(list))
		s.put("mirror/set/a.bin", a)
		s.put("mirror/set/deep folder/b.txt", b)
		o, _ := options(t)
		o.Mirror = s.URL + "/mirror"
		_, it := plainItem(File{Name: ".", R2: "http://unreachable.invalid/set"})
		mustGet(t, it, o)
		wantFile(t, o, "a.bin", a)
	})
}

func TestAFolderOfTheUsersIsTaken(t *testing.T) {
	given := t.TempDir()
	for _, name := range []string{"case_00001/imaging.nii.gz", "case_00001/segmentation.nii.gz", "case_00001/notes.txt", "case_00002/imaging.nii.gz", "case_00009/imaging.nii.gz"} {
		path := filepath.Join(given, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	it := Item{
		Kind: Dataset, Name: "k", Title: "K", License: "l", Steps: []string{"register"}, Cases: []string{"case_00001", "case_00002", "case_00400"},
		Folder: &Folder{Files: []string{"case_?????/*.nii.gz"}, Copy: map[string]string{"case_00400": "case_00001"}},
	}
	o, _ := options(t)
	_, err := Get(t.Context(), manifestOf(it), it, o)
	var registration *RegistrationError
	if !errors.As(err, &registration) {
		t.Fatalf("Get = %v, want that registration is needed", err)
	}
	o.FromFiles = []string{given}
	got := mustGet(t, it, o)
	wantOnly(t, o.Dir, stateDir, "case_00001", "case_00002", "case_00400")
	wantFile(t, o, "case_00400/segmentation.nii.gz", []byte("case_00001/segmentation.nii.gz"))
	if got.Files != 5 {
		t.Errorf("%d files, want 5", got.Files)
	}
}
