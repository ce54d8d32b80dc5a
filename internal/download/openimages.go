package download

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// finishOpenImages gets the images, and makes the annotation file as the reference's
// openimages.py (openimages_calibration.py) does.
func finishOpenImages(ctx context.Context, j *job) error {
	o := j.item.OpenImages
	classes := configs.OpenImagesClasses()
	if len(classes) != o.Classes {
		return fmt.Errorf("the list has %d classes, the manifest says %d", len(classes), o.Classes)
	}
	rows, listed, err := j.readTables(ctx, classes)
	if err != nil {
		return err
	}
	images := chooseOpenImages(rows, listed, j.Options)
	if err := j.obtainImages(ctx, images); err != nil {
		return err
	}
	return j.writeLabels(classes, rows, images)
}

// readTables reads the published tables: the objects of the classes, and the images that
// are listed; nil: there is no list.
func (j *job) readTables(ctx context.Context, classes []string) (rows []objectRow, listed map[string]bool, err error) {
	o := j.item.OpenImages
	var labels map[string]int
	err = j.readTable(ctx, o.Names, func(r io.Reader) (err error) {
		labels, err = readClassNames(r, classes)
		return err
	})
	if err == nil && o.List != "" {
		err = j.readTable(ctx, o.List, func(r io.Reader) (err error) {
			listed, err = readImageList(r)
			return err
		})
	}
	if err == nil {
		err = j.readTable(ctx, o.Boxes, func(r io.Reader) (err error) {
			rows, err = readBoxes(r, labels, listed)
			return err
		})
	}
	return rows, listed, err
}

// readTable opens a file and names it in errors.
func (j *job) readTable(ctx context.Context, name string, read func(io.Reader) error) error {
	j.Observer.Phase("reading " + path.Base(name))
	f, err := openFile(j.root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := read(&watched{ctx, f, progressOf(j.Observer, info.Size())}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// chooseOpenImages returns the images that are wanted, sorted.
func chooseOpenImages(rows []objectRow, listed map[string]bool, o Options) []string {
	all := map[string]bool{}
	maps.Copy(all, listed)
	if listed == nil {
		for _, row := range rows {
			all[row.image] = true
		}
	}
	names := slices.Sorted(maps.Keys(all))
	if o.Count == 0 || o.Count >= len(names) {
		return names
	}
	return slices.Sorted(maps.Keys(subset(names, o.Count, o.Seed)))
}

// obtainImages gets images, several at a time. They are small: each comes in one piece.
func (j *job) obtainImages(ctx context.Context, ids []string) error {
	j.Observer.Phase("images")
	quiet := *j.fetcher
	quiet.observer = onlyNotes{j.Observer}
	quiet.connections = 1
	var mu sync.Mutex
	done := 0
	if err := j.root.MkdirAll(j.item.OpenImages.Images, 0o755); err != nil {
		return err
	}
	return workerpool.Each(ctx, 4*j.Connections, len(ids), func(ctx context.Context, i int) error {
		err := j.obtainImage(ctx, &quiet, ids[i])
		mu.Lock()
		defer mu.Unlock()
		done++
		j.Observer.Items(done, len(ids))
		return err
	})
}

// onlyNotes is an Observer that does not hear of progress.
type onlyNotes struct{ Observer }

func (onlyNotes) Phase(string)       {}
func (onlyNotes) Bytes(int64, int64) {}

func (j *job) obtainImage(ctx context.Context, f *fetcher, id string) error {
	o := j.item.OpenImages
	name := path.Join(o.Images, id+".jpg")
	there, err := j.keep(ctx, File{Name: name})
	if there || err != nil {
		return err
	}
	part := flat(name) + partSuffix
	file := File{Name: name, URLs: []string{strings.ReplaceAll(o.URL, "{id}", id)}}
	direct := *j
	direct.fetcher = f
	got, err := direct.bring(ctx, file, part)
	if err != nil {
		return err
	}
	return j.install(part, name, got.SHA256)
}
