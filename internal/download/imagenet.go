package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
)

const valMap = "val_map.txt"

// readValMap reads the list of images and classes.
func readValMap(root *os.Root) ([]accuracy.LabeledImage, error) {
	f, err := openFile(root, valMap)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return accuracy.ReadValMap(f)
}

// chosenImages are the images of the part that is wanted; nil means all.
func chosenImages(images []accuracy.LabeledImage, o Options) map[string]bool {
	if o.Count == 0 || o.Count >= len(images) {
		return nil
	}
	names := make([]string, len(images))
	for i, image := range images {
		names[i] = image.Name
	}
	return subset(names, o.Count, o.Seed)
}

// keepImageNet leaves out the images that are not wanted. The list comes first.
func keepImageNet(j *job) (func(string) bool, error) {
	images, err := readValMap(j.root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	chosen := chosenImages(images, j.Options)
	return func(name string) bool {
		return chosen == nil || chosen[name] || !strings.HasSuffix(name, ".JPEG")
	}, nil
}

// finishImageNet cuts val_map.txt to the images that are wanted, in their order.
func finishImageNet(_ context.Context, j *job) error {
	images, err := readValMap(j.root)
	if err != nil {
		return err
	}
	chosen := chosenImages(images, j.Options)
	if chosen == nil {
		return nil
	}
	var b bytes.Buffer
	for _, image := range images {
		if chosen[image.Name] {
			fmt.Fprintf(&b, "%s %d\n", image.Name, image.Label)
		}
	}
	return j.replace(valMap, b.Bytes())
}
