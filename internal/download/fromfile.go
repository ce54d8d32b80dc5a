package download

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// handed returns the file that the user has got for a file of the manifest: by its name,
// or, if both sides have one only, whatever its name is. "" if there is none.
func (j *job) handed(f File) string {
	for _, given := range j.FromFiles {
		info, err := os.Stat(given)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			if inside := insideOf(given, f); inside != "" {
				return inside
			}
		case filepath.Base(given) == path.Base(f.Name) || j.only(f):
			return given
		}
	}
	return ""
}

// insideOf returns a file of the manifest in a folder of the user's; "" if it is not there.
func insideOf(folder string, f File) string {
	for _, name := range []string{filepath.FromSlash(f.Name), path.Base(f.Name)} {
		if inside := filepath.Join(folder, name); isFile(inside) {
			return inside
		}
	}
	return ""
}

// only reports whether the user hands over one file, and this is the only one that can be meant.
func (j *job) only(f File) bool {
	if len(j.FromFiles) != 1 {
		return false
	}
	wanted, registered := 0, 0
	for _, other := range j.item.Files {
		wanted++
		if other.Registration {
			registered++
		}
	}
	return wanted == 1 || registered == 1 && f.Registration
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// checkHanded wants a use for every file that the user hands over, and all cases in a
// folder that is to have them.
func (j *job) checkHanded() error {
	if err := j.checkUsed(); err != nil {
		return err
	}
	if from := j.handedFolder(); from != "" && j.item.Folder != nil {
		_, err := j.wantedFrom(from)
		return err
	}
	return nil
}

// checkUsed wants a use for every file that the user hands over.
func (j *job) checkUsed() error {
	used := map[string]bool{}
	var names []string
	for _, f := range j.item.Files {
		used[j.handed(f)] = true
		if f.R2 == "" {
			names = append(names, path.Base(f.Name))
		}
	}
	for _, given := range j.FromFiles {
		if isFile(given) && !used[given] {
			return j.useless(given, names)
		}
	}
	return nil
}

// useless is the error for a file of the user's that is none of those with these names.
func (j *job) useless(given string, names []string) error {
	if len(names) == 0 {
		return userinput.Errorf("from_file", "%s is a file, wanted is a folder with %s", given, j.item.Title)
	}
	return userinput.Errorf("from_file", "%s is none of the files of %s, which are %s", given, j.item.Name, strings.Join(names, ", "))
}

// obtainHanded takes what the user has got.
func (j *job) obtainHanded(ctx context.Context) error {
	for _, f := range j.item.Files {
		var err error
		switch {
		case f.R2 != "" && j.handedFolder() != "":
			err = j.copyListed(ctx, f)
		case j.handed(f) == "":
		case f.Unpack != nil:
			err = j.takeArchive(ctx, f)
		default:
			err = j.obtainPlain(ctx, f)
		}
		if err != nil {
			return err
		}
	}
	return j.obtainFolder(ctx)
}

// takeArchive copies an archive of the user's, and looks into it where no checksum tells
// whether it is the right one.
func (j *job) takeArchive(ctx context.Context, f File) error {
	if err := j.bringArchive(ctx, f); err != nil || f.want().known() {
		return err
	}
	if err := j.tryArchive(ctx, f); err != nil {
		return j.dropBroken(ctx, f, fmt.Errorf("unpacking %s: %w", j.handed(f), err))
	}
	return nil
}

// copyIn copies a file of the user's and checks it on the way. The user's own stays.
func (j *job) copyIn(ctx context.Context, file, part string, w want) (fetched, error) {
	if !isFile(file) {
		return fetched{}, &fs.PathError{Op: "copying", Path: file, Err: errNotAFile}
	}
	in, err := os.Open(file)
	if err != nil {
		return fetched{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fetched{}, err
	}
	if !w.maySize(info.Size()) {
		return fetched{}, w.check(sums{Size: info.Size()}, file)
	}
	got, err := j.copyChecked(ctx, in, part, w)
	if err != nil {
		return fetched{}, errors.Join(err, j.fetcher.discard(part))
	}
	return fetched{got, "file:" + filepath.Base(file)}, nil
}

// copyChecked copies an open file into the part file.
func (j *job) copyChecked(ctx context.Context, in *os.File, part string, w want) (sums, error) {
	info, err := in.Stat()
	if err != nil {
		return sums{}, err
	}
	if err := errors.Join(j.checkRoom(info.Size()), j.fetcher.discard(part)); err != nil {
		return sums{}, err
	}
	out, err := j.root.Create(part)
	if err != nil {
		return sums{}, err
	}
	got, err := j.copySum(ctx, out, in, info)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return sums{}, err
	}
	return got, w.check(got, in.Name())
}

// copySum copies a file of known size and computes its checksums.
func (j *job) copySum(ctx context.Context, out *os.File, in *os.File, info fs.FileInfo) (sums, error) {
	done := int64(0)
	return sumReader(ctx, tee{in, out}, func(n int) {
		done += int64(n)
		j.Observer.Bytes(done, info.Size())
	})
}

// tee writes what is read.
type tee struct{ from, to *os.File }

// Read implements io.Reader.
func (t tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		if _, err := t.to.Write(p[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}
