package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Folder is a set of images of any classes.
type Folder struct {
	Images
	Labels  []int64 // of the images; nil: none
	Classes int     // folders that are classes; 0: the labels are in val_map.txt, or missing
}

// OpenFolder opens images in a folder: those that val_map.txt lists with their classes, or a folder for each class,
// numbered from 0 in the order of their names as torchvision's ImageFolder does, or images without labels.
func OpenFolder(dir string, o Options) (f *Folder, err error) {
	defer opening("the images in "+dir, &err)
	f = &Folder{}
	var names []string
	if fileio.Exists(filepath.Join(dir, valMap)) {
		list, err := ReadValMap(dir)
		if err != nil {
			return nil, err
		}
		for _, image := range list {
			names, f.Labels = append(names, image.Name), append(f.Labels, image.Label)
		}
	} else if err := f.find(dir, &names); err != nil {
		return nil, err
	}
	if o.Count > len(names) {
		return nil, fmt.Errorf("%d images are wanted, the folder has %d", o.Count, len(names))
	}
	files := newFileCheck()
	for _, name := range names {
		f.paths = append(f.paths, o.path(dir, name, name))
		if err := files.add(name, f.paths[len(f.paths)-1]); err != nil && !files.failed(name, err) {
			break
		}
	}
	if f.fingerprint, err = files.result(); err != nil {
		return nil, err
	}
	if o.Count > 0 {
		f.paths = f.paths[:o.Count]
	}
	return f, nil
}

// find lists the images of a folder without val_map.txt.
func (f *Folder) find(dir string, names *[]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var flat []string
	for _, e := range entries { // in the order of their names
		if isImage(e.Name()) && !e.IsDir() {
			flat = append(flat, e.Name())
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err != nil || !info.IsDir() {
			continue
		}
		before := len(*names)
		err := filepath.WalkDir(filepath.Join(dir, e.Name())+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && isImage(path) {
				name, err := filepath.Rel(dir, path)
				*names, f.Labels = append(*names, filepath.ToSlash(name)), append(f.Labels, int64(f.Classes))
				return err
			}
			return err
		})
		if err != nil {
			return err
		}
		if len(*names) > before {
			f.Classes++
		}
	}
	switch {
	case len(*names) > 0 && len(flat) > 0:
		return fmt.Errorf("images lie in folders (%s) and beside them (%s): give a folder per class, or all in one", filepath.Dir((*names)[0]), flat[0])
	case len(flat) > 0:
		*names = flat
	case len(*names) == 0:
		return errors.New("no image (.jpg, .jpeg, .png) and no array (.npy, .npz) is there")
	}
	return nil
}

// isImage reports whether a name is that of an image that can be decoded.
func isImage(name string) bool {
	return slices.Contains([]string{".jpg", ".jpeg", ".png"}, strings.ToLower(filepath.Ext(name)))
}
