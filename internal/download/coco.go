package download

import (
	"context"
	"errors"
	"os"
	"path"
)

const (
	cocoImages = "val2017"
	cocoLabels = "annotations/instances_val2017.json"
)

// chosenCOCO are the file names of the part that is wanted; nil means all.
func chosenCOCO(c *cocoFile, o Options) map[string]bool {
	if o.Count == 0 || o.Count >= len(c.images) {
		return nil
	}
	names := make([]string, len(c.images))
	for i, image := range c.images {
		names[i] = image.FileName
	}
	return subset(names, o.Count, o.Seed)
}

// keepCOCO leaves out the images that are not wanted. The annotations come first.
func keepCOCO(j *job) (func(string) bool, error) {
	if j.Count == 0 {
		return nil, nil
	}
	c, err := readCOCOFile(j.root, cocoLabels)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	chosen := chosenCOCO(c, j.Options)
	return func(name string) bool {
		return chosen == nil || path.Dir(name) != cocoImages || chosen[path.Base(name)]
	}, nil
}

// finishCOCO cuts the annotations to the images that are wanted, in their order.
func finishCOCO(_ context.Context, j *job) error {
	if j.Count == 0 {
		return nil
	}
	c, err := readCOCOFile(j.root, cocoLabels)
	if err != nil {
		return err
	}
	if chosen := chosenCOCO(c, j.Options); chosen != nil {
		c.cut(chosen)
		return j.replace(cocoLabels, c.bytes())
	}
	return nil
}
