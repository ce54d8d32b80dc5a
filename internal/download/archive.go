package download

import (
	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// obtainArchive brings an archive into our own folder, where it has its name only when it is whole, and unpacks it.
func (j *job) obtainArchive(ctx context.Context, f File) error {
	j.Observer.Phase(f.Name)
	archive := inState(f.Name)
	got, err := sumFile(ctx, j.root, archive, j.Observer.Bytes)
	if err == nil && (f.check(got, archive) != nil || !f.hasChecksum() && j.given(f) != "") {
		err = errors.Join(fs.ErrNotExist, j.root.Remove(archive)) // it is damaged, or the user gives another one
	}
	if errors.Is(err, fs.ErrNotExist) {
		if got, err = j.bring(ctx, f, archive+partSuffix, j.Observer.Bytes); err == nil {
			err = errors.Join(j.root.Rename(archive+partSuffix, archive), j.discard(archive+partSuffix))
		}
	}
	if err != nil {
		return err
	}
	if j.KeepArchives {
		if old, err := sumFile(ctx, j.root, f.Name, nil); err == nil && !j.Force && j.list.get(f.Name) == "" && old.SHA256 != got.SHA256 {
			return &InTheWayError{j.path(f.Name), "its contents are others"}
		}
	}
	j.archives = append(j.archives, f.Name)

	if err = j.unpack(ctx, f); err != nil {
		err = fmt.Errorf("unpacking %s: %w", path.Base(f.Name), err)
	} else {
		err = j.checkInside(ctx, f)
	}
	if err == nil || f.hasChecksum() || ctx.Err() != nil || ofThisMachine(err) || errors.As(err, new(*InTheWayError)) {
		return err
	}
	// Kept, a broken archive would be taken for the right one for ever.
	err = fmt.Errorf("%w; no checksum is published that could tell whether the archive came whole, so it was removed", err)
	return errors.Join(err, j.root.Remove(archive))
}

// checkInside checks the files that come out of another, as far as their checksums are published.
func (j *job) checkInside(ctx context.Context, f File) error {
	for _, name := range slices.Sorted(maps.Keys(f.Inside)) {
		got, err := sumFile(ctx, j.root, name, nil)
		switch {
		case errors.Is(err, fs.ErrNotExist) && f.R2 != "": // it may lie in a folder: the list says where
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s has no %s", path.Base(f.Name), name)
		case err != nil:
			return err
		default:
			if err := (File{MD5: f.Inside[name]}).check(got, j.path(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpack writes the wanted entries of an archive into the item's folder. Folders come with their files; links, devices and
// other entries that are not files are left out.
func (j *job) unpack(ctx context.Context, f File) error {
	keep := func(string) bool { return true }
	if layout := layouts()[j.item.Layout]; layout.keep != nil && j.Count > 0 {
		var err error
		if keep, err = layout.keep(j); err != nil {
			return err
		}
	}
	j.Observer.Phase("unpacking " + path.Base(f.Name))
	in, err := j.root.Open(inState(f.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	files, left := 0, 0
	room := int64(math.MaxInt64)
	if !f.hasChecksum() { // it may be of somebody between the publisher and this machine
		room = leastUnpacked + mostUnpacked*info.Size()
	}
	entry := func(name string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
		to, err := f.Unpack.entryPath(name)
		switch {
		case err != nil || to == "" || mode.IsDir() || !keep(to):
			return err
		case !mode.IsRegular():
			left++
			return nil
		}
		r, err := open()
		if err == nil {
			var n int64
			n, err = j.writeEntry(ctx, to, io.LimitReader(r, room))
			if room -= n; err == nil && room == 0 {
				err = fmt.Errorf("the archive becomes more than %d times as large, and no checksum of it is published", mostUnpacked)
			}
			err = errors.Join(err, r.Close())
		}
		if err != nil {
			return fmt.Errorf("entry %q: %w", name, err)
		}
		files++
		return nil
	}

	if f.Unpack.Format == "zip" {
		archive, err := zip.NewReader(in, info.Size())
		if err != nil {
			return err
		}
		done := int64(0)
		for _, e := range archive.File {
			if err := entry(e.Name, e.Mode(), e.Open); err != nil {
				return err
			}
			done += int64(e.CompressedSize64)
			j.Observer.Bytes(min(done, info.Size()), info.Size())
		}
	} else {
		var r io.Reader = &reading{Reader: fileio.UntilDone(ctx, in), of: info.Size(), show: j.Observer.Bytes}
		switch f.Unpack.Format {
		case "tar.gz":
			if r, err = gzip.NewReader(r); err != nil {
				return err
			}
		case "tar.bz2":
			r = bzip2.NewReader(r)
		}
		archive := tar.NewReader(r)
		for {
			h, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			mode := h.FileInfo().Mode()
			if h.Typeflag == tar.TypeLink { // a hard link
				mode = fs.ModeIrregular
			}
			if err := entry(h.Name, mode, func() (io.ReadCloser, error) { return io.NopCloser(archive), nil }); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, r); err != nil { // the checksum of compressed data is at their end
			return err
		}
	}
	if left > 0 {
		j.Observer.Note(fmt.Sprintf("%s: left out %d entries that are not files", path.Base(f.Name), left))
	}
	if files == 0 {
		return errors.New("it has none of the wanted files")
	}
	return nil
}

// An archive without a published checksum may become mostUnpacked times as large as it is, and leastUnpacked bytes more.
const (
	mostUnpacked  = 100
	leastUnpacked = 16 << 20
)

// writeEntry writes a file under another name first, so that under its own it is whole.
func (j *job) writeEntry(ctx context.Context, to string, r io.Reader) (n int64, err error) {
	part := inState("unpacking") + partSuffix
	out, err := j.root.Create(part)
	if err != nil {
		return 0, err
	}
	s := newSummer()
	n, err = io.Copy(io.MultiWriter(out, s), fileio.UntilDone(ctx, r))
	if err := errors.Join(err, out.Close()); err != nil {
		return n, err
	}
	return n, j.install(ctx, part, to, s.sums().SHA256)
}

// entryPath returns where an entry of an archive goes, below the item's folder; "" if it is not wanted. A name that leaves the
// folder is an error even then: the archive is not what it should be.
func (u *Unpack) entryPath(name string) (string, error) {
	clean := path.Clean(name)
	if clean == "." {
		return "", nil
	}
	if err := checkPath(clean); err != nil {
		return "", err
	}
	if len(u.Only) > 0 && !matchAny(u.Only, clean) {
		return "", nil
	}
	to, renamed := u.Rename[clean]
	if !renamed {
		elems := strings.Split(clean, "/")
		to = strings.Join(elems[min(u.Strip, len(elems)):], "/")
	}
	if to == "" {
		return "", nil
	}
	to = path.Join(u.Into, to)
	return to, checkPath(to)
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}
