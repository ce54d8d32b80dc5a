package download

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/parallel"
)

// An objectRow is a line of the published table of boxes that shows one of the classes.
type objectRow struct {
	image    string
	category int
	box      [4]float64 // x from, x to, y from, y to, as parts of the image
	flags    [5]int     // IsOccluded, IsTruncated, IsGroupOf, IsDepiction, IsInside
}

// finishOpenImages gets the images, and makes the annotation file as the reference's
// openimages.py (openimages_calibration.py) does.
func finishOpenImages(ctx context.Context, j *job) error {
	o := j.item.OpenImages
	classes := configs.OpenImagesClasses()
	if len(classes) != o.Classes {
		return fmt.Errorf("the list has %d classes, the manifest says %d", len(classes), o.Classes)
	}
	labels, err := j.readClassNames(o.Names, classes)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Names, err)
	}
	var listed map[string]bool
	if o.List != "" {
		if listed, err = j.readImageList(o.List); err != nil {
			return fmt.Errorf("%s: %w", o.List, err)
		}
	}
	j.Observer.Phase("reading " + path.Base(o.Boxes))
	rows, err := j.readBoxes(ctx, o.Boxes, labels, listed)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Boxes, err)
	}
	images := chooseOpenImages(rows, listed, j.Options)
	if err := j.obtainImages(ctx, images); err != nil {
		return err
	}
	return j.writeLabels(classes, rows, images)
}

// readClassNames returns the category of each label of the classes. Categories are
// numbered in the order of the classes.
func (j *job) readClassNames(name string, classes []string) (map[string]int, error) {
	f, err := openFile(j.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	category := map[string]int{}
	for i, class := range classes {
		category[class] = i
	}
	r := csv.NewReader(f)
	r.FieldsPerRecord = 2
	labels := map[string]int{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if i, ok := category[record[1]]; ok {
			labels[record[0]] = i
			delete(category, record[1])
		}
	}
	for class := range category {
		return nil, fmt.Errorf("the class %q is not there, and %d more", class, len(category)-1)
	}
	return labels, nil
}

// imageID is how OpenImages names images. It becomes part of an address and a path.
var imageID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// readImageList reads a list with one image per line, perhaps with an ending.
func (j *job) readImageList(name string) (map[string]bool, error) {
	f, err := openFile(j.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ids := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, _, _ := strings.Cut(strings.TrimSpace(lines.Text()), ".")
		if !imageID.MatchString(id) {
			return nil, fmt.Errorf("line %d: %q is not an image of OpenImages", len(ids)+1, lines.Text())
		}
		ids[id] = true
	}
	return ids, lines.Err()
}

// boxColumns are those that are used.
func boxColumns() []string {
	return []string{"ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax",
		"IsOccluded", "IsTruncated", "IsGroupOf", "IsDepiction", "IsInside"}
}

// readBoxes reads the objects of the classes, in the order of the table. If listed is
// not nil, only those in listed images.
func (j *job) readBoxes(ctx context.Context, name string, labels map[string]int, listed map[string]bool) ([]objectRow, error) {
	f, err := openFile(j.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	done := int64(0)
	r := csv.NewReader(&watched{ctx, f, func(n int) { done += int64(n); j.Observer.Bytes(done, info.Size()) }})
	r.ReuseRecord = true
	columns, err := findColumns(r)
	if err != nil {
		return nil, err
	}
	var rows []objectRow
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		category, ok := labels[record[columns[1]]]
		if !ok || listed != nil && !listed[record[columns[0]]] {
			continue
		}
		row, err := parseBox(record, columns)
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		row.category = category
		rows = append(rows, row)
	}
}

func findColumns(r *csv.Reader) ([]int, error) {
	header, err := r.Read()
	if err != nil {
		return nil, err
	}
	var columns []int
	for _, name := range boxColumns() {
		i := slices.Index(header, name)
		if i < 0 {
			return nil, fmt.Errorf("line 1: there is no column %s", name)
		}
		columns = append(columns, i)
	}
	return columns, nil
}

func parseBox(record []string, columns []int) (row objectRow, err error) {
	row.image = strings.Clone(record[columns[0]])
	if !imageID.MatchString(row.image) {
		return row, fmt.Errorf("%q is not an image of OpenImages", row.image)
	}
	for i := range row.box {
		if row.box[i], err = strconv.ParseFloat(record[columns[2+i]], 64); err != nil || !(row.box[i] >= 0 && row.box[i] <= 1) {
			return row, fmt.Errorf("%s is %q, want 0 to 1", boxColumns()[2+i], record[columns[2+i]])
		}
	}
	for i := range row.flags {
		v, err := strconv.Atoi(record[columns[6+i]])
		if err != nil || v < -1 || v > 1 {
			return row, fmt.Errorf("%s is %q, want 0, 1 or -1", boxColumns()[6+i], record[columns[6+i]])
		}
		row.flags[i] = v
	}
	return row, nil
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
	return parallel.Each(ctx, 4*j.Connections, len(ids), func(ctx context.Context, i int) error {
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
