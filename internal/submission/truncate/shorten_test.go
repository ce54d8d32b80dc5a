package truncate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestALogIsShortenedAsCuttingDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), logName)
	for _, size := range []int{0, 1, endSize - 1, endSize, endSize + 1, 2*endSize - 1, 2 * endSize, cutSize, cutSize + 1, 10 << 10, headSize - 1, headSize, headSize + 1, headSize + endSize, mostTail + endSize, 3*mostTail + 5, 1 << 20} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = byte('a' + i*7%26 + i/26%3)
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		short, hash, err := Shorten(t.Context(), path)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		want := whole
		if size >= endSize {
			want = append(append(bytes.Clone(whole[:endSize]), mark...), whole[size-endSize:]...)
		}
		sum := sha256.Sum256(whole)
		if !bytes.Equal(short, want) || hash != hex.EncodeToString(sum[:]) {
			t.Errorf("%d bytes: %d bytes with hash %s, want %d with %x", size, len(short), hash, len(want), sum)
		}
		if len(short) != cutSize {
			continue
		}
		if err := os.WriteFile(path, short, 0o644); err != nil {
			t.Fatal(err)
		}
		if again, _, err := Shorten(t.Context(), path); !errors.Is(err, ErrCut) || !bytes.Equal(again, short) {
			t.Errorf("%d bytes, cut: %d bytes, %v; want the same and ErrCut", size, len(again), err)
		}
	}
}

func TestALogOf5GBIsReadOnce(t *testing.T) {
	testenv.SkipLong(t, "5 GB are hashed")
	path := filepath.Join(t.TempDir(), logName)
	if err := os.WriteFile(path, []byte("[\n{ \"seq_id\" : 0"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 5<<30); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	short, hash, err := Shorten(t.Context(), path)
	runtime.ReadMemStats(&after)
	if err != nil || len(short) != cutSize || len(hash) != 64 || !bytes.HasPrefix(short, []byte("[\n{ \"seq_id\" : 0")) {
		t.Errorf("%d bytes, hash %q, %v; want %d bytes that begin as the log", len(short), hash, err, cutSize)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("reading took %d bytes of memory, want far less than the log", took)
	}
}
