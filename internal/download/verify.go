package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Report is what Verify found.
type Report struct {
	Dir      string   `json:"dir"`
	Fine     []string `json:"fine"`              // what was checked and is right
	Problems []string `json:"problems"`          // the first MaxProblems of each kind
	More     int      `json:"more,omitempty"`    // problems beyond these
	Unknown  []string `json:"unknown,omitempty"` // what could not be checked, and why

	Ours  bool   `json:"downloaded"`   // Get made the folder, at least in part
	Of    string `json:"of,omitempty"` // the item, if Get finished
	Count int    `json:"count,omitempty"`
	Seed  uint64 `json:"seed,omitempty"` // with Count: the part that is there, or should be
}

// OK reports whether nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// VerifyOptions say what to verify.
type VerifyOptions struct {
	Dir         string
	Count       int      // of samples that there should be; 0: as downloaded, or all
	MaxProblems int      // to report of each kind; 0: 10
	Accept      bool     // files without another checksum are to be as they are now
	Observer    Observer // nil: silence
}

// ErrNotThere is the error of Verify for a folder that does not exist.
var ErrNotThere = errors.New("no such folder")

// A verification is one Verify.
type verification struct {
	VerifyOptions
	item   Item
	root   *os.Root
	report *Report
	read   map[string]readFile // for the published checksums

	mu       sync.Mutex
	reported int // problems of the current kind
}

// Verify checks an item's folder: that the files are there and have the published checksums, that they are as they were when
// they were installed or first seen, and that the data set's own lists agree with its files. It changes nothing in the folder. An error kept it from
// checking; problems are in the report.
func Verify(ctx context.Context, it Item, o VerifyOptions) (*Report, error) {
	if err := checkCount(it, o.Count); err != nil {
		return nil, err
	}
	if o.MaxProblems <= 0 {
		o.MaxProblems = 10
	}
	if o.Observer == nil {
		o.Observer = silence{}
	}
	root, err := openFolder(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s %s is not in %s: %w", it.Kind, it.Name, o.Dir, ErrNotThere)
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r, finished := readReceipt(root)
	v := &verification{read: map[string]readFile{}, VerifyOptions: o, item: it, root: root,
		report: &Report{Dir: o.Dir, Fine: []string{}, Problems: []string{}, Of: r.Name,
			Count: r.Count, Seed: r.Seed}}
	if o.Count > 0 {
		v.report.Count = o.Count
	}
	err = v.checkPublished(ctx)
	if err == nil {
		err = v.checkInstalled(ctx, r, finished)
	}
	if check := layouts()[it.Layout].check; err == nil && check != nil {
		err = check(ctx, v)
	}
	if err != nil {
		return nil, fmt.Errorf("verifying %s %s: %w", it.Kind, it.Name, err)
	}
	if len(v.report.Fine) == 0 && v.report.OK() {
		v.report.Problems = append(v.report.Problems, o.Dir+" has no file of "+it.Name)
	}
	return v.report, nil
}

// newKind begins problems of another kind.
func (v *verification) newKind() { v.reported = 0 }

// problem reports that something is wrong.
func (v *verification) problem(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reported++; v.reported > v.MaxProblems {
		v.report.More++
		return
	}
	v.report.Problems = append(v.report.Problems, fmt.Sprintf(format, args...))
}

func (v *verification) fine(format string, args ...any) {
	v.report.Fine = append(v.report.Fine, fmt.Sprintf(format, args...))
}

func (v *verification) unknown(format string, args ...any) {
	v.report.Unknown = append(v.report.Unknown, fmt.Sprintf(format, args...))
}

// checkPublished compares files with what the manifest has about them.
func (v *verification) checkPublished(ctx context.Context) error {
	v.newKind()
	var files []File
	for _, f := range v.item.Files {
		for _, name := range slices.Sorted(maps.Keys(f.Inside)) {
			if _, err := v.root.Stat(name); err == nil || f.R2 == "" { // those of a list may lie in a folder, which the list tells
				files = append(files, File{Name: name, MD5: f.Inside[name]})
			}
		}
		if f.R2 == "" && f.Unpack == nil {
			files = append(files, f)
		}
	}
	for _, f := range files {
		v.Observer.Phase("checking " + f.Name)
		var before string
		if info, err := v.root.Stat(f.Name); err == nil {
			before = fileio.Version(info)
		}
		got, err := sumFile(ctx, v.root, f.Name, v.Observer.Bytes)
		if err == nil {
			v.read[f.Name] = readFile{before, got}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wrong := f.check(got, f.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.problem("%s is missing", f.Name)
		case err != nil:
			v.problem("%v", err)
		case wrong != nil:
			v.problem("%v", wrong)
		case f.hasChecksum():
			v.fine("%s has the published checksum", f.Name)
		case f.Size > 0:
			v.fine("%s has the published size; no checksum is published", f.Name)
		default:
			v.unknown("%s: no checksum is published; its SHA-256 is %s", f.Name, got.SHA256)
		}
	}
	return nil
}

// checkInstalled compares the files with the list of when they were installed, and those of data sets that are not in it with when they
// were first seen.
func (v *verification) checkInstalled(ctx context.Context, r receipt, finished bool) error {
	v.newKind()
	list, err := readSums(v.root)
	v.report.Ours = err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.unknown("mlperf download did not make this folder: it has no list of all checksums")
		list = &sumList{root: v.root}
	case err != nil:
		return err
	case !finished:
		v.problem("the download was not finished")
	}
	n := len(list.sums)
	if v.report.Ours && n < r.Files {
		v.problem("%s lists %d files, expected %d: the others cannot be checked", sumsFile, n, r.Files)
	}
	v.Observer.Phase("checking all files")
	if v.item.Kind == Dataset {
		return v.compareAll(ctx)
	}
	size, problems, err := list.verify(ctx, v.Observer)
	for _, text := range problems {
		v.problem("%s", text)
	}
	if err == nil && n > 0 && len(problems) == 0 {
		v.fine("%s, %s, are as they were installed", units.Count(n, "file"), units.Bytes(size))
	}
	return err
}

// compareAll compares all files of a data set, and keeps their checksums for runs.
func (v *verification) compareAll(ctx context.Context) error {
	c, err := Compare(ctx, v.Dir, CompareOptions{Items: []Item{v.item}, Full: true, Accept: v.Accept, Observer: v.Observer, done: v.read})
	if err != nil {
		return err
	}
	if c.Unkept != nil {
		v.unknown("later changes cannot be found: %v", c.Unkept)
	}
	for _, d := range c.Different {
		if !slices.Contains(v.report.Problems, d.Text) { // by its published checksum
			v.problem("%s", d.Text)
		}
	}
	if n := c.Installed + c.Published; v.report.Ours && n > 0 && len(c.Different) == 0 {
		v.fine("%s are as they were installed", units.Count(n, "file"))
	}
	if c.AsSeen > 0 {
		v.fine("%s are as they were first seen, %s", units.Count(c.AsSeen, "file"), c.Since.Format(time.DateTime))
	}
	return nil
}

// checkSamples compares the number of samples with what it should be.
func (v *verification) checkSamples(got int, where string) {
	v.newKind()
	want := v.report.Count
	if want == 0 {
		want = v.item.Samples
	}
	switch {
	case want == 0:
		v.unknown("%s lists %d samples; how many there should be is not known", where, got)
	case got != want:
		v.problem("%s lists %d samples, expected %d", where, got, want)
	default:
		v.fine("%s lists %d samples", where, got)
	}
}

// checkImages checks that images are there and whole as far as their headers and ends tell, and have the listed sizes, if these
// are not 0.
func (v *verification) checkImages(ctx context.Context, n int, image func(i int) (name string, width, height int)) error {
	v.newKind()
	v.Observer.Phase("checking images")
	tick := workerpool.Counter(n, v.Observer.Items)
	var wrong atomic.Int64
	err := workerpool.Each(ctx, 0, n, func(_ context.Context, i int) error {
		name, width, height := image(i)
		data, err := v.root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("is missing")
		}
		if err == nil {
			var w, h int
			if w, h, err = imageSize(data); err == nil && width > 0 && (w != width || h != height) {
				err = fmt.Errorf("is %d × %d pixels, listed are %d × %d", w, h, width, height)
			}
		}
		if err != nil {
			wrong.Add(1)
			v.problem("%s: %v", name, err)
		}
		tick(1)
		return nil
	})
	if err == nil && wrong.Load() == 0 {
		v.fine("%d images are there, with complete headers and ends", n)
	}
	return err
}

// imageSize returns the size of a JPEG or PNG file, and finds files that end early. The official sets have a PNG and some CMYK
// images among the files called JPEG.
func imageSize(data []byte) (width, height int, err error) {
	if bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) {
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err == nil && !bytes.Contains(data[max(0, len(data)-64):], []byte("IEND")) {
			err = errors.New("the PNG file ends early")
		}
		return c.Width, c.Height, err
	}
	width, height, err = jpegSize(data)
	if err == nil && !bytes.Contains(data[max(0, len(data)-4096):], []byte{0xff, 0xd9}) {
		err = errors.New("the JPEG file ends early")
	}
	return width, height, err
}

// checkImageNet checks val_map.txt and the images that it lists.
func checkImageNet(ctx context.Context, v *verification) error {
	const classes = 1000 // of ILSVRC-2012
	f, err := v.root.Open(valMap)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	defer f.Close()
	images, err := accuracy.ReadValMap(f)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	v.checkSamples(len(images), valMap)
	v.newKind()
	before := len(v.report.Problems)
	lines := map[string]int{}
	for i, image := range images {
		if first, ok := lines[image.Name]; ok {
			v.problem("%s: line %d: %s is listed already in line %d", valMap, i+1, image.Name, first)
		}
		lines[image.Name] = i + 1
		if image.Label < 0 || image.Label >= classes {
			v.problem("%s: line %d: the class of %s is %d: must be 0 to %d", valMap, i+1, image.Name, image.Label, classes-1)
		}
	}
	if len(v.report.Problems) == before {
		v.fine("%s: every image once, all classes from 0 to %d", valMap, classes-1)
	}
	return v.checkImages(ctx, len(images), func(i int) (string, int, int) { return images[i].Name, 0, 0 })
}

// checkCOCO checks the annotations and the images that they list.
func checkCOCO(ctx context.Context, v *verification) error {
	return v.checkAnnotations(ctx, cocoLabels, cocoImages, nil)
}

// checkOpenImages is checkCOCO for the reference's layout of OpenImages.
func checkOpenImages(ctx context.Context, v *verification) error {
	return v.checkAnnotations(ctx, v.item.OpenImages.Labels, v.item.OpenImages.Images, configs.OpenImagesClasses())
}

// checkAnnotations checks an annotation file, its classes if they are known, and the images.
func (v *verification) checkAnnotations(ctx context.Context, labels, images string, classes []string) error {
	f, err := v.root.Open(labels)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	defer f.Close()
	truth, err := accuracy.ReadCOCO(f)
	if err != nil {
		v.problem("%v", err)
		return nil
	}
	v.checkSamples(len(truth.Images), labels)
	v.newKind()
	before := len(v.report.Problems)
	if strays := truth.Strays(); strays != "" {
		v.problem("%s: %s", labels, strays)
	}
	seen := map[string]bool{}
	for _, image := range truth.Images {
		if seen[image.FileName] {
			v.problem("%s: %s is listed twice", labels, image.FileName)
		}
		seen[image.FileName] = true
	}
	if classes != nil && len(truth.Categories) != len(classes) {
		v.problem("%s: %d categories, expected %d", labels, len(truth.Categories), len(classes))
	} else if classes != nil {
		for i, c := range truth.Categories {
			if c.ID != int64(i) || c.Name != classes[i] {
				v.problem("%s: category %d is %q with the number %d: must be %q", labels, i, c.Name, c.ID, classes[i])
			}
		}
	}
	if len(v.report.Problems) == before {
		v.fine("%s: %d objects of %d categories, all in images that are listed", labels, len(truth.Annotations), len(truth.Categories))
	}
	return v.checkImages(ctx, len(truth.Images), func(i int) (string, int, int) {
		image := truth.Images[i]
		return path.Join(images, image.FileName), image.Width, image.Height
	})
}

// checkKiTS19 checks that every case has both volumes, that they are of one shape, and that the case which MLPerf made is a copy.
func checkKiTS19(ctx context.Context, v *verification) error {
	const imaging, segmentation = "imaging.nii.gz", "segmentation.nii.gz"
	v.newKind()
	v.Observer.Phase("checking cases")
	before := len(v.report.Problems)
	for i, c := range v.item.Cases {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.Observer.Items(i, len(v.item.Cases))
		scan, err := volume.ReadGrid(filepath.Join(v.Dir, c, imaging))
		labels, err2 := volume.ReadGrid(filepath.Join(v.Dir, c, segmentation))
		if err = errors.Join(err, err2); err != nil {
			v.problem("%s: %v", c, err)
		} else if scan.Shape != labels.Shape {
			v.problem("%s: the volume is %v, its segmentation %v", c, scan.Shape, labels.Shape)
		}
	}
	if len(v.report.Problems) > before {
		return nil
	}
	v.fine("%d cases, each with a volume and a segmentation of the same shape", len(v.item.Cases))
	for _, name := range []string{imaging, segmentation} { // models/… of the reference: case_00400 is case_00185
		copied, err1 := sumFile(ctx, v.root, path.Join("case_00400", name), nil)
		from, err2 := sumFile(ctx, v.root, path.Join("case_00185", name), nil)
		if err1 == nil && err2 == nil && copied != from {
			v.problem("case_00400/%s is not a copy of case_00185/%s", name, name)
		}
	}
	return nil
}

// checkWaymo reads the list of frames, and the points of each, and looks for its pictures.
func checkWaymo(ctx context.Context, v *verification) error {
	v.newKind()
	v.Observer.Phase("checking frames")
	before := len(v.report.Problems)
	d, err := waymo.Open(v.Dir, 0)
	if err != nil {
		for problem := range strings.SplitSeq(err.Error(), "\n") {
			v.problem("%s", problem)
		}
		return nil
	}
	var points []float32
	for i := range d.Frames {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.Observer.Items(i, len(d.Frames))
		points = tensor.Grown(points, d.Points(i)*waymo.Features)
		if _, err := d.ReadPoints(i, points); err != nil {
			v.problem("%v", err)
		}
	}
	if len(v.report.Problems) == before {
		v.fine("%d frames, each with points, five pictures, a calibration and objects", len(d.Frames))
	}
	return nil
}
