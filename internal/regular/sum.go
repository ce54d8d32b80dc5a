package regular

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// SHA256 returns the SHA-256 of a file, in hexadecimal digits, and its size in bytes. It stops when the context ends.
func SHA256(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := Open(path)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(h, untilDone{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// untilDone is a reader that fails once its context has ended.
type untilDone struct {
	ctx context.Context
	src io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.src.Read(p)
}
