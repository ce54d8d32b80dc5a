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
)

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

// wantedFrom lists the files of a folder that belong to the item, with slashes. All that
// belongs to the cases has to be there.
func (j *job) wantedFrom(from string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !j.belongs(name) {
			return err
		}
		if isFile(filepath.Join(from, filepath.FromSlash(name))) { // or a link to one
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "looking for " + j.item.Title, Path: from, Err: errors.New("there is nothing of it")}
	}
	return names, j.checkCases(from, names)
}

// belongs reports whether a file of a folder is one of the item's by its name.
func (j *job) belongs(name string) bool {
	patterns := j.item.Folder.Files
	return checkPath(name) == nil && (len(patterns) == 0 || matchAny(patterns, name)) && j.wantedCase(name)
}

// checkCases wants the files of every case, but of those that we make.
func (j *job) checkCases(from string, names []string) error {
	there := map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	var missing []string
	cases, whole := 0, 0
	for _, c := range j.item.Cases {
		if j.item.Folder.Copy[c] != "" {
			continue
		}
		lacking := j.item.Folder.missing(c, there)
		if cases++; len(lacking) == 0 {
			whole++
		}
		missing = append(missing, lacking...)
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s has %d of the %d cases of %s: %s is missing, and %d more files",
		from, whole, cases, j.item.Name, missing[0], len(missing)-1)
}

// missing lists the files of a case that are not there.
func (f *Folder) missing(c string, there map[string]bool) []string {
	var names []string
	for _, pattern := range f.Files {
		_, rest, _ := strings.Cut(pattern, "/")
		if name := path.Join(c, rest); !strings.ContainsAny(rest, `*?[\`) && !there[name] {
			names = append(names, name)
		}
	}
	return names
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
	if err := j.checkWay(ctx, name, got.SHA256); err != nil {
		return errors.Join(err, j.fetcher.discard(part))
	}
	return j.install(part, name, got.SHA256)
}
