package download

import (
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server may claim any size. What it claims must not become memory, nor an overflow that looks
// like room on the disk.
func TestASizeThatNoFileHasIsRefused(t *testing.T) {
	for _, size := range []string{"9223372036854775807", "4611686018427387905", "1152921504606846976"} {
		for kind, u := range map[string]*Unpack{"file": nil, "archive": {Format: "tar"}} {
			for limit, free := range map[string]func(string) (uint64, error){
				"said to have " + size + " bytes, which no file has": nil,
				"TB are free there": func(string) (uint64, error) { return 1 << 40, nil },
			} {
				s := newServer(t)
				s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
					hijack(t, w, "206 Partial Content\nContent-Range: bytes 0-999/"+size, randomBytes(testChunk))
					return true
				}
				m, it := plainItem(File{Name: "m.bin", URLs: []string{s.URL + "/m.bin"}, Unpack: u})
				o, _ := options(t)
				o.Free = free
				if _, err := Get(t.Context(), m, it, o); err == nil || !strings.Contains(err.Error(), limit) {
					t.Errorf("a %s of %s bytes: Get = %v, want an error with %q", kind, size, err, limit)
				}
				wantNothing(t, o)
			}
		}
	}
}

func TestJournalsAreOfSizesThatFilesHave(t *testing.T) {
	for _, c := range []struct {
		size, chunk int64
		chunks      int // 0: none
	}{
		{1, 1000, 1}, {1000, 1000, 1}, {1001, 1000, 2}, {5, 1 << 62, 1},
		{maxChunks, 1, maxChunks}, {maxChunks + 1, 1, 0}, {math.MaxInt64, 1 << 62, 0},
	} {
		j := newJournal(remote{size: c.size}, c.chunk)
		if (j == nil) != (c.chunks == 0) || j != nil && len(j.Done) != c.chunks {
			t.Errorf("a journal of %d bytes in chunks of %d is %v, want %d chunks", c.size, c.chunk, j != nil, c.chunks)
			continue
		}
		if j == nil {
			continue
		}
		end := int64(-1) // the chunks follow each other and end with the file
		for i := range j.Done {
			from, to := j.bounds(i)
			if from != end+1 || to < from {
				t.Fatalf("chunk %d of %d bytes in chunks of %d is %d to %d, after %d", i, c.size, c.chunk, from, to, end)
			}
			end = to
		}
		if end != c.size-1 {
			t.Errorf("the last chunk of %d bytes ends with %d", c.size, end)
		}
	}
}

// The list of checksums may be lost or cut off, by a disk that was full or a power cut. What it
// does not tell was not checked.
func TestADownloadIsNotThereIfItsListIsNotWhole(t *testing.T) {
	a, b := randomBytes(testChunk), []byte("b")
	for name, damage := range map[string]func(path string) error{
		"lost":    os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"cut off": func(path string) error { return os.Truncate(path, 64+2+3+20) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("a.b", a)
			s.put("b.b", b)
			_, it := plainItem(File{Name: "a.b", URLs: []string{s.URL + "/a.b"}, MD5: md5Of(a)})
			it.Files = append(it.Files, File{Name: "b.b", URLs: []string{s.URL + "/b.b"}, MD5: md5Of(b)})
			o, n := options(t)
			mustGet(t, it, o)
			if err := damage(filepath.Join(o.Dir, sumsFile)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(o.Dir, "b.b")); err != nil {
				t.Fatal(err)
			}
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
			if err != nil || r.OK() {
				t.Errorf("Verify = %+v, %v, want that files are missing", r, err)
			} else if want := "files, want 2: the others cannot be checked"; name != "lost" && !strings.Contains(strings.Join(r.Problems, "\n"), want) {
				t.Errorf("Verify finds %q, want %q", r.Problems, want)
			}
			if got := mustGet(t, it, o); got.Already || got.Files != 2 {
				t.Errorf("Get = %+v, want that a file was missing", got)
			}
			wantFile(t, o, "b.b", b)
			if !n.has("files, want 2; getting what is missing") {
				t.Errorf("notes: %q", n.lines)
			}
			if got := mustGet(t, it, o); !got.Already {
				t.Error("the list is not whole again")
			}
		})
	}
}

// Earlier versions did not write how many files there were.
func TestAReceiptWithoutTheNumberOfFilesIsBelieved(t *testing.T) {
	data := randomBytes(testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	mustGet(t, it, o)
	path := filepath.Join(o.Dir, receiptFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older := strings.Replace(string(text), `"files": 1,`, "", 1)
	if older == string(text) {
		t.Fatalf("the receipt has no number of files: %s", text)
	}
	if err := os.WriteFile(path, []byte(older), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := mustGet(t, it, o); !got.Already {
		t.Errorf("Get = %+v, want that it was there", got)
	}
}
