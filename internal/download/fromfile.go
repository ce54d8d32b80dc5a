package download

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
			for _, name := range []string{filepath.FromSlash(f.Name), path.Base(f.Name)} {
				if inside := filepath.Join(given, name); isFile(inside) {
					return inside
				}
			}
		case filepath.Base(given) == path.Base(f.Name) || len(j.FromFiles) == 1 && j.only(f):
			return given
		}
	}
	return ""
}

// only says whether a file is the only one that the user can be meant to hand over.
func (j *job) only(f File) bool {
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

// copyIn copies a file of the user's and checks it on the way. The user's own stays.
func (j *job) copyIn(ctx context.Context, file, part string, w want) (fetched, error) {
	in, err := os.Open(file)
	if err != nil {
		return fetched{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fetched{}, err
	}
	if w.size > 0 && info.Size() != w.size {
		return fetched{}, w.check(sums{Size: info.Size()}, file)
	}
	if err := j.checkRoom(info.Size()); err != nil {
		return fetched{}, err
	}
	if err := j.fetcher.discard(part); err != nil {
		return fetched{}, err
	}
	out, err := j.root.Create(part)
	if err != nil {
		return fetched{}, err
	}
	got, err := j.copySum(ctx, out, in, info)
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = w.check(got, file)
	}
	if err != nil {
		return fetched{}, errors.Join(err, j.fetcher.discard(part))
	}
	return fetched{got, "file:" + filepath.Base(file)}, nil
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

// handedFolder returns the folder that the user has got; "" if there is none.
func (j *job) handedFolder() string {
	for _, given := range j.FromFiles {
		if info, err := os.Stat(given); err == nil && info.IsDir() {
			return given
		}
	}
	return ""
}

// obtainFolder copies what belongs to the item out of the user's folder.
func (j *job) obtainFolder(ctx context.Context) error {
	if j.item.Folder == nil {
		return nil
	}
	from := j.handedFolder()
	names, err := j.wantedFrom(from)
	if err != nil {
		return err
	}
	j.Observer.Phase("copying " + from)
	for i, name := range names {
		j.Observer.Items(i, len(names))
		if err := j.copyFile(ctx, filepath.Join(from, filepath.FromSlash(name)), name); err != nil {
			return err
		}
	}
	return j.makeCopies(ctx, from, names)
}

// wantedFrom lists the files of a folder that belong to the item, with slashes.
func (j *job) wantedFrom(from string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if checkPath(name) == nil && (len(j.item.Folder.Files) == 0 || matchAny(j.item.Folder.Files, name)) && j.wantedCase(name) {
			names = append(names, name)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = &fs.PathError{Op: "looking for " + j.item.Title, Path: from, Err: errors.New("there is nothing of it")}
	}
	return names, err
}

// wantedCase leaves out the cases that MLPerf does not use.
func (j *job) wantedCase(name string) bool {
	if len(j.item.Cases) == 0 {
		return true
	}
	for _, c := range j.item.Cases {
		if firstElement(name) == c {
			return true
		}
	}
	return false
}

// makeCopies makes the folders that are copies of others.
func (j *job) makeCopies(ctx context.Context, from string, names []string) error {
	for to, source := range j.item.Folder.Copy {
		for _, name := range names {
			rest, ok := cutElement(name, source)
			if !ok {
				continue
			}
			if err := j.copyFile(ctx, filepath.Join(from, filepath.FromSlash(name)), path.Join(to, rest)); err != nil {
				return err
			}
		}
	}
	return nil
}

func cutElement(name, first string) (rest string, ok bool) {
	if firstElement(name) != first || len(name) <= len(first)+1 {
		return "", false
	}
	return name[len(first)+1:], true
}

// copyFile installs a copy of a file, unless it is there.
func (j *job) copyFile(ctx context.Context, file, name string) error {
	if ours := j.list.get(name); ours != "" {
		if got, err := sumFile(ctx, j.root, name, nil); err == nil && got.SHA256 == ours {
			return nil
		}
	}
	part := flat(name) + partSuffix
	got, err := j.copyIn(ctx, file, part, want{})
	if err != nil {
		return err
	}
	return j.install(part, name, got.SHA256)
}
