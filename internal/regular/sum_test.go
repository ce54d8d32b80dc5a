package regular

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sums are those of FIPS 180-2 (appendix B) and of nothing.
func TestTheSumOfAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for text, want := range map[string]string{
		"":                           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"abc":                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		strings.Repeat("a", 1000000): "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if sum, size, err := SHA256(t.Context(), path); err != nil || sum != want || size != int64(len(text)) {
			t.Errorf("of %d bytes: %s, %d bytes, error %v; want %s", len(text), sum, size, err, want)
		}
	}
	enough := errors.New("enough")
	ended, end := context.WithCancelCause(t.Context())
	end(enough)
	if sum, _, err := SHA256(ended, path); !errors.Is(err, enough) || sum != "" {
		t.Errorf("where the context has ended: %q, error %v", sum, err)
	}
	if _, _, err := SHA256(t.Context(), filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if _, _, err := SHA256(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("of a folder: %v", err)
	}
}
