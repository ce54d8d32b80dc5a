package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// given returns the file that the user has for a file of the manifest: by its name, or, if both sides have one only, whatever
// its name is; "" if none has it.
func (j *job) given(f File) string {
	registered := 0
	for _, other := range j.item.Files {
		if other.Registration {
			registered++
		}
	}
	onlyOne := len(j.FromFiles) == 1 && (len(j.item.Files) == 1 || registered == 1 && f.Registration)
	for _, given := range j.FromFiles {
		if isFile(given) {
			if onlyOne || filepath.Base(given) == path.Base(f.Name) {
				return given
			}
			continue
		}
		for _, name := range []string{filepath.FromSlash(f.Name), path.Base(f.Name)} {
			if inside := filepath.Join(given, name); isFile(inside) {
				return inside
			}
		}
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// givenFolder returns the folder that the user has; "" if the user has none.
func (j *job) givenFolder() string {
	for _, given := range j.FromFiles {
		if info, err := os.Stat(given); err == nil && info.IsDir() {
			return given
		}
	}
	return ""
}

// checkFromFiles wants a use for every file that the user gives, and all cases in a folder that is to have them.
func (j *job) checkFromFiles() error {
	used := map[string]bool{}
	var names []string
	for _, f := range j.item.Files {
		used[j.given(f)] = true
		if f.R2 == "" {
			names = append(names, path.Base(f.Name))
		}
	}
	for _, given := range j.FromFiles {
		switch {
		case !isFile(given) || used[given]:
		case len(names) == 0:
			return userinput.Errorf("from_file", "%s is a file: must be a folder with %s", given, j.item.Title)
		default:
			return userinput.Errorf("from_file", "%s is none of the files of %s, which are %s", given, j.item.Name, strings.Join(names, ", "))
		}
	}
	if j.item.Folder != nil && j.givenFolder() != "" {
		_, err := j.wantedFrom(j.givenFolder())
		return err
	}
	return nil
}

// copyIn copies a file of the user's into a part file and checks it. The user's own stays.
func (j *job) copyIn(ctx context.Context, f File, file, part string) (sums, error) {
	in, err := os.Open(file)
	if err != nil {
		return sums{}, err
	}
	defer in.Close()
	out, err := j.root.Create(part)
	if err != nil {
		return sums{}, err
	}
	s := newSummer()
	err = errors.Join(copyFrom(ctx, io.MultiWriter(out, s), in, j.Observer.Bytes), out.Close())
	if err == nil {
		err = f.check(s.sums(), file)
	}
	if err != nil {
		return sums{}, errors.Join(err, j.discard(part))
	}
	return s.sums(), nil
}

// copyFolder copies what belongs to the item out of the user's folder, and makes the folders that are copies of others.
func (j *job) copyFolder(ctx context.Context) error {
	from := j.givenFolder()
	names, err := j.wantedFrom(from)
	if err != nil {
		return err
	}
	j.Observer.Phase("copying " + from)
	for i, name := range names {
		j.Observer.Items(i, len(names))
		targets := []string{name}
		for to, source := range j.item.Folder.Copy {
			if rest, ok := strings.CutPrefix(name, source+"/"); ok {
				targets = append(targets, path.Join(to, rest))
			}
		}
		for _, to := range targets {
			if err := j.copyFile(ctx, filepath.Join(from, filepath.FromSlash(name)), to); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyListed copies the files of a list from the folder that the user has.
func (j *job) copyListed(ctx context.Context) error {
	all := *j
	all.item.Folder = &Folder{}
	return all.copyFolder(ctx)
}

// copyFile installs a copy of a file, unless it is there.
func (j *job) copyFile(ctx context.Context, file, name string) error {
	if listed := j.list.get(name); listed != "" {
		if got, err := sumFile(ctx, j.root, name, nil); err == nil && got.SHA256 == listed {
			return nil
		}
	}
	part := inState(name) + partSuffix
	got, err := j.copyIn(ctx, File{}, file, part)
	if err != nil {
		return err
	}
	return j.install(ctx, part, name, got.SHA256)
}

// wantedFrom lists the files of a folder that belong to the item, with slashes. All that belongs to the cases has to be there.
func (j *job) wantedFrom(from string) (names []string, err error) {
	patterns, cases := j.item.Folder.Files, j.item.Cases
	there := map[string]bool{}
	err = fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		wanted := checkPath(name) == nil && (len(patterns) == 0 || matchAny(patterns, name)) &&
			(len(cases) == 0 || slices.Contains(cases, firstElement(name)))
		if err == nil && wanted && isFile(filepath.Join(from, filepath.FromSlash(name))) { // or a link to one
			names, there[name] = append(names, name), true
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has no file of %s", from, j.item.Title)
	}
	if err != nil {
		return nil, err
	}
	var missing []string
	given, whole := 0, 0
	for _, c := range cases {
		if j.item.Folder.Copy[c] != "" { // made here
			continue
		}
		before := len(missing)
		for _, pattern := range patterns {
			_, rest, _ := strings.Cut(pattern, "/")
			if name := path.Join(c, rest); !strings.ContainsAny(rest, `*?[\`) && !there[name] {
				missing = append(missing, name)
			}
		}
		if given++; len(missing) == before {
			whole++
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s has %d of the %d cases of %s: %s is missing, and %d more files", from, whole, given, j.item.Name, missing[0],
			len(missing)-1)
	}
	return names, nil
}
