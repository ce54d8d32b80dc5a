package download

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestCheckOptions(t *testing.T) {
	plain := model(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}})
	parts := plain
	parts.Layout, parts.Samples = LayoutCOCO, 10
	dir := filepath.Join(t.TempDir(), "item")
	for _, c := range []struct {
		it           Item
		o            Options
		field, wrong string
	}{
		{plain, Options{}, "dir", "no folder"},
		{plain, Options{Dir: dir, Count: 1}, "count", "cannot be had in part"},
		{parts, Options{Dir: dir, Count: -1}, "count", "-1 samples are wanted"},
		{parts, Options{Dir: dir, Count: 11}, "count", "it has 10"},
		{plain, Options{Dir: dir, Connections: -4}, "connections", "-4 connections"},
		{plain, Options{Dir: dir, Mirror: "/srv/mirror"}, "mirror", "not an address"},
		{plain, Options{Dir: dir, Mirror: "ftp://me:hidden@example.org"}, "mirror", "ftp://me:xxxxx@example.org is not an address of http or https"},
		{plain, Options{Dir: dir, Mirror: "https://example.org/x?sig=hidden"}, "mirror", "https://example.org/x?… has a query or a fragment"},
		{plain, Options{Dir: dir, MirrorOnly: true}, "mirror_only", "no mirror"},
		{plain, Options{Dir: dir, FromFiles: []string{"nowhere.onnx"}}, "from_file", "nowhere.onnx"},
		{plain, Options{Dir: dir, FromFiles: []string{os.DevNull}}, "from_file", os.DevNull + " is neither a file nor a folder"},
	} {
		_, err := Get(t.Context(), c.it, c.o)
		var option *userinput.Error
		if !errors.As(err, &option) || option.Field != c.field || !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("Get(%+v) = %v, want %q about %s", c.o, err, c.wrong, c.field)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made")
	}
}

// Complete files are not fetched again; damaged and lost ones are, whichever it is.
func TestGetFetchesWhatIsMissing(t *testing.T) {
	a, b := randomBytes(3000), []byte("b")
	for name, damage := range map[string]func(dir string) error{
		"nothing":     func(string) error { return nil },
		"damaged":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("?"), 0o644) },
		"lost":        func(dir string) error { return os.Remove(filepath.Join(dir, "a")) },
		"list lost":   func(dir string) error { return os.Remove(filepath.Join(dir, sumsFile)) },
		"list cut":    func(dir string) error { return os.Truncate(filepath.Join(dir, sumsFile), 64+2+1+1+20) },
		"receipt cut": func(dir string) error { return os.Truncate(filepath.Join(dir, receiptFile), 20) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("a", a)
			s.put("b", b)
			it := model(File{Name: "a", URLs: []string{s.URL + "/a"}, MD5: md5Of(a)}, File{Name: "b", URLs: []string{s.URL + "/b"}, MD5: md5Of(b)})
			o, _ := options(t)
			mustGet(t, it, o)
			must(t, damage(o.Dir))
			s.sent.Store(0)
			got := mustGet(t, it, o)
			wantFile(t, o, "a", a)
			if sent := s.sent.Load() > 0; got.Already != (name == "nothing") || sent != (name == "damaged" || name == "lost") || got.Files != 2 || got.Bytes != 3001 {
				t.Errorf("Get = %+v after %d bytes", got, s.sent.Load())
			}
			if got := mustGet(t, it, o); !got.Already {
				t.Error("the next run finds something missing")
			}
		})
	}
}

// A file of the user's is not replaced unless it is right or --force is given.
func TestGetLeavesFilesOfTheUser(t *testing.T) {
	data := randomBytes(1000)
	packed := &Unpack{Format: "tar"}
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
		"a file in an archive":         {File{Unpack: packed}, []byte("mine"), false, "is in the way"},
		"a file in an archive, forced": {File{Unpack: packed}, []byte("mine"), true, ""},
		"the right file in an archive": {File{Unpack: packed}, data, false, ""},
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
			o, _ := options(t)
			o.Force = c.force
			put(t, o.Dir, "m.onnx", string(c.there))
			_, err := Get(t.Context(), model(c.file), o)
			if c.wrong == "" {
				must(t, err)
				wantFile(t, o, "m.onnx", data)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !errors.As(err, new(*InTheWayError)) {
				t.Errorf("Get = %v, want %q", err, c.wrong)
			}
			wantFile(t, o, "m.onnx", c.there)
		})
	}
	t.Run("a folder", func(t *testing.T) {
		o, _ := options(t)
		must(t, os.MkdirAll(filepath.Join(o.Dir, "m.onnx"), 0o755))
		wantError(t, model(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m"}}), o, "it is not a file")
	})
}

func TestGetWaitsForAnother(t *testing.T) {
	data := randomBytes(20000)
	s := newServer(t)
	s.put("m.onnx", data)
	hold := make(chan struct{})
	s.fault = func(http.ResponseWriter, *http.Request, int64) bool { <-hold; return false }
	it := model(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, first := options(t)
	second := &notes{}
	var wg sync.WaitGroup
	for _, n := range []*notes{first, second} {
		o := o
		o.Observer = n
		wg.Go(func() { mustGet(t, it, o) })
	}
	for deadline := time.Now().Add(10 * time.Second); !first.has("waiting for it") && !second.has("waiting for it"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("neither waits for the other")
			break
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context()) // a third does not wait for ever
	stop := errors.New("stop")
	cancel(stop)
	if _, err := Get(ctx, it, o); !errors.Is(err, stop) {
		t.Errorf("Get = %v, want %v", err, stop)
	}
	close(hold)
	wg.Wait()
	wantFile(t, o, "m.onnx", data)
	if s.sent.Load() != int64(len(data)) {
		t.Errorf("%d bytes were sent, the file has %d", s.sent.Load(), len(data))
	}
}

// A file that needs registration is never asked of its server: the user gives it, under any name, or a mirror has it.
func TestGetOfRegisteredFiles(t *testing.T) {
	archive := tarOf(t, entry{name: "a", data: "A"})
	s := newServer(t)
	s.put("free.txt", []byte("free"))
	s.put("closed.tar", archive)
	it := Item{Kind: Dataset, Name: "d", Title: "D", Steps: []string{"register"}, Files: []File{
		{Name: "free.txt", URLs: []string{s.URL + "/free.txt"}},
		{Name: "closed.tar", URLs: []string{s.URL + "/closed.tar"}, Registration: true, Unpack: &Unpack{Format: "tar"}, MD5: md5Of(archive)},
	}}
	o, _ := options(t)
	_, err := Get(t.Context(), it, o)
	if !errors.As(err, new(*RegistrationError)) || !strings.Contains(err.Error(), "get closed.tar by hand") || s.requests.Load() != 0 {
		t.Fatalf("Get = %v after %d requests, want that registration is needed before the first", err, s.requests.Load())
	}
	dir := t.TempDir()
	mine := put(t, dir, "from-my-browser.tar", string(archive))
	for name, given := range map[string][]string{
		"one file, whatever its name is": {mine},
		"by its name":                    {put(t, dir, "in/closed.tar", string(archive)), put(t, dir, "in/free.txt", "free")},
		"a folder":                       {filepath.Join(dir, "in")},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := options(t)
			o.FromFiles = given
			mustGet(t, it, o)
			wantFile(t, o, "a", []byte("A"))
			wantFile(t, o, "free.txt", []byte("free"))
		})
	}
	o.FromFiles = []string{put(t, dir, "wrong.tar", "wrong")}
	wantError(t, it, o, "wrong.tar has MD5")
	o.FromFiles = []string{put(t, dir, "closed.tar", string(archive)), put(t, dir, "other.txt", "x")}
	wantError(t, it, o, "other.txt is none of the files of d, which are free.txt, closed.tar")
	o.FromFiles, o.Mirror = nil, s.URL
	mustGet(t, it, o)
	wantFile(t, o, "a", []byte("A"))
}

func TestGetFilesOfAList(t *testing.T) {
	a, b := randomBytes(3000), []byte("B")
	s := newServer(t)
	list := md5Of(a) + "  ./a.bin\r\n" + md5Of(b) + " *deep folder/b.txt\n"
	for _, base := range []string{"", "mirror/"} {
		s.put(base+"set.md5", []byte(list))
		s.put(base+"set/a.bin", a)
		s.put(base+"set/deep folder/b.txt", b)
	}
	s.put("set.uri", []byte(s.URL+"/set\n"))
	it := model(File{Name: ".", R2: s.URL + "/set"})
	o, _ := options(t)
	mustGet(t, it, o)
	wantFile(t, o, "a.bin", a)
	wantFile(t, o, "deep folder/b.txt", b)

	t.Run("from a mirror", func(t *testing.T) {
		o, _ := options(t)
		o.Mirror, o.MirrorOnly = s.URL+"/mirror", true
		mustGet(t, model(File{Name: ".", R2: "http://unreachable.invalid/set"}), o)
		wantFile(t, o, "a.bin", a)
		o, _ = options(t)
		o.Mirror, o.MirrorOnly = s.URL+"/elsewhere", true
		wantError(t, it, o, "404")
		o.MirrorOnly = false
		mustGet(t, it, o)
	})
	t.Run("with an archive", func(t *testing.T) {
		pages := tarOf(t, entry{name: "p.html", data: "P"})
		s.put("pages.md5", []byte(md5Of(pages)+"  deep/pages.tar\n"+md5Of(b)+"  deep/b.txt\n"))
		s.put("pages/deep/pages.tar", pages)
		s.put("pages/deep/b.txt", b)
		s.put("pages.uri", []byte(s.URL+"/pages\n"))
		o, _ := options(t)
		it := model(File{Name: ".", R2: s.URL + "/pages", Unpack: &Unpack{Format: "tar", Archive: "pages.tar", Into: "deep"}})
		mustGet(t, it, o)
		wantFile(t, o, "deep/p.html", []byte("P"))
		wantFile(t, o, "deep/b.txt", b)
	})
	t.Run("from a folder", func(t *testing.T) {
		o, _ := options(t)
		dir := t.TempDir()
		put(t, dir, "a.bin", string(a))
		o.FromFiles = []string{dir}
		it := model(File{Name: ".", R2: s.URL + "/set", Inside: map[string]string{"a.bin": md5Of(a)}})
		mustGet(t, it, o)
		wantFile(t, o, "a.bin", a)
		it.Files[0].Inside["a.bin"] = md5Of(b)
		wantError(t, it, o, "a.bin has MD5")
	})
	for text, want := range map[string]string{
		md5Of(a) + "  ./../a.bin": "line 1: path \"../a.bin\" is not a clean path",
		"":                        `line 1: expected an MD5 and a path, got ""`,
		md5Of(a)[:30] + "  a":     "expected an MD5 and a path",
		md5Of(b) + "  a.bin":      "/set/a.bin has MD5",
	} {
		s.put("set.md5", []byte(text))
		o, _ := options(t)
		wantError(t, it, o, want)
	}
	o, _ = options(t)
	s.put("set.md5", []byte(md5Of(b)+"  a.bin"))
	it.Files[0].Inside = map[string]string{"a.bin": md5Of(a)} // pinned in the manifest
	wantError(t, it, o, "expected "+md5Of(a))
}

// kits is a data set of three cases; one is made.
func kits() Item {
	return Item{
		Kind: Dataset, Name: "k", Title: "K", Steps: []string{"register"}, Cases: []string{"case_00001", "case_00002", "case_00400"},
		Folder: &Folder{
			Files: []string{"case_?????/imaging.nii.gz", "case_?????/segmentation.nii.gz"},
			Copy:  map[string]string{"case_00400": "case_00001"},
		},
	}
}

func TestGetCopiesAFolder(t *testing.T) {
	o, _ := options(t)
	if _, err := Get(t.Context(), kits(), o); !errors.As(err, new(*RegistrationError)) {
		t.Errorf("Get = %v, want that a folder is needed", err)
	}
	given := t.TempDir()
	o.FromFiles = []string{given}
	wantError(t, kits(), o, "has no file of K")
	for name, text := range map[string]string{
		"case_00001/imaging.nii.gz": "1i", "case_00001/segmentation.nii.gz": "1s", "case_00001/notes.txt": "n",
		"case_00002/imaging.nii.gz": "2i", "case_00009/imaging.nii.gz": "9i",
	} {
		put(t, given, name, text)
	}
	wantError(t, kits(), o, "has 1 of the 2 cases of k: case_00002/segmentation.nii.gz is missing, and 0 more files")
	must(t, os.Symlink(put(t, t.TempDir(), "2s", "2s"), filepath.Join(given, "case_00002/segmentation.nii.gz")))
	if got := mustGet(t, kits(), o); got.Files != 6 {
		t.Errorf("%d files, want 6", got.Files)
	}
	wantOnly(t, o.Dir, stateDir, "case_00001", "case_00002", "case_00400")
	wantFile(t, o, "case_00400/segmentation.nii.gz", []byte("1s"))
	wantFile(t, o, "case_00002/segmentation.nii.gz", []byte("2s"))

	// A second time only what has changed is copied.
	kept := filepath.Join(o.Dir, "case_00001/imaging.nii.gz")
	before, err := os.Stat(kept)
	must(t, err)
	put(t, o.Dir, "case_00002/imaging.nii.gz", "damaged")
	mustGet(t, kits(), o)
	wantFile(t, o, "case_00002/imaging.nii.gz", []byte("2i"))
	if after, err := os.Stat(kept); err != nil || !os.SameFile(before, after) {
		t.Errorf("%s was copied again, %v", kept, err)
	}

	// The folder may become the data set where it lies.
	must(t, os.Remove(filepath.Join(given, "case_00002/segmentation.nii.gz")))
	put(t, given, "case_00002/segmentation.nii.gz", "2s")
	o.Dir = given
	if got := mustGet(t, kits(), o); got.Files != 6 {
		t.Errorf("%d files, want 6", got.Files)
	}
	wantFile(t, o, "case_00001/notes.txt", []byte("n"))

	// What the user has there stays.
	o, _ = options(t)
	o.FromFiles = []string{given}
	put(t, o.Dir, "case_00400/imaging.nii.gz", "mine")
	wantError(t, kits(), o, "is in the way: its contents are others")
	wantFile(t, o, "case_00400/imaging.nii.gz", []byte("mine"))
}

// An interruption in any phase loses nothing: the next run completes the data set.
func TestGetGoesOnFromAnyPhase(t *testing.T) {
	images, _ := coco(t, 6)
	_, tables := openImages(t)
	for phase, it := range map[string]Item{
		"annotations.zip": images, "unpacking annotations.zip": images, "val2017.zip": images, "unpacking val2017.zip": images,
		"annotations/": tables, "reading ": tables, "images": tables,
	} {
		t.Run(strings.ReplaceAll(phase, "/", " "), func(t *testing.T) {
			o, _ := options(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("stop")
			o.Observer = &notes{onPhase: func(name string) {
				if strings.HasPrefix(name, phase) {
					cancel(stop)
				}
			}}
			if _, err := Get(ctx, it, o); !errors.Is(err, stop) {
				t.Fatalf("Get = %v, want %v", err, stop)
			}
			o.Observer = nil
			mustGet(t, it, o)
			wantVerified(t, it, o.Dir)
		})
	}
}

func TestGetRemovesOtherVersionsOfARuntime(t *testing.T) {
	t.Setenv("MLPERF_DATA_DIR", t.TempDir())
	s := newServer(t)
	s.put("lib.so", []byte("x"))
	get := func(device, version string) {
		it := Item{Kind: Runtime, Name: device, Version: version, Platform: platform, Files: []File{{Name: "lib.so", URLs: []string{s.URL + "/lib.so"}}}}
		dir, err := it.UsualDir()
		must(t, err)
		o, _ := options(t)
		o.Dir = dir
		mustGet(t, it, o)
	}
	runtimes := filepath.Join(os.Getenv("MLPERF_DATA_DIR"), "onnxruntime")
	must(t, os.MkdirAll(filepath.Join(runtimes, "mine-cuda", platform), 0o755)) // of the user
	get("cuda", "1.24.4")
	get("openvino", "1.24.4")
	get("cuda", "1.25.0")
	wantOnly(t, runtimes, "1.24.4-openvino", "1.25.0-cuda", "mine-cuda")
}
