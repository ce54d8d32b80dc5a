package download

import (
	"context"
	"errors"
	"io"
)

// write writes a file under another name first, so that under its own it is whole.
func (x *extraction) write(ctx context.Context, to string, size int64, r io.Reader) error {
	if err := x.checkRoom(size); err != nil {
		return err
	}
	part := flat("unpacking") + partSuffix
	got, err := x.writePart(part, size, r)
	if err != nil {
		return err
	}
	x.limit -= size
	if err := x.checkWay(ctx, to, got.SHA256); err != nil {
		return err
	}
	return x.install(part, to, got.SHA256)
}

// writePart writes so many bytes, and no more may follow.
func (x *extraction) writePart(part string, size int64, r io.Reader) (sums, error) {
	out, err := x.root.Create(part)
	if err != nil {
		return sums{}, err
	}
	s := newSummer()
	source := &failing{r: io.LimitReader(r, size+1)}
	n, err := io.Copy(io.MultiWriter(out, s), source)
	switch {
	case source.err != nil:
		err = brokenError{source.err}
	case err == nil && n != size:
		err = broken("it has %d bytes or more, announced were %d", n, size)
	}
	return s.sums(), errors.Join(err, out.Close())
}

// failing is a reader that remembers its error, so that it is not taken for the writer's.
type failing struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
