package jpeg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"image"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A golden is a file and what the reference makes of it; see testdata/README.md.
type golden struct {
	File, Note    string
	Width, Height int
	Orientation   int
	Damaged       bool
	SHA256        string
	data          []byte
}

func images(t testing.TB) []golden {
	t.Helper()
	list := testenv.JSON[[]golden](t, "testdata/images.json")
	for i := range list {
		list[i].data = testenv.Read(t, filepath.Join("testdata/images", list[i].File))
	}
	return list
}

func corpus(t testing.TB) []golden {
	t.Helper()
	files := testenv.Files(t, "testdata/corpus.tar.gz")
	var list []golden
	if err := json.Unmarshal(files["index.json"], &list); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].data = files[list[i].File]
	}
	return list
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func TestDecodeEqualsOpenCV(t *testing.T) {
	var d Decoder
	for _, want := range images(t) {
		got, err := d.Decode(want.data, nil, nil)
		if want.Damaged {
			if !errors.Is(err, errDamaged) {
				t.Errorf("%s: error %v, want %v", want.File, err, errDamaged)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.Width != want.Width || got.Height != want.Height || got.Orientation != want.Orientation {
			t.Errorf("%s: Decode gives %+v  want %+v", want.File, got.Config, want)
		}
		if hash(got.Pix) != want.SHA256 {
			t.Errorf("pixels of %s (%s) differ from the reference", want.File, want.Note)
		}
	}
	for _, want := range corpus(t) {
		got, err := d.Decode(want.data, nil, nil)
		if err != nil && strings.HasPrefix(want.Note, "whole") || err == nil && strings.HasPrefix(want.Note, "unfinished") {
			t.Errorf("%s (%s): error %v", want.File, want.Note, err)
		}
		if err == nil && (got.Width != want.Width || got.Height != want.Height || hash(got.Pix) != want.SHA256) {
			t.Errorf("%s (%s): pixels differ from the reference", want.File, want.Note)
		}
	}
}

func TestDecodePart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var d, e Decoder
	for _, g := range append(images(t), corpus(t)...) {
		want, err := d.Decode(g.data, nil, nil)
		if err != nil {
			continue
		}
		part := image.Rect(rng.IntN(want.Width+1), rng.IntN(want.Height+1), rng.IntN(want.Width+1), rng.IntN(want.Height+1))
		got, err := e.Decode(g.data, nil, func(c Config) image.Rectangle {
			if c != want.Config {
				t.Errorf("%s: part gets %+v, want %+v", g.File, c, want.Config)
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
	data := testenv.Read(t, "testdata/images/photo_500x375_420_q90.jpg")
	var d Decoder
	var pix []byte
	allocs := testing.AllocsPerRun(5, func() {
		img, err := d.Decode(data, pix, nil)
		if err != nil {
			t.Fatal(err)
		}
		pix = img.Pix
	})
	if allocs > 0 {
		t.Errorf("Decode with a used Decoder allocates %v times, want 0", allocs)
	}
}
