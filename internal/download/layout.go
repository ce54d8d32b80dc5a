package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Layout is the form of a data set that this program knows more about than its files.
type Layout string

// The layouts.
const (
	LayoutFiles      Layout = ""           // files, nothing more is known
	LayoutImageNet   Layout = "imagenet"   // images and val_map.txt
	LayoutCOCO       Layout = "coco"       // val2017 and annotations/instances_val2017.json
	LayoutOpenImages Layout = "openimages" // as the reference's openimages.py makes it
	LayoutKiTS19     Layout = "kits19"     // case_00000/imaging.nii.gz and segmentation.nii.gz
	LayoutRequests   Layout = "requests"   // users and the lists of when they come, of DLRMv3
	LayoutWaymo      Layout = "waymo"      // waymo_infos_val.pkl, training/velodyne and training/image_0 to image_4
)

// layoutSteps are what a layout adds to getting and checking files. All may be nil.
type layoutSteps struct {
	subsets bool                                             // --count is understood
	keep    func(j *job) (func(name string) bool, error)     // which entries of an archive are wanted of a part
	finish  func(ctx context.Context, j *job) error          // the last step, with all files
	check   func(ctx context.Context, v *verification) error // what else is verified
}

func layouts() map[Layout]layoutSteps {
	return map[Layout]layoutSteps{
		LayoutFiles:      {},
		LayoutImageNet:   {subsets: true, keep: keepImageNet, finish: finishImageNet, check: checkImageNet},
		LayoutCOCO:       {subsets: true, keep: keepCOCO, finish: finishCOCO, check: checkCOCO},
		LayoutOpenImages: {subsets: true, finish: finishOpenImages, check: checkOpenImages},
		LayoutKiTS19:     {check: checkKiTS19},
		LayoutRequests:   {check: checkRequests},
		LayoutWaymo:      {check: checkWaymo},
	}
}

// subset chooses count of the names, which must differ. Each name has a place in a sequence that follows from seed and name
// alone, the SHA-256 of both, and the first count are taken. So the choice does not depend on the order of the names, and a
// smaller one is contained in a larger one.
//
// The reference draws with replacement (openimages.py), and so gets fewer images than asked for, some of them with all their
// objects twice.
func subset(names []string, count int, seed uint64) map[string]bool {
	place := func(name string) [sha256.Size]byte {
		return sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), name...))
	}
	sorted := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		x, y := place(a), place(b)
		return bytes.Compare(x[:], y[:])
	})
	chosen := map[string]bool{}
	for _, name := range sorted[:min(count, len(sorted))] {
		chosen[name] = true
	}
	return chosen
}

const valMap = "val_map.txt"

// chosenImageNet reads val_map.txt, and chooses the images that are wanted.
func chosenImageNet(j *job) (images []accuracy.LabeledImage, chosen map[string]bool, err error) {
	f, err := j.root.Open(valMap)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if images, err = accuracy.ReadValMap(f); err != nil {
		return nil, nil, err
	}
	names := make([]string, len(images))
	for i, image := range images {
		names[i] = image.Name
	}
	return images, subset(names, j.Count, j.Seed), nil
}

// keepImageNet leaves out the images that are not wanted. The list comes before them.
func keepImageNet(j *job) (func(string) bool, error) {
	_, chosen, err := chosenImageNet(j)
	if errors.Is(err, fs.ErrNotExist) { // the archive of the list itself
		return func(string) bool { return true }, nil
	}
	return func(name string) bool { return chosen[name] || !strings.HasSuffix(name, ".JPEG") }, err
}

// finishImageNet cuts val_map.txt to the images that are wanted, in their order.
func finishImageNet(ctx context.Context, j *job) error {
	if j.Count == 0 {
		return nil
	}
	images, chosen, err := chosenImageNet(j)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, image := range images {
		if chosen[image.Name] {
			fmt.Fprintf(&b, "%s %d\n", image.Name, image.Label)
		}
	}
	return j.replace(ctx, valMap, b.Bytes())
}

const (
	cocoImages = "val2017"
	cocoLabels = "annotations/instances_val2017.json"
)

// chosenCOCO reads the names of the images in the annotations, and chooses those that are wanted.
func chosenCOCO(j *job) (map[string]bool, error) {
	f, err := j.root.Open(cocoLabels)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	truth, err := accuracy.ReadCOCO(f)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(truth.Images))
	for i, image := range truth.Images {
		names[i] = image.FileName
	}
	return subset(names, j.Count, j.Seed), nil
}

// keepCOCO leaves out the images that are not wanted. The annotations come before them.
func keepCOCO(j *job) (func(string) bool, error) {
	chosen, err := chosenCOCO(j)
	if errors.Is(err, fs.ErrNotExist) { // the archive of the annotations itself
		return func(string) bool { return true }, nil
	}
	return func(name string) bool { return chosen[path.Base(name)] || path.Dir(name) != cocoImages }, err
}

// finishCOCO cuts the annotations to the images that are wanted, in their order.
func finishCOCO(ctx context.Context, j *job) error {
	if j.Count == 0 {
		return nil
	}
	chosen, err := chosenCOCO(j)
	if err != nil {
		return err
	}
	data, err := j.root.ReadFile(cocoLabels)
	if err == nil {
		data, err = cutCOCO(data, chosen)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", cocoLabels, err)
	}
	return j.replace(ctx, cocoLabels, data)
}

// cutCOCO keeps the chosen images of an annotation file, and their annotations, with all their fields.
func cutCOCO(data []byte, chosen map[string]bool) ([]byte, error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	ids := map[int64]bool{}
	type entry struct {
		ID       int64  `json:"id"`
		ImageID  int64  `json:"image_id"`
		FileName string `json:"file_name"`
	}
	cut := func(key string, keep func(entry) bool) error {
		all, kept := []json.RawMessage{}, []json.RawMessage{}
		if err := json.Unmarshal(file[key], &all); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		for i, text := range all {
			var e entry
			if err := json.Unmarshal(text, &e); err != nil {
				return fmt.Errorf("%s: entry %d: %w", key, i, err)
			}
			if keep(e) {
				kept = append(kept, text)
			}
		}
		text, err := json.Marshal(kept)
		file[key] = text
		return err
	}
	if err := cut("images", func(e entry) bool { ids[e.ID] = ids[e.ID] || chosen[e.FileName]; return chosen[e.FileName] }); err != nil {
		return nil, err
	}
	if err := cut("annotations", func(e entry) bool { return ids[e.ImageID] }); err != nil {
		return nil, err
	}
	return json.Marshal(file)
}

// checkRequests reads all requests.
func checkRequests(ctx context.Context, v *verification) error {
	v.newKind()
	v.Observer.Phase("reading the requests")
	d, err := dataset.OpenRequests(v.Dir, dataset.OfficialRequests(), 0, 0)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	wrong := 0
	for i, r := range d.List {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := d.Read(i, dataset.NewRequestRow(r)); err != nil {
			v.problem("%v", err)
			wrong++
		}
	}
	if wrong == 0 {
		v.fine("%s of %s can be read", units.Count(len(d.List), "request"), units.Count(len(d.Counts), "time stamp"))
	}
	return nil
}
