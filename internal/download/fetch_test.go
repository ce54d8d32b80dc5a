package download

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileComesInRangesSeveralAtATime(t *testing.T) {
	data := randomBytes(20*testChunk + 7)
	s := newServer(t)
	s.put("m.onnx", data)
	gate := make(chan struct{})
	s.fault = func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
		if n == 4 {
			close(gate) // the fourth request has come while three wait
		}
		if n <= 4 {
			<-gate
		}
		return false
	}
	// The first answer has to come before more is asked for.
	s.fault = skipFirst(s.fault)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, Size: int64(len(data)), MD5: md5Of(data)})
	o, _ := options(t)
	got := mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if got.Path != filepath.Join(o.Dir, "m.onnx") || got.Bytes != int64(len(data)) || got.Already {
		t.Errorf("Get = %+v", got)
	}
	if n := s.requests.Load(); n != 21 {
		t.Errorf("%d requests, want one for each of 21 chunks", n)
	}
	if s.sent.Load() != int64(len(data)) {
		t.Errorf("%d bytes were sent, the file has %d", s.sent.Load(), len(data))
	}
	left, err := os.ReadDir(filepath.Join(o.Dir, stateDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.Contains(e.Name(), partSuffix) {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func skipFirst(f func(http.ResponseWriter, *http.Request, int64) bool) func(http.ResponseWriter, *http.Request, int64) bool {
	return func(w http.ResponseWriter, r *http.Request, n int64) bool {
		return n > 1 && f(w, r, n-1)
	}
}

// interrupt downloads and cancels once so many bytes have come.
func interrupt(t *testing.T, it Item, o Options, after int64) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	o.Observer = &notes{onBytes: func(done, _ int64) {
		if done >= after {
			cancel(stop)
		}
	}}
	_, err := Get(ctx, manifestOf(it), it, o)
	if !errors.Is(err, stop) {
		t.Fatalf("Get = %v, want %v", err, stop)
	}
	return err
}

func TestAnInterruptedDownloadGoesOn(t *testing.T) {
	data := randomBytes(50 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, n := options(t)
	interrupt(t, it, o, 30*testChunk)
	wantNothing(t, o)
	s.sent.Store(0)
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if sent := s.sent.Load(); sent > 30*testChunk || sent < 15*testChunk {
		t.Errorf("%d bytes were sent again, of %d", sent, len(data))
	}
	if !n.has("going on after") {
		t.Errorf("notes: %q", n.lines)
	}
}

func TestAChangedFileIsBegunAnew(t *testing.T) {
	old, other := randomBytes(40*testChunk), randomBytes(80 * testChunk)[40*testChunk:]
	for name, c := range map[string]struct {
		etag string
		data []byte
		said string
	}{
		"another ETag":          {`"two"`, other, `its ETag was "\"one\"" and is "\"two\""`},
		"another size":          {`"one"`, other[:39*testChunk+1], "size was 40000 and is 39001"},
		"no validator any more": {"", other, "ETag was"},
		"much shorter":          {`"one"`, other[:10], "the file there is shorter"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("m.onnx", old)
			_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
			o, n := options(t)
			interrupt(t, it, o, 20*testChunk)
			s.tag(c.etag)
			s.put("m.onnx", c.data)
			mustGet(t, it, o)
			wantFile(t, o, "m.onnx", c.data)
			if !n.has(c.said) || !n.has("beginning anew") {
				t.Errorf("notes %q, want %q", n.lines, c.said)
			}
		})
	}
}

func TestAFileThatChangesMeanwhileIsBegunAnew(t *testing.T) {
	old, changed := randomBytes(10*testChunk), randomBytes(20 * testChunk)[10*testChunk:]
	s := newServer(t)
	s.put("m.onnx", old)
	s.fault = func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
		if n == 5 {
			s.put("m.onnx", changed)
			s.tag(`"two"`)
		}
		return false
	}
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, n := options(t)
	o.Connections = 1
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", changed)
	if !n.has("is not the file that was begun") {
		t.Errorf("notes: %q", n.lines)
	}
}

func TestServersThatDoNotAgreeAreReadInOneGo(t *testing.T) {
	data := randomBytes(10 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	s.fault = func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
		s.tag(fmt.Sprintf("%q", fmt.Sprint(n)))
		return false
	}
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
}

func TestWithoutAValidatorOnlyAChecksumAllowsGoingOn(t *testing.T) {
	data := randomBytes(40 * testChunk)
	for _, checksum := range []bool{true, false} {
		t.Run(fmt.Sprint("checksum ", checksum), func(t *testing.T) {
			s := newServer(t)
			s.tag("")
			s.put("m.onnx", data)
			f := File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}}
			if checksum {
				f.SHA256 = sha256Of(data)
			}
			_, it := plainItem(f)
			o, n := options(t)
			interrupt(t, it, o, 20*testChunk)
			mustGet(t, it, o)
			wantFile(t, o, "m.onnx", data)
			if n.has("beginning anew") == checksum {
				t.Errorf("notes: %q", n.lines)
			}
		})
	}
}

func TestAPieceOfAnotherMirrorIsUsedIfAChecksumTells(t *testing.T) {
	data := randomBytes(40 * testChunk)
	first, second := newServer(t), newServer(t)
	first.put("m.onnx", data)
	second.put("m.onnx", data)
	second.tag(`"other"`)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{first.URL + "/m.onnx", second.URL + "/m.onnx"}, MD5: md5Of(data)})
	o, _ := options(t)
	interrupt(t, it, o, 20*testChunk)
	first.remove("m.onnx")
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if sent := second.sent.Load(); sent > 30*testChunk {
		t.Errorf("the second server sent %d bytes, most were there", sent)
	}
}

func TestAMixtureWithAWrongChecksumIsBegunAnew(t *testing.T) {
	data := randomBytes(40 * testChunk)
	first, second := newServer(t), newServer(t)
	first.put("m.onnx", randomBytes(80 * testChunk)[40*testChunk:]) // something else, of the same size
	second.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{first.URL + "/m.onnx", second.URL + "/m.onnx"}, MD5: md5Of(data)})
	o, n := options(t)
	interrupt(t, it, o, 20*testChunk)
	first.Close()
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if !n.has("MD5") || !n.has("beginning anew") {
		t.Errorf("notes: %q", n.lines)
	}
}

func TestAServerThatBreaksOffIsAskedForTheRest(t *testing.T) {
	data := randomBytes(6 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	s.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		if n%3 == 0 {
			return false
		}
		from, to := rangeOf(t, r)
		head := fmt.Sprintf("206 Partial Content\nETag: %s\nContent-Range: bytes %d-%d/%d\nContent-Length: %d", s.etag, from, to, len(data), to-from+1)
		hijack(t, w, head, data[from:from+min(100, to-from)])
		return true
	}
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, MD5: md5Of(data)})
	o, _ := options(t)
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
}

func TestAServerWithoutRangesIsReadInOneGo(t *testing.T) {
	data := randomBytes(5 * testChunk)
	for name, length := range map[string]string{"with a length": "\nContent-Length: 5000", "without a length": ""} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.fault = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
				body := data
				if n < 3 && length != "" {
					body = data[:1234] // breaks off twice
				}
				hijack(t, w, "200 OK"+length, body)
				return true
			}
			_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, Size: int64(len(data))})
			o, _ := options(t)
			mustGet(t, it, o)
			wantFile(t, o, "m.onnx", data)
		})
	}
}

func TestAMirrorHelpsWhereTheFirstServerLies(t *testing.T) {
	data := randomBytes(3 * testChunk)
	bad, good := newServer(t), newServer(t)
	bad.put("m.onnx", []byte(strings.Repeat("x", len(data))))
	good.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{bad.URL + "/m.onnx", good.URL + "/m.onnx"}, SHA256: sha256Of(data)})
	o, n := options(t)
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if !n.has("SHA-256") || !n.has("trying "+good.URL) {
		t.Errorf("notes: %q", n.lines)
	}
}

func TestTheUsersMirrorIsAskedFirst(t *testing.T) {
	data := randomBytes(testChunk)
	official, mirror := newServer(t), newServer(t)
	official.put("files/m.onnx", data)
	mirror.put("here/m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{official.URL + "/files/m.onnx"}})
	o, _ := options(t)
	o.Mirror = mirror.URL + "/here/"
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if official.requests.Load() != 0 {
		t.Error("the official server was asked")
	}
}

func TestAnEmptyFileIsAFile(t *testing.T) {
	s := newServer(t)
	s.put("empty.txt", nil)
	_, it := plainItem(File{Name: "empty.txt", URLs: []string{s.URL + "/empty.txt"}})
	o, _ := options(t)
	_, err := Get(t.Context(), manifestOf(it), it, o)
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, o, "empty.txt", nil)
}

// S3 and its kin refuse any range of an empty file.
func TestAnEmptyFileHasNoRange(t *testing.T) {
	for name, c := range map[string]struct {
		file File
		want string
	}{
		"known to be empty": {File{MD5: md5Of(nil)}, ""},
		"not known":         {File{}, "has no bytes from 0 on"},
		"known not to be":   {File{MD5: md5Of([]byte("a"))}, "has no bytes from 0 on"},
	} {
		s := newServer(t)
		s.fault = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}
		c.file.Name, c.file.URLs = "empty.txt", []string{s.URL + "/empty.txt"}
		_, it := plainItem(c.file)
		o, _ := options(t)
		_, err := Get(t.Context(), manifestOf(it), it, o)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wantFile(t, o, "empty.txt", nil)
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Get = %v, want %q", name, err, c.want)
		}
	}
}

func TestWithoutRoomToUnpackNothingIsFetched(t *testing.T) {
	data := tarOf(t, entry{name: "a", data: strings.Repeat("a", 10000)})
	_, it := archiveItem(t, "x.tar", data, Unpack{Format: "tar"})
	o, _ := options(t)
	o.Free = func(string) (uint64, error) { return uint64(len(data)) + 5000, nil }
	_, err := Get(t.Context(), manifestOf(it), it, o)
	if err == nil || !strings.Contains(err.Error(), "are free there") {
		t.Errorf("Get = %v, want that there is no room", err)
	}
}

func TestWithoutRoomNothingIsFetched(t *testing.T) {
	s := newServer(t)
	s.put("m.onnx", randomBytes(5*testChunk))
	m, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	o.Free = func(string) (uint64, error) { return 4999, nil }
	_, err := Get(t.Context(), m, it, o)
	if err == nil || !strings.Contains(err.Error(), "needs 5.00 kB more, 5.00 kB are free") {
		t.Errorf("Get = %v, want that there is no room", err)
	}
	if s.requests.Load() != 1 {
		t.Errorf("%d requests, want the one that tells the size", s.requests.Load())
	}
}
