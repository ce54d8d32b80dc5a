package synth

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

var small = ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}

func TestOfManyWritersOneSetRemains(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	alone := filepath.Join(t.TempDir(), "set")
	if err := WriteImageNet(t.Context(), alone, small, nil); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "set")
	errs := make([]error, 5)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = WriteImageNet(t.Context(), dir, small, nil) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("writers failed: %v", err)
	}
	if names := namesIn(t, parent); len(names) != 1 {
		t.Errorf("besides the set there are others: %v", names)
	}
	if !maps.Equal(filesOf(t, dir), filesOf(t, alone)) {
		t.Error("the set differs from one that was made alone")
	}
}

func TestASetThatIsThereIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	if err := WriteImageNet(t.Context(), dir, small, nil); err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Scores = map[string]float64{"resnet50": 73.8}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	err = WriteImageNet(t.Context(), dir, small, func(int, int) { t.Error("images were made again") })
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(filesOf(t, dir), before) {
		t.Error("the set, or its scores, changed")
	}
}

func TestOtherFoldersAreNotTouched(t *testing.T) {
	other := small
	other.Seed = 99
	for name, c := range map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"another set": {
			func(dir string) error { return WriteImageNet(t.Context(), dir, other, nil) },
			"holds another data set: version 3, ImageNet {Seed:99",
		},
		"a set for detection": {
			func(dir string) error {
				return WriteCOCO(t.Context(), dir, COCOSpec{Layout: COCO, Seed: 1, Images: 1}, nil, nil)
			},
			"holds another data set: version 3, COCO {Layout:coco",
		},
		"a folder of the user": {
			func(dir string) error {
				return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "notes"), nil, 0o644))
			},
			"is not empty and has no builtin.json",
		},
		"a file":         {func(dir string) error { return os.WriteFile(dir, nil, 0o644) }, "not a directory"},
		"a bad manifest": {badManifest, "reading "},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "set")
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, parent)
			err := WriteImageNet(t.Context(), dir, small, nil)
			wantError(t, err, "making the built-in ImageNet: ", c.want)
			if !maps.Equal(filesOf(t, parent), before) {
				t.Error("files changed")
			}
		})
	}
}

func badManifest(dir string) error {
	return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, manifestName), []byte("{}"), 0o644))
}

func TestAnEmptyFolderIsFilled(t *testing.T) {
	dir := t.TempDir()
	if err := WriteImageNet(t.Context(), dir, small, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(filesOf(t, dir)); n != 6 {
		t.Errorf("there are %d files, want 6", n)
	}
}

func TestInterruptionLeavesNothingBehind(t *testing.T) {
	cause := errors.New("the user had enough")
	for name, write := range map[string]func(ctx context.Context, dir string, progress func(int, int)) error{
		"ImageNet": func(ctx context.Context, dir string, progress func(int, int)) error {
			return WriteImageNet(ctx, dir, small, progress)
		},
		"COCO": func(ctx context.Context, dir string, progress func(int, int)) error {
			return WriteCOCO(ctx, dir, COCOSpec{Layout: COCO, Seed: 1, Images: 4}, nil, progress)
		},
	} {
		for _, after := range []int{0, 1, 3} {
			parent := t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := func(done, _ int) {
				if done >= after {
					cancel(cause)
				}
			}
			stop(0, 0)
			if err := write(ctx, filepath.Join(parent, "set"), stop); !errors.Is(err, cause) {
				t.Errorf("%s stopped after %d images with the error %v", name, after, err)
			}
			if names := namesIn(t, parent); len(names) > 0 {
				t.Errorf("%s stopped after %d images left %v behind", name, after, names)
			}
			cancel(nil)
		}
	}
}

func TestAFullDiskLeavesNothingBehind(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full on this system")
	}
	parent := t.TempDir()
	m := Manifest{Version: FormatVersion, ImageNet: &small}
	err := publish(filepath.Join(parent, "set"), m, func(folder string) error {
		return errors.Join(fullFile(folder, small.Name(2)), small.fill(t.Context(), folder, nil))
	}, nil)
	wantError(t, err, "no space left on device", small.Name(2))
	if names := namesIn(t, parent); len(names) > 0 {
		t.Errorf("%v were left behind", names)
	}
}

// fullFile makes a file that takes no bytes.
func fullFile(folder, name string) error { return os.Symlink("/dev/full", filepath.Join(folder, name)) }

func TestFoldersThatCannotBeMade(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := WriteImageNet(t.Context(), filepath.Join(file, "set"), small, nil)
	wantError(t, err, "making the built-in ImageNet: ", "not a directory")

	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(parent, 0o755)
	err = WriteImageNet(t.Context(), filepath.Join(parent, "set"), small, nil)
	wantError(t, err, "making the built-in ImageNet: ", "permission denied")
	if names := namesIn(t, parent); len(names) != 1 {
		t.Errorf("the folder now has %v", names)
	}
}
