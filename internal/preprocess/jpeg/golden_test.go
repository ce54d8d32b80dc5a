package jpeg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A golden is a file and what the reference makes of it; see testdata/README.md.
type golden struct {
	File, Note    string
	Width, Height int
	Color         string
	Progressive   bool
	Orientation   int
	Damaged       bool
	SHA256        string
	data          []byte
}

func images(t testing.TB) []golden {
	t.Helper()
	var list []golden
	readJSON(t, read(t, "images.json"), &list)
	for i := range list {
		list[i].data = read(t, filepath.Join("images", list[i].File))
	}
	return list
}

func corpus(t testing.TB) []golden {
	t.Helper()
	files := testenv.Files(t, "testdata/corpus.tar.gz")
	var list []golden
	readJSON(t, files["index.json"], &list)
	for i := range list {
		list[i].data = files[list[i].File]
	}
	return list
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	return testenv.Read(t, filepath.Join("testdata", name))
}

func readJSON(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func TestDecodeEqualsOpenCVOnPictures(t *testing.T) {
	var d Decoder
	for _, want := range images(t) {
		t.Run(want.File, func(t *testing.T) {
			got, err := d.Decode(want.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Width != want.Width || got.Height != want.Height || got.color.String() != want.Color ||
				got.Progressive != want.Progressive || got.Orientation != want.Orientation || got.Damaged != want.Damaged {
				t.Errorf("Decode gives %+v, damaged: %v, want %+v", got.Config, got.Damaged, want)
			}
			if hash(got.Pix) != want.SHA256 {
				t.Errorf("pixels of %s (%s) differ from the reference", want.File, want.Note)
			}
		})
	}
}

func TestDecodeEqualsOpenCVOnAllKindsOfFilesWholeAndDamaged(t *testing.T) {
	var d Decoder
	for _, want := range corpus(t) {
		got, err := d.Decode(want.data, nil)
		switch {
		case want.SHA256 == "" && err == nil:
			t.Errorf("%s (%s): Decode accepts what the reference refuses", want.File, want.Note)
		case want.SHA256 != "" && err != nil:
			t.Errorf("%s (%s): Decode fails: %v", want.File, want.Note, err)
		case want.SHA256 != "" && (got.Width != want.Width || got.Height != want.Height || hash(got.Pix) != want.SHA256):
			t.Errorf("%s (%s): pixels differ from the reference", want.File, want.Note)
		}
	}
}

func TestDecodePartGivesTheSamePixelsInsideTheRectangle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var d, e Decoder
	for _, g := range append(images(t), corpus(t)...) {
		want, err := d.Decode(g.data, nil)
		if err != nil {
			continue
		}
		part := image.Rect(rng.IntN(want.Width+1), rng.IntN(want.Height+1), rng.IntN(want.Width+1), rng.IntN(want.Height+1))
		got, err := e.DecodePart(g.data, nil, func(c Config) image.Rectangle {
			if c != want.Config {
				t.Errorf("%s: part is told %+v, want %+v", g.File, c, want.Config)
			}
			return part
		})
		if err != nil {
			t.Fatal(err)
		}
		for y := part.Min.Y; y < part.Max.Y; y++ {
			from, to := 3*(y*want.Width+part.Min.X), 3*(y*want.Width+part.Max.X)
			if !bytes.Equal(got.Pix[from:to], want.Pix[from:to]) {
				t.Errorf("%s (%s): row %d of part %v differs", g.File, g.Note, y, part)
				break
			}
		}
	}
}

func TestDecodeReusesMemory(t *testing.T) {
	data := read(t, "images/photo_500x375_420_q90.jpg")
	var d Decoder
	var pix []byte
	allocs := testing.AllocsPerRun(5, func() {
		img, err := d.Decode(data, pix)
		if err != nil {
			t.Fatal(err)
		}
		pix = img.Pix
	})
	if allocs > 0 {
		t.Errorf("Decode with a used Decoder allocates %v times, want 0", allocs)
	}
}
