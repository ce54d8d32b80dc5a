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
)

// Limits for archives: a broken or hostile one must not fill the disk.
const (
	maxEntries  = 10_000_000
	maxExpand   = 50       // times the archive's size, unpacked
	minExpand   = 64 << 20 // but always so much
	maxSkipSaid = 3
)

// errTried ends an extraction that was only to see whether there is something to extract.
var errTried = errors.New("the first entry is there")

// tryArchive looks at the first entry of an archive.
func (j *job) tryArchive(ctx context.Context, f File) error {
	x, err := j.newExtraction(f)
	if err != nil {
		return err
	}
	x.tryOnly = true
	if err := x.run(ctx); !errors.Is(err, errTried) {
		return err
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
	tryOnly     bool
}

func (j *job) newExtraction(f File) (*extraction, error) {
	info, err := j.root.Stat(flat(f.Name))
	if err != nil {
		return nil, err
	}
	return &extraction{job: j, file: f, limit: max(minExpand, info.Size()*maxExpand), archiveSize: info.Size()}, nil
}

// run goes through the archive.
func (x *extraction) run(ctx context.Context) error {
	in, err := openFile(x.root, flat(x.file.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	if x.file.Unpack.Format == "zip" {
		return x.zip(ctx, in)
	}
	return x.tar(ctx, in)
}

// tar unpacks a tar archive, compressed or not.
func (x *extraction) tar(ctx context.Context, in *os.File) error {
	read := int64(0)
	var r io.Reader = &watched{ctx, in, func(n int) {
		read += int64(n)
		x.Observer.Bytes(read, x.archiveSize)
	}}
	r, err := x.unpacked(r)
	if err != nil {
		return brokenError{err}
	}
	for t := tar.NewReader(r); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return x.drain(r)
		}
		if err != nil {
			return brokenError{err}
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := x.entry(ctx, h.Name, modeOf(h), h.Size, t); err != nil {
			return err
		}
	}
}

// modeOf is the mode of an entry; a hard link is no file of its own.
func modeOf(h *tar.Header) fs.FileMode {
	if h.Typeflag == tar.TypeLink {
		return fs.ModeIrregular
	}
	return h.FileInfo().Mode()
}

// unpacked reads what a tar archive holds, compressed or not.
func (x *extraction) unpacked(r io.Reader) (io.Reader, error) {
	switch x.file.Unpack.Format {
	case "tar.gz":
		return gzip.NewReader(r)
	case "tar.bz2":
		return bzip2.NewReader(r), nil
	}
	return r, nil
}

// drain reads what is behind the last entry: the checksum of compressed data comes at their
// end.
func (x *extraction) drain(r io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(r, x.limit+1))
	if err != nil {
		return brokenError{err}
	}
	if n > x.limit {
		return broken("behind its last entry there is more than %s", human(x.limit))
	}
	return nil
}

// zip unpacks a zip archive.
func (x *extraction) zip(ctx context.Context, in *os.File) error {
	z, err := zip.NewReader(in, x.archiveSize)
	if err != nil {
		return brokenError{err}
	}
	read := int64(0)
	for _, f := range z.File {
		if f.UncompressedSize64 > 1<<62 {
			return broken("entry %q announces %d bytes", f.Name, f.UncompressedSize64)
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
		return x.entry(ctx, f.Name, fs.ModeDir, 0, nil)
	}
	r, err := f.Open()
	if err != nil {
		return broken("entry %q: %w", f.Name, err)
	}
	defer r.Close()
	return x.entry(ctx, f.Name, f.Mode(), int64(f.UncompressedSize64), &watched{ctx, r, nil})
}

// entry writes one entry, if it is a file and wanted. Folders come with their files;
// links, devices and the like are left out.
func (x *extraction) entry(ctx context.Context, name string, mode fs.FileMode, size int64, r io.Reader) error {
	if x.entries++; x.entries > maxEntries {
		return broken("it has more than %d entries", maxEntries)
	}
	if x.tryOnly {
		return errTried
	}
	to, err := x.wanted(name, mode)
	if err != nil {
		return brokenError{err}
	}
	if to == "" {
		return nil
	}
	if size > x.limit {
		return broken("entry %q announces %s: the whole would be more than %d times the archive", name, human(size), maxExpand)
	}
	if err := x.write(ctx, to, size, r); err != nil {
		return fmt.Errorf("entry %q: %w", name, err)
	}
	x.files++
	return nil
}

// wanted returns where an entry goes; "" if it is left out.
func (x *extraction) wanted(name string, mode fs.FileMode) (to string, err error) {
	to, err = x.file.Unpack.entryPath(name)
	switch {
	case err != nil || to == "" || mode.IsDir():
		return "", err
	case !mode.IsRegular():
		x.skip(name, mode)
		return "", nil
	case x.keep != nil && !x.keep(to):
		return "", nil
	}
	return to, nil
}

// skip leaves out what is no file, and says so the first few times.
func (x *extraction) skip(name string, mode fs.FileMode) {
	if x.skipped++; x.skipped <= maxSkipSaid {
		x.Observer.Note(fmt.Sprintf("left out %s: it is not a file (%v)", name, mode.Type()))
	}
}
