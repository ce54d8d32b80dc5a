//go:build unix

package download

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAPipeIsNoFolder(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	mustDo(t, syscall.Mkfifo(pipe, 0o644))
	it := Item{Kind: Model, Name: "m"}
	if _, err := Verify(t.Context(), it, VerifyOptions{Dir: pipe}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("verifying a pipe: %v, want %v", err, syscall.ENOTDIR)
	}
	if Installed(pipe, it) {
		t.Error("a pipe holds a download")
	}
	if _, err := Upscale(t.Context(), pipe, t.TempDir(), Upscaling{Width: 100, Height: 100, Format: "png"}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("enlarging a pipe: %v, want %v", err, syscall.ENOTDIR)
	}
}
