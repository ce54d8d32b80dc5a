package waymo

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const folder = "testdata/kitti_format"

// The log was scored by accuracy_waymo.py of the reference: testdata/make.py.
func TestScoreOfTheOfficialScript(t *testing.T) {
	frames, _, err := ReadInfos("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var truth []accuracy.WaymoFrame
	for _, f := range frames {
		truth = append(truth, f.WaymoFrame)
	}
	score, err := accuracy.ScoreWaymo(accuracy.Named("log_a.json", bytes.NewReader(testenv.Read(t, "testdata/log_a.json"))), truth, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(testenv.Read(t, "testdata/score_a.txt")); strings.TrimSpace(score.Text()) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", score.Text(), want)
	}
	if len(frames) != 24 || score.Coverage.Scored != 24 || score.Coverage.Repeated != 1 {
		t.Errorf("%d frames, coverage %+v", len(frames), score.Coverage)
	}
}

func TestPointsAreThoseInside(t *testing.T) {
	d, err := Open(folder, 2)
	if err != nil {
		t.Fatal(err)
	}
	arrays := npytest.Archive(t, "testdata/tensors.npz")
	for i, name := range []string{"pts0", "pts1"} {
		dst := make([]float32, d.Points(i)*Features)
		n, err := d.ReadPoints(i, dst)
		if err != nil {
			t.Fatal(err)
		}
		if want := tensor.Data[float32](arrays[name]); !slices.Equal(dst[:n*Features], want) {
			t.Errorf("frame %d: %d points differ from %d of the reference", i, n, len(want)/Features)
		}
	}
}

// change replaces the only occurrence of some bytes in the list of frames.
func change(t *testing.T, old, new string) []byte {
	t.Helper()
	data := testenv.Read(t, filepath.Join(folder, InfoFile))
	if len(old) != len(new) {
		t.Fatalf("%q and %q differ in length", old, new)
	}
	return bytes.Replace(data, []byte(old), []byte(new), 1)
}

func TestBadInfos(t *testing.T) {
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"no frames", "it is not a list of frames", []byte("\x80\x04].")},
		{"a number", "it is not a list of frames", []byte("\x80\x04K\x01.")},
		{"a function", "which is refused", []byte("\x80\x04cposix\nsystem\n\x8c\x02id\x85R.")},
		{"cut off", "the file ends too early", testenv.Read(t, filepath.Join(folder, InfoFile))[:5000]},
		{"no calibration", "entry 0: calib.R0_rect is missing", change(t, "R0_rect", "R0_rekt")},
		{"no matrix", "entry 0: calib.P2 is missing", change(t, "\x8c\x02P2", "\x8c\x02Q2")},
		{"no pictures", "entry 0: image.camera is missing", change(t, "\x8c\x06camera", "\x8c\x06kamera")},
		{"no number", "entry 0: image.image_idx is missing", change(t, "image_idx", "image_ids")},
		{"a number that float32 lacks", "entry 0: image.image_idx is 34554432", change(t, "J\x40\x42\x0f\x00", "J\x40\x42\x0f\x02")},
		{"a number twice", "entry 1: image.image_idx is 1000000, as that of entry 0", change(t, "J\x41\x42\x0f\x00", "J\x40\x42\x0f\x00")},
		{"points elsewhere", `entry 0: point_cloud.velodyne_path is "../ining/velodyne/1000000.bin"`, change(t, "training/velodyne/1000000", "../ining/velodyne/1000000")},
		{"no truth", "entry 0: annos is missing", change(t, "\x8c\x05annos", "\x8c\x05annoz")},
		{"a picture without pixels", "entry 0: image.camera[0].image_shape is [0 96]", change(t, "sixteen", "sixteen")},
	} {
		if c.name == "a picture without pixels" {
			at := bytes.Index(c.data, []byte("camera"))
			shape := []byte("C\x08\x40\x00\x00\x00\x60\x00\x00\x00")
			at += bytes.Index(c.data[at:], shape)
			c.data = slices.Clone(c.data)
			c.data[at+2] = 0
		}
		if _, err := parseInfos(c.data); !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	copied := func(t *testing.T) string {
		dir := t.TempDir()
		testenv.Must(t, os.CopyFS(dir, os.DirFS(folder)))
		return dir
	}
	t.Run("missing", func(t *testing.T) {
		dir := copied(t)
		testenv.Must(t, os.Remove(filepath.Join(dir, "training/image_3/1000001.jpg")))
		if _, err := Open(dir, 2); err == nil || !strings.Contains(err.Error(), "entry 1 of waymo_infos_val.pkl") || !strings.Contains(err.Error(), "image_3/1000001.jpg") {
			t.Error(err)
		}
	})
	t.Run("cut off", func(t *testing.T) {
		dir := copied(t)
		testenv.Must(t, os.Truncate(filepath.Join(dir, "training/velodyne/1000000.bin"), 100))
		if _, err := Open(dir, 1); !testenv.Names(err, "1000000.bin … 100 bytes … 6 float32") {
			t.Error(err)
		}
	})
	t.Run("not a number", func(t *testing.T) {
		dir := copied(t)
		path := filepath.Join(dir, "training/velodyne/1000000.bin")
		data := testenv.Read(t, path)
		binary.LittleEndian.PutUint32(data[24*7+12:], math.Float32bits(float32(math.NaN())))
		testenv.Must(t, os.WriteFile(path, data, 0o644))
		d, err := Open(dir, 1)
		testenv.Must(t, err)
		if _, err := d.ReadPoints(0, make([]float32, d.Points(0)*Features)); !testenv.Names(err, "1000000.bin … number 3 … point 7 … NaN") {
			t.Error(err)
		}
	})
	t.Run("too many", func(t *testing.T) {
		if _, err := Open(folder, 25); err == nil || !strings.Contains(err.Error(), "25 frames are wanted") {
			t.Error(err)
		}
	})
}

func FuzzInfos(f *testing.F) {
	f.Add(testenv.Read(f, "testdata/one_frame.pkl"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frames, err := parseInfos(data)
		if err != nil {
			return
		}
		ids := map[int64]bool{}
		for _, frame := range frames {
			if ids[frame.ID] || !filepath.IsLocal(frame.Points) {
				t.Errorf("frame %d at %q", frame.ID, frame.Points)
			}
			ids[frame.ID] = true
		}
	})
}
