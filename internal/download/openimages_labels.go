package download

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// imageSize returns the size of an image as cv2.imread sees it: after it was turned as
// EXIF asks.
func (j *job) imageSize(name string) (width, height int, err error) {
	data, err := readFile(j.root, name)
	if err != nil {
		return 0, 0, err
	}
	c, err := jpeg.DecodeConfig(data)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	if c.Orientation >= 5 {
		return c.Height, c.Width, nil
	}
	return c.Width, c.Height, nil
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

// writeLabels writes the annotation file. An image is numbered by its place among the
// images that show something, from 1; an object by its place in the table, from 1.
func (j *job) writeLabels(classes []string, rows []objectRow, ids []string) error {
	chosen := map[string]bool{}
	for _, id := range ids {
		chosen[id] = true
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r objectRow) bool { return !chosen[r.image] })
	labels := labelFile{
		Info:     map[string]string{"dataset": "openimages_mlperf", "version": "v6"},
		Licenses: []string{},
	}
	for i, class := range classes {
		labels.Categories = append(labels.Categories, labelCategory{ID: i, Name: class})
	}
	images, err := j.labelImages(rows)
	if err != nil {
		return err
	}
	byName := map[string]labelImage{}
	for _, image := range images {
		byName[strings.TrimSuffix(image.FileName, ".jpg")] = image
	}
	labels.Images = images
	for i, row := range rows {
		labels.Annotations = append(labels.Annotations, labelOf(i+1, row, byName[row.image]))
	}
	slices.SortStableFunc(labels.Annotations, func(a, b labelObject) int { return a.ImageID - b.ImageID })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(labels); err != nil {
		return err
	}
	return j.replace(j.item.OpenImages.Labels, b.Bytes())
}

// labelImages lists the images that show something, with their sizes.
func (j *job) labelImages(rows []objectRow) ([]labelImage, error) {
	shown := map[string]bool{}
	for _, row := range rows {
		shown[row.image] = true
	}
	images := make([]labelImage, 0, len(shown))
	for i, id := range slices.Sorted(maps.Keys(shown)) {
		width, height, err := j.imageSize(path.Join(j.item.OpenImages.Images, id+".jpg"))
		if err != nil {
			return nil, err
		}
		images = append(images, labelImage{ID: i + 1, FileName: id + ".jpg", Width: width, Height: height})
	}
	return images, nil
}

func labelOf(id int, row objectRow, image labelImage) labelObject {
	w, h := float64(image.Width), float64(image.Height)
	box := [4]float64{row.box[0] * w, row.box[2] * h, (row.box[1] - row.box[0]) * w, (row.box[3] - row.box[2]) * h}
	return labelObject{
		ID: id, ImageID: image.ID, CategoryID: row.category, Box: box, Area: box[2] * box[3], Crowd: row.flags[2],
		IsOccluded: row.flags[0], IsTruncated: row.flags[1], IsGroupOf: row.flags[2], IsDepiction: row.flags[3], IsInside: row.flags[4],
	}
}
