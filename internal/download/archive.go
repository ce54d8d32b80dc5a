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
	"os"
	"path"
)

// Limits for archives: a broken or hostile one must not fill the disk.
const (
	maxEntries  = 10_000_000
	maxExpand   = 50       // times the archive's size, unpacked
	minExpand   = 64 << 20 // but always so much
	maxSkipSaid = 3
)

// obtainArchive brings an archive into our own folder and unpacks it.
func (j *job) obtainArchive(ctx context.Context, f File) error {
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
	j.receipt.Sources[f.Name] = got
	j.archives = append(j.archives, f.Name)
	if err := j.unpack(ctx, f, archive); err != nil {
		return fmt.Errorf("unpacking %s: %w", path.Base(f.Name), err)
	}
	return j.checkInside(ctx, f)
}

// withRoomToUnpack returns the job with a fetcher that wants room for an archive and, as
// at least as much comes out of it, for its contents.
func (j *job) withRoomToUnpack() *job {
	careful, f := *j, *j.fetcher
	f.room = func(need, size int64) error { return j.checkRoom(need + size) }
	careful.fetcher = &f
	return &careful
}

// keepArchive says whether the archive is there from an earlier run. It has its name
// only if it was whole and right then.
func (j *job) keepArchive(ctx context.Context, f File, archive string) (fetched, bool, error) {
	info, err := j.root.Stat(archive)
	if err != nil {
		return fetched{}, false, ignoreMissing(err)
	}
	got, err := sumFile(ctx, j.root, archive, progressOf(j.Observer, info.Size()))
	if err != nil {
		return fetched{}, false, err
	}
	if f.want().check(got, archive) != nil {
		return fetched{}, false, j.root.Remove(archive)
	}
	return fetched{got, "from an earlier run"}, true, nil
}

// unpack writes the wanted entries of an archive into the item's folder.
func (j *job) unpack(ctx context.Context, f File, archive string) error {
	info, err := j.root.Stat(archive)
	if err != nil {
		return err
	}
	x := &extraction{job: j, file: f, limit: max(minExpand, info.Size()*maxExpand), archiveSize: info.Size()}
	if keep := layouts()[j.item.Layout].keep; keep != nil {
		if x.keep, err = keep(j); err != nil {
			return err
		}
	}
	j.Observer.Phase("unpacking " + path.Base(f.Name))
	in, err := j.root.Open(archive)
	if err != nil {
		return err
	}
	defer in.Close()
	if f.Unpack.Format == "zip" {
		err = x.zip(ctx, in)
	} else {
		err = x.tar(ctx, in)
	}
	if err != nil {
		return err
	}
	if x.skipped > maxSkipSaid {
		j.Observer.Note(fmt.Sprintf("%d entries that are no files were left out altogether", x.skipped))
	}
	if x.files == 0 {
		return errors.New("it has none of the files that are wanted")
	}
	return nil
}

// An extraction is one archive being unpacked.
type extraction struct {
	*job
	file        File
	keep        func(name string) bool // nil: all
	limit       int64                  // bytes that may still be written
	archiveSize int64
	files       int
	entries     int
	skipped     int
}

// tar unpacks a tar archive, compressed or not.
func (x *extraction) tar(ctx context.Context, in *os.File) error {
	read := int64(0)
	var r io.Reader = &watched{ctx, in, func(n int) {
		read += int64(n)
		x.Observer.Bytes(read, x.archiveSize)
	}}
	switch x.file.Unpack.Format {
	case "tar.gz":
		gz, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		r = gz
	case "tar.bz2":
		r = bzip2.NewReader(r)
	}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := x.entry(ctx, h.Name, h.FileInfo().Mode(), h.Typeflag == tar.TypeLink, h.Size, t); err != nil {
			return err
		}
	}
}

// zip unpacks a zip archive.
func (x *extraction) zip(ctx context.Context, in *os.File) error {
	z, err := zip.NewReader(in, x.archiveSize)
	if err != nil {
		return err
	}
	read := int64(0)
	for _, f := range z.File {
		if f.UncompressedSize64 > 1<<62 {
			return fmt.Errorf("entry %q announces %d bytes", f.Name, f.UncompressedSize64)
		}
		err := x.zipEntry(ctx, f)
		if err != nil {
			return err
		}
		read += int64(f.CompressedSize64)
		x.Observer.Bytes(min(read, x.archiveSize), x.archiveSize)
	}
	return nil
}

func (x *extraction) zipEntry(ctx context.Context, f *zip.File) error {
	if f.FileInfo().IsDir() {
		return x.entry(ctx, f.Name, fs.ModeDir, false, 0, nil)
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("entry %q: %w", f.Name, err)
	}
	defer r.Close()
	return x.entry(ctx, f.Name, f.Mode(), false, int64(f.UncompressedSize64), &watched{ctx, r, nil})
}

// entry writes one entry, if it is a file and wanted. Folders come with their files;
// links, devices and the like are left out.
func (x *extraction) entry(ctx context.Context, name string, mode fs.FileMode, link bool, size int64, r io.Reader) error {
	if x.entries++; x.entries > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	to, err := x.file.Unpack.entryPath(name)
	if err != nil {
		return err
	}
	switch {
	case to == "" || mode.IsDir():
		return nil
	case !mode.IsRegular() || link:
		if x.skipped++; x.skipped <= maxSkipSaid {
			x.Observer.Note(fmt.Sprintf("left out %s: it is not a file (%v)", name, mode.Type()))
		}
		return nil
	case x.keep != nil && !x.keep(to):
		return nil
	}
	if size > x.limit {
		return fmt.Errorf("entry %q announces %s: the whole would be more than %d times the archive", name, Bytes(size), maxExpand)
	}
	if err := x.write(ctx, to, size, r); err != nil {
		return fmt.Errorf("entry %q: %w", name, err)
	}
	x.files++
	return nil
}

// write writes a file under another name first, so that under its own it is whole.
func (x *extraction) write(ctx context.Context, to string, size int64, r io.Reader) error {
	if err := x.checkRoom(size); err != nil {
		return err
	}
	part := flat("unpacking") + partSuffix
	out, err := x.root.Create(part)
	if err != nil {
		return err
	}
	s := newSummer()
	n, err := io.Copy(io.MultiWriter(out, s), io.LimitReader(r, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes or more, announced were %d", n, size)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	x.limit -= size
	if err := x.checkWay(ctx, to, s.sums().SHA256); err != nil {
		return err
	}
	return x.install(part, to, s.sums().SHA256)
}
