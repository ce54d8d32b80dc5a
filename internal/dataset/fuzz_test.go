package dataset

import (
	"image"
	"image/color"
	"image/draw"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
)

// wantCases fails unless the names are names of files below a folder, each once.
func wantCases(t *testing.T, names []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range names {
		if filepath.Dir(filepath.Join("d", name)) != "d" || seen[name] {
			t.Errorf("%q is not the name of a case, or occurs twice", name)
		}
		seen[name] = true
	}
	if len(names) == 0 {
		t.Error("no cases")
	}
}

func FuzzPickledList(f *testing.F) {
	f.Add([]byte("}(\x8c\tfile_list](\x8c\x01b\x8c\x01ae\x8c\x05cases}\x8c\x01b}\x8c\x0bimage_shape(K\x01K\x80K\x80K\xc0tssu."))
	f.Add([]byte("}\x8c\tfile_list](K\x01es."))
	f.Add([]byte("}\x8c\tfile_list]\x8c\x04../aas."))
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := parsePickledCases("d", data)
		if err != nil {
			return
		}
		var names []string
		for _, c := range cases {
			names = append(names, c.name)
			for _, n := range c.shape {
				if c.shape != [3]int{} && (n < volume.Window || n%volume.Stride != 0) {
					t.Errorf("%s has the shape %v", c.name, c.shape)
				}
			}
		}
		wantCases(t, names)
	})
}

func FuzzPickledCase(f *testing.F) {
	f.Add([]byte(pickled([3]int{128, 128, 128}, 1, 2)[:500]), 0)
	f.Add([]byte("](]]e."), 1)
	f.Fuzz(func(t *testing.T, data []byte, which int) {
		a, shape, err := parsePickledCase(data, which&1)
		if err == nil && a.Len() != shape[0]*shape[1]*shape[2] {
			t.Errorf("%d elements of the shape %v", a.Len(), shape)
		}
	})
}

func FuzzMask(f *testing.F) {
	b := image.Rect(0, 0, 5, 3)
	for _, m := range []draw.Image{image.NewGray(b), image.NewPaletted(b, color.Palette{color.Black, color.White}), image.NewRGBA(b)} {
		f.Add([]byte(picture(f, m, 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 21 && data[16]|data[17]|data[20]|data[21] != 0 {
			return // a side beyond 65535 only takes time
		}
		m, err := decodeMask(data)
		if err == nil && (m.Width < 1 || m.Height < 1 || len(m.Classes) != m.Width*m.Height) {
			t.Errorf("%d×%d pixels have %d classes", m.Width, m.Height, len(m.Classes))
		}
	})
}

func FuzzParseSQuAD(f *testing.F) {
	f.Add([]byte(`{"version":"1.1","data":[{"title":"t","paragraphs":[{"context":"a b","qas":[{"id":"1","question":"q","answers":[{"text":"a","answer_start":0}]}]}]}]}`))
	f.Add([]byte(`{"data":[{"paragraphs":[{"context":"","qas":[]}]}]}`))
	f.Add([]byte(`{"data":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseSQuAD(data)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, q := range d.Questions {
			if q.Text < 0 || q.Text >= len(d.Texts) || ids[q.ID] || !utf8.ValidString(q.Asked) {
				t.Errorf("question %+v of %d texts", q, len(d.Texts))
			}
			ids[q.ID] = true
		}
		if len(d.Questions) == 0 {
			t.Error("no questions")
		}
	})
}
