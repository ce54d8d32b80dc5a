package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A mood is how a server answers one request.
type mood int

const (
	fine     mood = iota
	cut           // breaks off in the middle
	busy          // 503
	closed        // closes the connection without a word
	all           // sends the whole file where a part is asked for
	longer        // announces what it should, and sends more
	shifted       // sends another range than was asked for
	poisoned      // sends bytes that are not those of the file
	renewed       // has another version of the file from now on
	moods
)

// chaos answers each request in a mood of its own, drawn from a seed. Every other request is answered as it should be.
func chaos(t *testing.T, s *server, data []byte, seed uint64, poison bool) {
	draw := rand.New(rand.NewPCG(seed, 1))
	list := make([]mood, 64)
	for i := range list {
		if m := mood(draw.IntN(int(moods))); i%2 == 0 && (poison || m != poisoned) {
			list[i] = m
		}
	}
	var version atomic.Int64
	s.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		from, to := rangeOf(t, r)
		to = min(to, len(data)-1)
		head := func(from, to int) string {
			return fmt.Sprintf("206 Partial Content\nETag: \"%d\"\nContent-Range: bytes %d-%d/%d\nContent-Length: %d", version.Load(), from, to, len(data), to-from+1)
		}
		body := data[from : to+1]
		switch list[n%64] {
		case cut:
			hijack(t, w, head(from, to), body[:len(body)/2])
		case busy:
			hijack(t, w, "503 Service Unavailable\nContent-Length: 0", nil)
		case closed:
			hijack(t, w, "", nil)
		case all:
			hijack(t, w, fmt.Sprintf("200 OK\nETag: \"%d\"\nContent-Length: %d", version.Load(), len(data)), data)
		case longer:
			hijack(t, w, head(from, to), append(bytes.Clone(body), "more"...))
		case shifted:
			hijack(t, w, head(min(from+1, to), to), body[min(1, len(body)-1):])
		case poisoned:
			hijack(t, w, head(from, to), bytes.Repeat([]byte{7}, len(body)))
		case renewed:
			version.Add(1)
			hijack(t, w, head(from, to), body)
		default:
			hijack(t, w, head(from, to), body)
		}
		return true
	}
}

// Whatever servers do, a file has its name only if it is right; and if the same is tried again and again, it comes.
func TestWhateverAServerDoesAFileIsRightOrThereIsNone(t *testing.T) {
	data := randomBytes(7*testChunk + 321)
	for seed := range uint64(12) {
		s := newServer(t)
		chaos(t, s, data, seed, true)
		_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, MD5: md5Of(data)})
		o, _ := options(t)
		o.Connections = 1 + int(seed%4)
		var errs []string
		done := false
		for range 40 {
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if done = err == nil; done {
				break
			}
			errs = append(errs, err.Error())
			wantNothing(t, o)
		}
		if !done {
			t.Errorf("seed %d: after 40 runs: %q", seed, errs[len(errs)-3:])
			continue
		}
		wantFile(t, o, "m.onnx", data)
	}
}

// Without a checksum the length and the version are all that tells; a server that does not lie about bytes is enough then.
func TestWithoutAChecksumWhatCameIsStillOfOneVersion(t *testing.T) {
	data := randomBytes(5*testChunk + 7)
	for seed := range uint64(8) {
		s := newServer(t)
		chaos(t, s, data, seed, false)
		_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, Size: int64(len(data))})
		o, _ := options(t)
		o.Connections = 2
		for range 40 {
			if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil {
				wantFile(t, o, "m.onnx", data)
				break
			}
			wantNothing(t, o)
		}
	}
}

// Interrupted after any number of bytes, the next run goes on, and what was there is not fetched again.
func TestAnInterruptionAfterAnyByteCostsAChunkAtMost(t *testing.T) {
	data := randomBytes(6 * testChunk)
	stop := errors.New("stop")
	for _, at := range []int64{1, 999, 1000, 1001, 2500, 4000, 5999} {
		s := newServer(t)
		s.put("m.onnx", data)
		_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, MD5: md5Of(data)})
		o, n := options(t)
		o.Connections = 1
		ctx, cancel := context.WithCancelCause(t.Context())
		n.onBytes = func(done, _ int64) {
			if done >= at {
				cancel(stop)
			}
		}
		if _, err := Get(ctx, manifestOf(it), it, o); !errors.Is(err, stop) {
			t.Fatalf("interrupted after %d bytes: %v", at, err)
		}
		wantNothing(t, o)
		n.onBytes = nil
		before := s.sent.Load()
		mustGet(t, it, o)
		wantFile(t, o, "m.onnx", data)
		whole := at / testChunk
		if whole == 1 {
			whole = 0 // one chunk is not worth a journal
		}
		if got, most := s.sent.Load()-before, int64(len(data))-(whole-1)*testChunk; got > most {
			t.Errorf("interrupted after %d bytes, the second run fetched %d, want at most %d", at, got, most)
		}
	}
}

// A run that was killed may have left anything in our own folder, and the machine may have lost power in between.
func TestRubbishInOurFolderIsNoReasonToFail(t *testing.T) {
	data := randomBytes(3 * testChunk)
	part := stateDir + "/m.onnx.part"
	for name, files := range map[string]map[string]string{
		"a part without a journal":         {part: "rubbish"},
		"a journal without a part":         {part + journalSuffix: `{"format":1,"size":3000,"chunk":1000,"done":[true,true,true]}`},
		"a journal that is cut off":        {part: string(data), part + journalSuffix: `{"format":1,"size":30`},
		"a journal of another size":        {part: string(data[:2999]), part + journalSuffix: `{"format":1,"size":3000,"chunk":1000,"done":[true,true,true]}`},
		"a journal that says too much":     {part: strings.Repeat("\x00", 3000), part + journalSuffix: `{"format":1,"url":"URL","etag":"\"one\"","size":3000,"chunk":1000,"done":[true,true,true]}`},
		"half a journal that is not right": {part: strings.Repeat("\x00", 3000), part + journalSuffix: `{"format":1,"url":"URL","etag":"\"one\"","size":3000,"chunk":1000,"done":[true,false,true]}`},
		"a receipt that is cut off":        {receiptFile: `{"format":1,"kind":"mo`},
		"a list that is cut off":           {sumsFile: strings.Repeat("a", 64) + "  m.on"},
		"a list that is no text":           {sumsFile: "\x00\xff\xfe\n\n  \n"},
		"half a list, replaced":            {stateDir + "/.SHA256SUMS-1.tmp": "x"},
	} {
		s := newServer(t)
		s.put("m.onnx", data)
		_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, SHA256: sha256Of(data)})
		o, _ := options(t)
		for file, text := range files {
			path := filepath.Join(o.Dir, filepath.FromSlash(file))
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
			mustDo(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "URL", s.URL+"/m.onnx")), 0o644))
		}
		if _, err := Get(t.Context(), manifestOf(it), it, o); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantFile(t, o, "m.onnx", data)
		if r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir}); err != nil || !r.OK() || len(r.Fine) != 2 {
			t.Errorf("%s: Verify = %+v, %v", name, r, err)
		}
		if again := mustGet(t, it, o); !again.Already {
			t.Errorf("%s: the second run fetches again", name)
		}
		if left := leftovers(t, o.Dir); len(left) > 0 {
			t.Errorf("%s: %q is left", name, left)
		}
	}
}

// leftovers are the files of our own folder that a finished download does not need.
func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, stateDir))
	mustDo(t, err)
	for _, e := range entries {
		switch filepath.ToSlash(filepath.Join(stateDir, e.Name())) {
		case lockFile, receiptFile, sumsFile:
		default:
			names = append(names, e.Name())
		}
	}
	return names
}
