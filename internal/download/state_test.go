package download

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func TestWaitingForAnotherDownloadEndsWithTheContext(t *testing.T) {
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}})
	o, n := options(t)
	if err := os.MkdirAll(filepath.Join(o.Dir, stateDir), 0o755); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(o.Dir, lockFile))
	if ok, err := other.TryLock(); !ok {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	begun := time.Now()
	o.Observer = hearing{n, func(string) { cancel(stop) }}
	if _, err := Get(ctx, manifestOf(it), it, o); !errors.Is(err, stop) || time.Since(begun) > 5*time.Second {
		t.Errorf("Get = %v after %v, want %v at once", err, time.Since(begun), stop)
	}
	if !n.has("waiting for it") {
		t.Errorf("notes: %q", n.lines)
	}
}

// hearing is an Observer that acts on notes.
type hearing struct {
	*notes
	note func(text string)
}

// Note implements Observer.
func (h hearing) Note(text string) {
	h.notes.Note(text)
	h.note(text)
}

func TestWhatAKilledRunLeftHalfWrittenIsRemoved(t *testing.T) {
	data := randomBytes(testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	o, _ := options(t)
	left := filepath.Join(o.Dir, stateDir, ".SHA256SUMS.123.tmp")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	mustGet(t, it, o)
	if _, err := os.Stat(left); err == nil {
		t.Error("it is still there")
	}
}

func TestOurFolderIsNoLink(t *testing.T) {
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}})
	o, _ := options(t)
	outside := t.TempDir()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(o.Dir, stateDir)); err != nil {
		t.Skip(err)
	}
	_, err := Get(t.Context(), manifestOf(it), it, o)
	if !errors.As(err, new(*InTheWayError)) || !strings.Contains(err.Error(), "it is not a folder") {
		t.Errorf("Get = %v, want that a link is in the way", err)
	}
	wantOnly(t, outside)
}
