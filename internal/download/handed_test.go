package download

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// writeFiles writes files into a fresh folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// imagesByHand is an item of which one file is fetched and one handed over.
func imagesByHand(s *server, closed File) Item {
	closed.Name, closed.Registration, closed.Unpack = "closed.tar", true, &Unpack{Format: "tar"}
	closed.URLs = []string{s.URL + "/closed.tar"}
	return Item{
		Kind: Dataset, Name: "d", Title: "D", License: "l", Steps: []string{"register"},
		Files: []File{{Name: "free.txt", URLs: []string{s.URL + "/free.txt"}}, closed},
	}
}

func TestABadFileOfTheUsersIsNoticedBeforeAnyServerIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		closed File
		given  string
		wrong  string
	}{
		"another checksum":     {File{MD5: md5Of([]byte("right"))}, "wrong", "has MD5"},
		"another size":         {File{Size: 7}, "wrong", "has 5 bytes, want 7"},
		"no archive":           {File{}, strings.Repeat("no archive ", 100), "invalid tar header"},
		"an archive cut short": {File{}, string(tarOf(t, entry{name: "a", data: "A"})[:300]), "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("free.txt", []byte("free"))
			it := imagesByHand(s, c.closed)
			o, _ := options(t)
			o.FromFiles = []string{filepath.Join(writeFiles(t, map[string]string{"given.tar": c.given}), "given.tar")}
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), "given.tar") {
				t.Errorf("Get = %v, want %q of given.tar", err, c.wrong)
			}
			if n := s.requests.Load(); n != 0 {
				t.Errorf("%d requests were made before the user's file was looked at", n)
			}
			wantNothing(t, o)
		})
	}
}

func TestAFileThatIsNotOfTheItemIsSaidToBeNone(t *testing.T) {
	s := newServer(t)
	it := imagesByHand(s, File{})
	it.Files[0].Registration = true
	o, _ := options(t)
	dir := writeFiles(t, map[string]string{"closed.tar": string(tarOf(t, entry{name: "a", data: "A"})), "other.txt": "x"})
	o.FromFiles = []string{filepath.Join(dir, "closed.tar"), filepath.Join(dir, "other.txt")}
	_, err := Get(t.Context(), manifestOf(it), it, o)
	var option *userinput.Error
	if !errors.As(err, &option) || !strings.Contains(err.Error(), "other.txt is none of the files of d, which are free.txt, closed.tar") {
		t.Errorf("Get = %v, want that other.txt is none of the files", err)
	}
}

// kits is a data set of three cases, one of which is made.
func kits() Item {
	return Item{
		Kind: Dataset, Name: "k", Title: "K", License: "l", Steps: []string{"register"}, Cases: []string{"case_00001", "case_00002", "case_00400"},
		Folder: &Folder{
			Files: []string{"case_?????/imaging.nii.gz", "case_?????/segmentation.nii.gz"},
			Copy:  map[string]string{"case_00400": "case_00001"},
		},
	}
}

func TestAFolderWithoutAllCasesIsNotTheDataSet(t *testing.T) {
	files := map[string]string{
		"case_00001/imaging.nii.gz": "1i", "case_00001/segmentation.nii.gz": "1s",
		"case_00002/imaging.nii.gz": "2i", "case_00009/imaging.nii.gz": "9i",
	}
	o, _ := options(t)
	o.FromFiles = []string{writeFiles(t, files)}
	it := kits()
	_, err := Get(t.Context(), manifestOf(it), it, o)
	if err == nil || !strings.Contains(err.Error(), "has 1 of the 2 cases of k: case_00002/segmentation.nii.gz is missing, and 0 more files") {
		t.Errorf("Get = %v, want that a file is missing", err)
	}
	wantNothing(t, o)

	t.Run("and a link to a file is one", func(t *testing.T) {
		target := filepath.Join(writeFiles(t, map[string]string{"2s": "2s"}), "2s")
		if err := os.Symlink(target, filepath.Join(o.FromFiles[0], "case_00002", "segmentation.nii.gz")); err != nil {
			t.Skip(err)
		}
		mustGet(t, it, o)
		wantFile(t, o, "case_00002/segmentation.nii.gz", []byte("2s"))
		wantFile(t, o, "case_00400/imaging.nii.gz", []byte("1i"))
	})
}

func TestAnArchiveThatMayNotHaveComeWholeIsNotKept(t *testing.T) {
	good := tarOf(t, entry{name: "a", data: strings.Repeat("a", 2000)})
	for name, bad := range map[string][]byte{
		"cut short":       good[:1000],
		"something else":  []byte(strings.Repeat("no tar ", 200)),
		"without content": tarOf(t),
		"hostile":         tarOf(t, entry{name: "../a", data: "A"}),
	} {
		t.Run(name, func(t *testing.T) {
			s, it := archiveItem(t, "x.tar", bad, Unpack{Format: "tar"})
			it.Files[0].MD5 = ""
			o, _ := options(t)
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if err == nil || !strings.Contains(err.Error(), "so it was removed") {
				t.Fatalf("Get = %v, want that the archive was removed", err)
			}
			s.put("x.tar", good)
			s.tag(`"two"`)
			mustGet(t, it, o)
			wantFile(t, o, "a", []byte(strings.Repeat("a", 2000)))
		})
	}
	t.Run("and one without a file whose checksum is published", func(t *testing.T) {
		s, it := archiveItem(t, "x.tar", good, Unpack{Format: "tar"})
		it.Files[0].MD5, it.Files[0].Inside = "", map[string]string{"b": md5Of([]byte("B"))}
		o, _ := options(t)
		if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil || !strings.Contains(err.Error(), "it has no b") {
			t.Fatalf("Get = %v, want that b is missing", err)
		}
		s.put("x.tar", tarOf(t, entry{name: "b", data: "B"}))
		mustGet(t, it, o)
		wantFile(t, o, "b", []byte("B"))
	})
	t.Run("but one with a checksum is", func(t *testing.T) {
		s, it := archiveItem(t, "x.tar", good[:1000], Unpack{Format: "tar"})
		o, _ := options(t)
		for range 2 {
			if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil || strings.Contains(err.Error(), "removed") {
				t.Fatalf("Get = %v, want an error that keeps the archive", err)
			}
		}
		if s.sent.Load() != 1000 {
			t.Errorf("%d bytes were sent, the archive has 1000", s.sent.Load())
		}
	})
}
