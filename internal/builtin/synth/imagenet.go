package synth

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"io"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// An ImageNetSpec says everything about a built-in data set for classification. Equal
// specs make equal files.
//
// The class of an image is that of the anchor of which it is a disturbed version. A
// classifier that answers with the anchor nearest by its features is then right more
// often than not, and the less precisely it computes the less often.
type ImageNetSpec struct {
	Seed    uint64  `json:"seed"`
	Images  int     `json:"images"`  // 1 to 99,999,999
	Classes int     `json:"classes"` // the labels are 0 to Classes-1; at most 1000
	Jitter  float64 `json:"jitter"`  // how far images are from their anchors; 0 to 1, see Scene.Jitter
}

const (
	maxImages   = 99_999_999 // the digits of a file name
	maxClasses  = 1000       // of ILSVRC-2012
	imageNetMap = "val_map.txt"
)

func (s ImageNetSpec) check() error {
	switch {
	case s.Images < 1 || s.Images > maxImages:
		return fmt.Errorf("images is %d: must be 1 to %d", s.Images, maxImages)
	case s.Classes < 1 || s.Classes > maxClasses:
		return fmt.Errorf("classes is %d: must be 1 to %d", s.Classes, maxClasses)
	case !(s.Jitter >= 0 && s.Jitter <= 1):
		return fmt.Errorf("jitter is %v: must be 0 to 1", s.Jitter)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s ImageNetSpec) Key() string {
	return "imagenet-" + keyOf("imagenet seed %d images %d classes %d jitter %x", s.Seed, s.Images, s.Classes, s.Jitter)
}

func keyOf(format string, values ...any) string {
	sum := sha256.Sum256(fmt.Appendf(fmt.Appendf(nil, "synth %d\n", FormatVersion), format, values...))
	return hex.EncodeToString(sum[:10])
}

// Name returns the file name of an image, counted from 0.
func (s ImageNetSpec) Name(i int) string { return fmt.Sprintf("ILSVRC2012_val_%08d.JPEG", i+1) }

// Labels returns the class of each image, in random order. No class has two images more
// than another.
func (s ImageNetSpec) Labels() []int {
	r := newStream("imagenet labels", s.Seed)
	classes := make([]int, s.Classes)
	for k := range classes {
		classes[k] = k
	}
	r.shuffle(classes) // so that chance decides which of them have one image more
	labels := make([]int, s.Images)
	for i := range labels {
		labels[i] = classes[i%len(classes)]
	}
	r.shuffle(labels)
	return labels
}

// Anchor returns the scene of a class.
func (s ImageNetSpec) Anchor(class int) Scene {
	return NewScene(deriveSeed("imagenet anchor", s.Seed, uint64(class)))
}

// Image returns the scene that image i shows, whose class is label.
func (s ImageNetSpec) Image(i, label int) Scene {
	return s.Anchor(label).Jitter(deriveSeed("imagenet image", s.Seed, uint64(i)), s.Jitter)
}

// AnchorJPEG returns the anchor of a class as a file of 500×375 pixels, for the builder of
// the classifier to read like any other image.
func AnchorJPEG(spec ImageNetSpec, class int) ([]byte, error) {
	err := spec.check()
	if err == nil && (class < 0 || class >= spec.Classes) {
		err = fmt.Errorf("the class is %d: must be 0 to %d", class, spec.Classes-1)
	}
	if err != nil {
		return nil, fmt.Errorf("drawing an anchor: %w", err)
	}
	var p painter
	scene := spec.Anchor(class)
	return p.draw(&scene, frame{width: 500, height: 375, quality: 95})
}

// WriteImageNet makes a data set in the layout of the official one: the images, by their
// official names, and val_map.txt in one folder, and the Manifest.
//
// The folder appears when it is complete; an error or the end of ctx leaves nothing
// behind. If the same data set is there already, or comes to be there meanwhile, that is
// success too. Progress, if not nil, is told how many images are done, by
// one goroutine at a time.
func WriteImageNet(ctx context.Context, dir string, spec ImageNetSpec, progress func(done, total int)) error {
	return publish(ctx, dir, "ImageNet", &spec, func(folder string) error { return spec.fill(ctx, folder, progress) }, nil)
}

// fill writes the files.
func (s ImageNetSpec) fill(ctx context.Context, folder string, progress func(done, total int)) error {
	labels := s.Labels()
	sizes := imageNetMix()
	err := draw(ctx, s.Images, func() func(int) error {
		var p painter
		return func(i int) error {
			scene := s.Image(i, labels[i])
			return p.write(filepath.Join(folder, s.Name(i)), &scene, s.frame(&sizes, i))
		}
	}, progress)
	if err != nil {
		return err
	}
	return fileio.WriteAtomic(filepath.Join(folder, imageNetMap), 0o644, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		for i, label := range labels {
			fmt.Fprintf(w, "%s %d\n", s.Name(i), label)
		}
		return w.Flush()
	})
}

// frame chooses the frame of an image. One image of each 500 has an EXIF orientation, as
// about so many of the official ones do.
func (s ImageNetSpec) frame(sizes *mix, i int) frame {
	const apart = 500
	f := sizes.draw(newStream("imagenet frame", s.Seed, uint64(i)))
	r := newStream("imagenet orientation", s.Seed, uint64(i/apart))
	if r.below(apart) == i%apart {
		f.orientation = [...]byte{rotate180, rotate90, rotate270}[r.below(3)]
	}
	return f
}

// draw returns the file of a scene.
func (p *painter) draw(scene *Scene, f frame) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, f.width, f.height))
	p.render(scene, img)
	return f.encode(img)
}

func (p *painter) write(path string, scene *Scene, f frame) error {
	data, err := p.draw(scene, f)
	if err != nil {
		return err
	}
	return fileio.WriteFile(path, data, 0o644)
}
