package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
)

// A brokenError is an archive that is not what it should be, whatever the disk does.
type brokenError struct{ error }

func (e brokenError) Unwrap() error { return e.error }

func broken(format string, args ...any) error { return brokenError{fmt.Errorf(format, args...)} }

// obtainArchive brings an archive into our own folder and unpacks it.
func (j *job) obtainArchive(ctx context.Context, f File) error {
	if err := j.bringArchive(ctx, f); err != nil {
		return err
	}
	if err := j.unpack(ctx, f); err != nil {
		return j.dropBroken(ctx, f, fmt.Errorf("unpacking %s: %w", path.Base(f.Name), err))
	}
	return j.dropBroken(ctx, f, j.checkInside(ctx, f))
}

// bringArchive brings an archive into our own folder, where it has its name only when it
// is whole.
func (j *job) bringArchive(ctx context.Context, f File) error {
	if _, there := j.archives[f.Name]; there {
		return nil
	}
	j.Observer.Phase(f.Name)
	archive := flat(f.Name)
	got, there, err := j.keepArchive(ctx, f, archive)
	if err != nil {
		return err
	}
	if !there {
		part := archive + partSuffix
		if got, err = j.withRoomToUnpack().bring(ctx, f, part); err != nil {
			return err
		}
		if err := j.root.Rename(part, archive); err != nil {
			return err
		}
		if err := j.fetcher.discard(part); err != nil {
			return err
		}
	}
	if j.KeepArchives {
		if err := j.checkWay(ctx, f.Name, got.SHA256); err != nil {
			return err
		}
	}
	j.receipt.Sources[f.Name] = got
	j.archives[f.Name] = got
	return nil
}

// dropBroken removes an archive that is not what it should be, and of which no checksum
// tells whether it came whole. Kept, it would be taken for the right one for ever.
func (j *job) dropBroken(ctx context.Context, f File, err error) error {
	ofTheArchive := errors.As(err, new(brokenError)) || errors.As(err, new(*checksumError))
	if !ofTheArchive || f.want().known() || context.Cause(ctx) != nil || errors.As(err, new(*fs.PathError)) {
		return err
	}
	err = fmt.Errorf("%w; no checksum is published that could tell whether the archive came whole, so it was removed", err)
	return errors.Join(err, ignoreMissing(j.root.Remove(flat(f.Name))))
}

// withRoomToUnpack returns the job with a fetcher that wants room for an archive and, as
// at least as much comes out of it, for its contents.
func (j *job) withRoomToUnpack() *job {
	careful, f := *j, *j.fetcher
	f.room = func(need, size int64) error { return j.checkRoom(need + min(size, math.MaxInt64-need)) }
	careful.fetcher = &f
	return &careful
}

// keepArchive reports whether the archive is there from an earlier run. It has its name
// only if it was whole and right then. If the user hands one over, and no checksum tells
// whether they are the same, the user's is taken.
func (j *job) keepArchive(ctx context.Context, f File, archive string) (fetched, bool, error) {
	info, err := j.root.Stat(archive)
	if err != nil {
		return fetched{}, false, ignoreMissing(err)
	}
	got, err := sumFile(ctx, j.root, archive, progressOf(j.Observer, info.Size()))
	if err != nil {
		return fetched{}, false, err
	}
	if f.want().check(got, archive) != nil || !f.want().known() && j.handed(f) != "" {
		return fetched{}, false, j.root.Remove(archive)
	}
	return fetched{got, "from an earlier run"}, true, nil
}

// unpack writes the wanted entries of an archive into the item's folder.
func (j *job) unpack(ctx context.Context, f File) error {
	x, err := j.newExtraction(f)
	if err != nil {
		return err
	}
	if keep := layouts()[j.item.Layout].keep; keep != nil {
		if x.keep, err = keep(j); err != nil {
			return err
		}
	}
	j.Observer.Phase("unpacking " + path.Base(f.Name))
	if err := x.run(ctx); err != nil {
		return err
	}
	if x.skipped > maxSkipSaid {
		j.Observer.Note(fmt.Sprintf("%d entries that are no files were left out altogether", x.skipped))
	}
	if x.files == 0 {
		return broken("it has none of the files that are wanted")
	}
	return nil
}
