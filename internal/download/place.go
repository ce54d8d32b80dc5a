package download

import (
	"context"
	"errors"
	"path"
	"path/filepath"

	"github.com/cenkalti/backoff/v5"
)

// keep reports whether the file is in its place with the right contents. Other contents are
// replaced only if that is wanted.
func (j *job) keep(ctx context.Context, f File) (bool, error) {
	info, err := j.root.Stat(f.Name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if !info.Mode().IsRegular() {
		return false, j.inTheWay(f.Name, errNotAFile.Error())
	}
	got, err := sumFile(ctx, j.root, f.Name, progressOf(j.Observer, info.Size()))
	if err != nil {
		return false, err
	}
	return j.judge(f, got)
}

// judge reports whether a file with these checksums may stay.
func (j *job) judge(f File, got sums) (bool, error) {
	ours := j.list.get(f.Name)
	wrong := wrongWith(f.want(), got, ours)
	switch {
	case wrong == nil && ours == got.SHA256:
		return true, nil
	case wrong == nil:
		return true, j.list.add(f.Name, got.SHA256)
	case ours != "" || j.Force: // it was ours and is damaged, or may be replaced
		return false, nil
	}
	return false, j.inTheWay(f.Name, wrong.Error())
}

// wrongWith says why a file that is there may not stay. ours is the checksum that is listed.
func wrongWith(w want, got sums, ours string) error {
	if err := w.check(got, "it"); err != nil {
		return err
	}
	if !w.known() && ours != got.SHA256 {
		return errors.New("no checksum says whether it is right")
	}
	return nil
}

func (j *job) inTheWay(name, why string) error { return &InTheWayError{j.path(name), why} }

// bring makes the part file, from what the user has or from a server.
func (j *job) bring(ctx context.Context, f File, part string) (fetched, error) {
	if file := j.handed(f); file != "" {
		return j.copyIn(ctx, file, part, f.want())
	}
	urls := j.Sources(f)
	if len(urls) == 0 {
		return fetched{}, &RegistrationError{j.item, []string{path.Base(f.Name)}}
	}
	return j.fetcher.fetch(ctx, part, urls, f.want())
}

// install gives a part file its name, at once.
func (j *job) install(part, name, sum string) error {
	if err := j.mkdirFor(name); err != nil {
		return err
	}
	if err := j.root.Rename(part, name); err != nil {
		return err
	}
	if err := ignoreMissing(j.root.Remove(part + journalSuffix)); err != nil {
		return err
	}
	return j.list.add(name, sum)
}

// checkWay reports whether a file may be written where another one may be: if that one is
// ours, is the same, or may be replaced.
func (j *job) checkWay(ctx context.Context, name, sum string) error {
	if _, err := j.root.Lstat(name); err != nil || j.Force || j.list.get(name) != "" {
		return ignoreMissing(err)
	}
	got, err := sumFile(ctx, j.root, name, nil)
	if errors.Is(err, errNotAFile) {
		return j.inTheWay(name, errNotAFile.Error())
	}
	if err == nil && got.SHA256 != sum {
		err = j.inTheWay(name, "its contents are others")
	}
	return err
}

func (j *job) mkdirFor(name string) error {
	if dir := path.Dir(name); dir != "." {
		return j.root.MkdirAll(dir, 0o755)
	}
	return nil
}

// path is the full path of a name, for messages.
func (j *job) path(name string) string { return filepath.Join(j.Dir, filepath.FromSlash(name)) }

// checkRoom reports whether so many more bytes fit.
func (j *job) checkRoom(need int64) error {
	if j.Free == nil {
		return nil
	}
	free, err := j.Free(j.Dir)
	if err != nil {
		return backoff.Permanent(err)
	}
	if need > 0 && uint64(need) > free {
		return backoff.Permanent(&NoRoomError{j.Dir, need, free})
	}
	return nil
}
