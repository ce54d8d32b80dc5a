package download

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// scale changes sizes, boxes and areas.
func (c *cocoFile) scale(u Upscaling) error {
	factors := map[int64][2]float64{}
	for i := range c.images {
		image := &c.images[i]
		f, err := image.upscale(u)
		if err != nil {
			return err
		}
		factors[image.ID] = f
	}
	for i := range c.annotations {
		a := &c.annotations[i]
		f, ok := factors[a.ImageID]
		if !ok {
			return fmt.Errorf("annotation %d is about image %d, which is not listed", a.ID, a.ImageID)
		}
		if err := a.scale(f[0], f[1]); err != nil {
			return fmt.Errorf("annotation %d: %w", a.ID, err)
		}
	}
	return nil
}

func (e *cocoEntry) scale(sx, sy float64) error {
	var box [4]float64
	var area float64
	if err := errors.Join(e.fields.get("bbox", &box), e.fields.get("area", &area)); err != nil {
		return err
	}
	larger := [4]float64{box[0] * sx, box[1] * sy, box[2] * sx, box[3] * sy}
	for _, v := range append(larger[:], area*sx*sy) {
		if math.IsInf(v, 0) {
			return fmt.Errorf("bbox %g or area %g is too large a number to be enlarged", box, area)
		}
	}
	e.fields.put("bbox", larger)
	e.fields.put("area", area*sx*sy)
	return nil
}

// upscale gives an image its new name and size. It returns how much wider and higher it gets.
func (e *cocoEntry) upscale(u Upscaling) (factors [2]float64, err error) {
	var w, h int
	if err := errors.Join(e.fields.get("width", &w), e.fields.get("height", &h)); err != nil {
		return factors, fmt.Errorf("image %d: %w", e.ID, err)
	}
	if w < 1 || h < 1 {
		return factors, fmt.Errorf("image %d is %d × %d", e.ID, w, h)
	}
	e.fields.put("file_name", u.fileName(e.FileName))
	e.fields.put("width", u.Width)
	e.fields.put("height", u.Height)
	return [2]float64{float64(u.Width) / float64(w), float64(u.Height) / float64(h)}, nil
}

// put sets a field to a number, a text or a list of numbers.
func (o *object) put(key string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // finite numbers and texts can be encoded
	}
	o.set(key, bytes.TrimSpace(b.Bytes()))
}
