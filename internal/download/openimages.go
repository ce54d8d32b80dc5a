package download

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// finishOpenImages gets the images, and makes the annotation file as the reference's openimages.py
// (openimages_calibration.py) does.
func finishOpenImages(ctx context.Context, j *job) error {
	o, classes := j.item.OpenImages, configs.OpenImagesClasses()
	var labels map[string]int
	var listed map[string]bool // nil: without a list
	var rows []objectRow
	for _, table := range []struct {
		name string
		read func(r io.Reader) error
	}{
		{o.Names, func(r io.Reader) (err error) { labels, err = readClassNames(r, classes); return err }},
		{o.List, func(r io.Reader) (err error) { listed, err = readImageList(r); return err }},
		{o.Boxes, func(r io.Reader) (err error) { rows, err = readBoxes(r, labels, listed); return err }},
	} {
		if table.name == "" {
			continue
		}
		j.Observer.Phase("reading " + path.Base(table.name))
		f, err := j.root.Open(table.name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil {
			err = table.read(&reading{Reader: fileio.UntilDone(ctx, f), of: info.Size(), show: j.Observer.Bytes})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}

	all := maps.Clone(listed)
	if listed == nil {
		all = map[string]bool{}
		for _, row := range rows {
			all[row.image] = true
		}
	}
	ids := slices.Sorted(maps.Keys(all))
	if j.Count > 0 {
		ids = slices.Sorted(maps.Keys(subset(ids, j.Count, j.Seed)))
	}

	j.Observer.Phase("images")
	if err := j.root.MkdirAll(o.Images, 0o755); err != nil {
		return err
	}
	tick := workerpool.Counter(len(ids), j.Observer.Items)
	err := workerpool.Each(ctx, j.Connections, len(ids), func(ctx context.Context, i int) error {
		defer tick(1)
		f := File{Name: path.Join(o.Images, ids[i]+".jpg"), URLs: []string{strings.ReplaceAll(o.URL, "{id}", ids[i])}}
		return j.obtainFile(ctx, f, func(int64, int64) {})
	})
	if err != nil {
		return err
	}
	return j.writeLabels(ctx, classes, rows, ids)
}

// An objectRow is a line of the published table of boxes that shows one of the classes.
type objectRow struct {
	image    string
	category int
	box      [4]float64 // x from, x to, y from, y to, as parts of the image
	flags    [5]int     // IsOccluded, IsTruncated, IsGroupOf, IsDepiction, IsInside
}

// readClassNames returns the category of each label of the classes. Categories are numbered in the order of the classes.
func readClassNames(from io.Reader, classes []string) (map[string]int, error) {
	category := map[string]int{}
	for i, class := range classes {
		category[class] = i
	}
	r := csv.NewReader(from)
	r.FieldsPerRecord = 2
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	labels := map[string]int{}
	for _, record := range records {
		if i, ok := category[record[1]]; ok {
			labels[record[0]] = i
			delete(category, record[1])
		}
	}
	if len(category) > 0 {
		return nil, fmt.Errorf("the class %q is not there, and %d more", slices.Sorted(maps.Keys(category))[0], len(category)-1)
	}
	return labels, nil
}

// imageID is how OpenImages names images. It becomes part of an address and a path.
var imageID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// readImageList reads a list with one image per line, perhaps with an ending.
func readImageList(from io.Reader) (map[string]bool, error) {
	ids := map[string]bool{}
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		id, _, _ := strings.Cut(strings.TrimSpace(lines.Text()), ".")
		if !imageID.MatchString(id) {
			return nil, fmt.Errorf("line %d: %q is not an image of OpenImages", n, lines.Text())
		}
		ids[id] = true
	}
	return ids, lines.Err()
}

// boxColumns are those that are used: of the image and the label, of the box, and the flags.
var boxColumns = []string{"ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax", "IsOccluded", "IsTruncated", "IsGroupOf", "IsDepiction", "IsInside"}

// readBoxes reads the objects of the classes, in the order of the table. If listed is not nil, only those in listed images.
func readBoxes(from io.Reader, labels map[string]int, listed map[string]bool) (rows []objectRow, err error) {
	r := csv.NewReader(from)
	r.ReuseRecord = true // the table of the training set has gigabytes
	header, err := r.Read()
	if err != nil {
		return nil, err
	}
	var columns []int
	for _, name := range boxColumns {
		i := slices.Index(header, name)
		if i < 0 {
			return nil, fmt.Errorf("line 1: no column %s", name)
		}
		columns = append(columns, i)
	}
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
		line, _ := r.FieldPos(0)
		row := objectRow{image: strings.Clone(record[columns[0]]), category: category}
		if !imageID.MatchString(row.image) {
			return nil, fmt.Errorf("line %d: %q is not an image of OpenImages", line, row.image)
		}
		for i := range row.box {
			text := record[columns[2+i]]
			if row.box[i], err = strconv.ParseFloat(text, 64); err != nil || !(row.box[i] >= 0 && row.box[i] <= 1) {
				return nil, fmt.Errorf("line %d: %s is %q: must be 0 to 1", line, boxColumns[2+i], text)
			}
		}
		for i := range row.flags {
			text := record[columns[6+i]]
			if row.flags[i], err = strconv.Atoi(text); err != nil || row.flags[i] < -1 || row.flags[i] > 1 {
				return nil, fmt.Errorf("line %d: %s is %q: must be 0, 1 or -1", line, boxColumns[6+i], text)
			}
		}
		rows = append(rows, row)
	}
}

// The annotation file, field by field as openimages.py writes it.
type (
	labelFile struct {
		Info        map[string]string `json:"info"`
		Licenses    []string          `json:"licenses"`
		Categories  []labelCategory   `json:"categories"`
		Images      []labelImage      `json:"images"`
		Annotations []labelObject     `json:"annotations"`
	}
	labelCategory struct {
		ID            int     `json:"id"`
		Name          string  `json:"name"`
		Supercategory *string `json:"supercategory"`
	}
	labelImage struct {
		ID       int     `json:"id"`
		FileName string  `json:"file_name"`
		Height   int     `json:"height"`
		Width    int     `json:"width"`
		License  *string `json:"license"`
		COCOURL  *string `json:"coco_url"`
	}
	labelObject struct {
		ID          int        `json:"id"`
		ImageID     int        `json:"image_id"`
		CategoryID  int        `json:"category_id"`
		Box         [4]float64 `json:"bbox"`
		Area        float64    `json:"area"`
		Crowd       int        `json:"iscrowd"`
		IsOccluded  int        `json:"IsOccluded"`
		IsInside    int        `json:"IsInside"`
		IsDepiction int        `json:"IsDepiction"`
		IsTruncated int        `json:"IsTruncated"`
		IsGroupOf   int        `json:"IsGroupOf"`
	}
)

// writeLabels writes the annotation file. An image is numbered by its place among the images that show something, from 1; an
// object by its place in the table, from 1.
func (j *job) writeLabels(ctx context.Context, classes []string, rows []objectRow, ids []string) error {
	labels := labelFile{Info: map[string]string{"dataset": "openimages_mlperf", "version": "v6"}, Licenses: []string{}, Images: []labelImage{}}
	for i, class := range classes {
		labels.Categories = append(labels.Categories, labelCategory{ID: i, Name: class})
	}
	chosen, shown := map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		chosen[id] = true
	}
	rows = slices.DeleteFunc(rows, func(r objectRow) bool { return !chosen[r.image] })
	for _, row := range rows {
		shown[row.image] = true
	}
	images := map[string]labelImage{}
	for i, id := range slices.Sorted(maps.Keys(shown)) {
		name := path.Join(j.item.OpenImages.Images, id+".jpg")
		data, err := j.root.ReadFile(name)
		if err != nil {
			return err
		}
		width, height, err := jpegSize(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		images[id] = labelImage{ID: i + 1, FileName: id + ".jpg", Width: width, Height: height}
		labels.Images = append(labels.Images, images[id])
	}
	for i, row := range rows {
		image := images[row.image]
		w, h := float64(image.Width), float64(image.Height)
		box := [4]float64{row.box[0] * w, row.box[2] * h, (row.box[1] - row.box[0]) * w, (row.box[3] - row.box[2]) * h}
		labels.Annotations = append(labels.Annotations, labelObject{
			ID: i + 1, ImageID: image.ID, CategoryID: row.category, Box: box, Area: box[2] * box[3], Crowd: row.flags[2],
			IsOccluded: row.flags[0], IsTruncated: row.flags[1], IsGroupOf: row.flags[2], IsDepiction: row.flags[3], IsInside: row.flags[4],
		})
	}
	slices.SortStableFunc(labels.Annotations, func(a, b labelObject) int { return a.ImageID - b.ImageID })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(labels); err != nil {
		return err
	}
	return j.replace(ctx, j.item.OpenImages.Labels, b.Bytes())
}

// jpegSize returns the size of an image as cv2.imread sees it: after it was turned as EXIF asks.
func jpegSize(data []byte) (width, height int, err error) {
	c, err := jpeg.DecodeConfig(data)
	if c.Orientation >= 5 {
		return c.Height, c.Width, err
	}
	return c.Width, c.Height, err
}
