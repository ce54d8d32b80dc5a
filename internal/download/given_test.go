package download

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// jobWith is a job for some files of a manifest, with what the user has got.
func jobWith(from []string, files ...File) *job {
	return &job{item: Item{Name: "it", Title: "It", Files: files}, Options: Options{FromFiles: from}}
}

func TestTheUsersFileIsFoundByItsName(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.bin": "", "sub/b.bin": "", "b.bin": "", "other": "", "folder.bin/x": ""})
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	closed := File{Name: "deep/closed.bin", Registration: true}
	for _, c := range []struct {
		name string
		job  *job
		file File
		want string // below dir; empty: none
		only bool
	}{
		{"by its name", jobWith([]string{in("other"), in("a.bin")}, File{Name: "a.bin"}), File{Name: "a.bin"}, "a.bin", false},
		{"by the last part of its name", jobWith([]string{in("other"), in("a.bin")}, File{Name: "x/a.bin"}), File{Name: "x/a.bin"}, "a.bin", false},
		{"in a folder, by all of its name", jobWith([]string{dir}, File{Name: "sub/b.bin"}), File{Name: "sub/b.bin"}, "sub/b.bin", true},
		{"in a folder, by the last part of its name", jobWith([]string{dir}, File{Name: "x/b.bin"}), File{Name: "x/b.bin"}, "b.bin", true},
		{"in the first folder that has it", jobWith([]string{in("sub"), dir}, File{Name: "b.bin"}), File{Name: "b.bin"}, "sub/b.bin", false},
		{"whatever its name is, if there is one file only", jobWith([]string{in("other")}, File{Name: "a.bin"}), File{Name: "a.bin"}, "other", true},
		{"whatever its name is, if one only wants registration", jobWith([]string{in("other")}, File{Name: "free"}, closed), closed, "other", true},
		{"but not for one that is free", jobWith([]string{in("other")}, File{Name: "free"}, closed), File{Name: "free"}, "", false},
		{"nor of two that want it", jobWith([]string{in("other")}, File{Name: "c", Registration: true}, closed), closed, "", false},
		{"nor beside another that was given", jobWith([]string{in("other"), in("a.bin")}, closed), closed, "", false},
		{"no folder is a file", jobWith([]string{dir}, File{Name: "folder.bin"}), File{Name: "folder.bin"}, "", true},
		{"nothing was given", jobWith(nil, File{Name: "a.bin"}), File{Name: "a.bin"}, "", false},
		{"what was given is gone", jobWith([]string{in("gone")}, File{Name: "gone"}), File{Name: "gone"}, "", true},
	} {
		want := ""
		if c.want != "" {
			want = in(c.want)
		}
		if got := c.job.handed(c.file); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		if got := c.job.only(c.file); got != c.only {
			t.Errorf("%s: it is the only one that can be meant: %t, want %t", c.name, got, c.only)
		}
	}
}

func TestEveryFileOfTheUsersHasAUse(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.bin": "", "b.bin": "", "c.bin": ""})
	in := func(name string) string { return filepath.Join(dir, name) }
	two := []File{{Name: "x/a.bin"}, {Name: "b.bin"}}
	for _, c := range []struct {
		name string
		job  *job
		want string // empty: no error
	}{
		{"both", jobWith([]string{in("a.bin"), in("b.bin")}, two...), ""},
		{"one of two", jobWith([]string{in("b.bin")}, two...), ""},
		{"a folder, which may have more", jobWith([]string{dir}, two...), ""},
		{"one that is none", jobWith([]string{in("a.bin"), in("c.bin")}, two...), "from_file: " + in("c.bin") + " is none of the files of it, which are a.bin, b.bin"},
		{"a file for what comes in a folder", jobWith([]string{in("c.bin")}), "from_file: " + in("c.bin") + " is a file, wanted is a folder with It"},
		{"a file for a list at a server", jobWith([]string{in("c.bin"), in("b.bin")}, File{Name: ".", R2: "https://a/b"}), "is a file, wanted is a folder with It"},
	} {
		if err := c.job.checkUsed(); (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestWhatBelongsToADataSetIsTakenOfAFolder(t *testing.T) {
	j := &job{item: kits()}
	for name, want := range map[string]bool{
		"case_00001/imaging.nii.gz": true, "case_00002/segmentation.nii.gz": true, "case_00400/imaging.nii.gz": true,
		"case_00003/imaging.nii.gz": false, "case_00001/notes.txt": false, "case_00001": false, "case_00001/sub/imaging.nii.gz": false,
		"imaging.nii.gz": false, stateDir + "/imaging.nii.gz": false, "../case_00001/imaging.nii.gz": false,
	} {
		if got := j.belongs(name); got != want {
			t.Errorf("%s belongs to the data set: %t, want %t", name, got, want)
		}
	}
	j.item.Cases, j.item.Folder = nil, &Folder{}
	for name, want := range map[string]bool{"anything/at all": true, stateDir + "/lock": false, "a\\b": false} {
		if got := j.belongs(name); got != want {
			t.Errorf("without patterns, %s belongs to the data set: %t, want %t", name, got, want)
		}
	}
}

func TestWhatACaseLacksIsNamed(t *testing.T) {
	f := &Folder{Files: []string{"case_?????/a.gz", "*/sub/b.gz", "case_?????/*.txt"}}
	for _, c := range []struct{ there, want []string }{
		{nil, []string{"c1/a.gz", "c1/sub/b.gz"}},
		{[]string{"c1/a.gz"}, []string{"c1/sub/b.gz"}},
		{[]string{"c2/a.gz", "c1/sub/b.gz"}, []string{"c1/a.gz"}},
		{[]string{"c1/a.gz", "c1/sub/b.gz"}, nil}, // a pattern may match nothing
	} {
		there := map[string]bool{}
		for _, name := range c.there {
			there[name] = true
		}
		if got := f.missing("c1", there); !slices.Equal(got, c.want) {
			t.Errorf("with %q, %q is missing, want %q", c.there, got, c.want)
		}
	}
}

// A folder that is taken a second time is not copied again, but for what has changed or is lost.
func TestAFolderIsCopiedOnce(t *testing.T) {
	files := map[string]string{"case_00001/imaging.nii.gz": "1i", "case_00001/segmentation.nii.gz": "1s", "case_00002/imaging.nii.gz": "2i", "case_00002/segmentation.nii.gz": "2s"}
	o, _ := options(t)
	o.FromFiles = []string{writeFiles(t, files)}
	it := kits()
	mustGet(t, it, o)
	kept, lost, damaged := filepath.Join(o.Dir, "case_00001", "imaging.nii.gz"), filepath.Join(o.Dir, "case_00002", "imaging.nii.gz"), filepath.Join(o.Dir, "case_00400", "segmentation.nii.gz")
	before, err := os.Stat(kept)
	mustDo(t, err)
	mustDo(t, os.Remove(lost))
	mustDo(t, os.WriteFile(damaged, []byte("??"), 0o644))
	if again := mustGet(t, it, o); again.Already || again.Files != 6 {
		t.Errorf("the second time: %+v", again)
	}
	after, err := os.Stat(kept)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("%s was copied again, %v", kept, err)
	}
	wantFile(t, o, "case_00002/imaging.nii.gz", []byte("2i"))
	wantFile(t, o, "case_00400/segmentation.nii.gz", []byte("1s"))
}

// The folder in which the data set is to lie may be the one that the user has got.
func TestAFolderMayBecomeTheDataSetWhereItLies(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"case_00001/imaging.nii.gz": "1i", "case_00001/segmentation.nii.gz": "1s", "case_00002/imaging.nii.gz": "2i", "case_00002/segmentation.nii.gz": "2s", "notes.txt": "mine",
	})
	o, _ := options(t)
	o.Dir, o.FromFiles = dir, []string{dir}
	it := kits()
	if got := mustGet(t, it, o); got.Files != 6 {
		t.Errorf("%+v, want six files", got)
	}
	wantFile(t, o, "case_00001/imaging.nii.gz", []byte("1i"))
	wantFile(t, o, "case_00400/segmentation.nii.gz", []byte("1s"))
	wantFile(t, o, "notes.txt", []byte("mine"))
	if again := mustGet(t, it, o); !again.Already {
		t.Errorf("the second time: %+v", again)
	}
}

func TestAnArchiveOfAnEarlierRunNeedsNoRegistration(t *testing.T) {
	s := newServer(t)
	s.put("free.txt", []byte("free"))
	archive := tarOf(t, entry{name: "a", data: "A"})
	it := imagesByHand(s, File{MD5: md5Of(archive)})
	o, _ := options(t)
	path := filepath.Join(o.Dir, filepath.FromSlash(flat("closed.tar")))
	mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mustDo(t, os.WriteFile(path, archive, 0o644))
	mustGet(t, it, o)
	wantFile(t, o, "a", []byte("A"))

	plain := it
	plain.Files = []File{{Name: "closed.txt", Registration: true, URLs: []string{s.URL + "/closed.txt"}, MD5: md5Of([]byte("there"))}}
	o, _ = options(t)
	mustDo(t, os.MkdirAll(o.Dir, 0o755))
	mustDo(t, os.WriteFile(filepath.Join(o.Dir, "closed.txt"), []byte("there"), 0o644))
	if got := mustGet(t, plain, o); got.Files != 1 {
		t.Errorf("a file that is there already: %+v", got)
	}
	o, _ = options(t)
	var registration *RegistrationError
	if _, err := Get(t.Context(), manifestOf(plain), plain, o); !errors.As(err, &registration) || err.Error() != "downloading dataset d: registration is needed: get closed.txt by hand" {
		t.Errorf("a file that is not: %v", err)
	}
}

func TestErrorsSayWhatIsWanted(t *testing.T) {
	for want, err := range map[string]error{
		"registration is needed: get a folder by hand":                                       &RegistrationError{},
		"registration is needed: get a, b by hand":                                           &RegistrationError{Files: []string{"a", "b"}},
		"dir/x is in the way: it is not a file":                                              &InTheWayError{"dir/x", "it is not a file"},
		"dir needs 1.50 MB more, 999 B are free there":                                       &NoRoomError{"dir", 1_500_000, 999},
		"f has MD5 aa, want bb":                                                              &checksumError{"f", "MD5", "aa", "bb"},
		"http://a/f has no bytes from 7 on: the file there is shorter, or empty":             &shorterError{"http://a/f", 7},
		"http://a/f answers 403 Forbidden: it wants a login or an agreement":                 &statusError{url: "http://a/f", code: 403},
		"http://a/f answers 404 Not Found: the file is no longer there":                      &statusError{url: "http://a/f", code: 404},
		"http://a/f answers 410 Gone: the file is no longer there":                           &statusError{url: "http://a/f", code: 410},
		"http://a/f answers 500 Internal Server Error":                                       &statusError{url: "http://a/f", code: 500},
		"http://a/f answers 299 ":                                                            &statusError{url: "http://a/f", code: 299},
		"a cannot be reached (is there a network?): no such host":                            &UnreachableError{"a", errors.New("no such host")},
		"http://a/f is not the file that was begun: its size was 1 and is 2":                 &changedError{"http://a/f", errors.New("its size was 1 and is 2")},
		"http://a/f answers with an HTML page instead of the file":                           &notAFileError{"http://a/f", "http://a/f", "an HTML page"},
		"http://a/f leads to http://b/, which answers with an HTML page instead of the file": &notAFileError{"http://a/f", "http://b/", "an HTML page"},
		"http://a/f leads to https://x.cloudflareaccess.com/l, which answers with a form instead of the file: it wants a login as a member of MLCommons": &notAFileError{"http://a/f", "https://x.cloudflareaccess.com/l", "a form"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestSourcesAreAskedInTheirOrder(t *testing.T) {
	f := File{Name: "dir/a b.bin", URLs: []string{"http://1/a", "http://2/a"}}
	closed := f
	closed.Registration = true
	for _, c := range []struct {
		name string
		o    Options
		file File
		want []string
	}{
		{"the publisher's", Options{}, f, []string{"http://1/a", "http://2/a"}},
		{"a mirror first, by the bare name", Options{Mirror: "http://m/x/"}, f, []string{"http://m/x/a%20b.bin", "http://1/a", "http://2/a"}},
		{"a mirror only", Options{Mirror: "http://m", MirrorOnly: true}, f, []string{"http://m/a%20b.bin"}},
		{"nobody, where registration is wanted", Options{}, closed, nil},
		{"but a mirror", Options{Mirror: "http://m"}, closed, []string{"http://m/a%20b.bin"}},
	} {
		if got := c.o.Sources(c.file); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := f.URLs; len(got) != 2 {
		t.Errorf("the manifest's addresses are %q now", got)
	}
}

// What lies there from an earlier run may be damaged: then a person has to get it again, and no server is asked for it.
func TestADamagedFileThatWantsRegistrationIsAskedOfThePerson(t *testing.T) {
	s := newServer(t)
	s.put("free.txt", []byte("free"))
	it := imagesByHand(s, File{MD5: md5Of([]byte("right"))})
	o, _ := options(t)
	path := filepath.Join(o.Dir, filepath.FromSlash(flat("closed.tar")))
	mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mustDo(t, os.WriteFile(path, []byte("wrong"), 0o644))
	var registration *RegistrationError
	if _, err := Get(t.Context(), manifestOf(it), it, o); !errors.As(err, &registration) || !slices.Equal(registration.Files, []string{"closed.tar"}) {
		t.Errorf("Get = %v, want that closed.tar is to be got by hand", err)
	}
	if n := s.requests.Load(); n > 1 {
		t.Errorf("%d requests were made, want the one for what is free", n)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the damaged one stays: %v", err)
	}
}

// A file that cannot be opened is named with what was tried, and not with a system call.
func TestAFileThatCannotBeOpenedIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{
		"val_map.txt": "open val_map.txt: no such file or directory",
		"folder":      "open folder: it is not a file",
		"../escape":   "open ../escape: path escapes from parent",
	} {
		if _, err := openFile(root, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
