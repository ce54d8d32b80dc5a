package dataset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// picture returns a PNG file whose pixels have one class.
func picture(t testing.TB, m interface {
	image.Image
	Set(x, y int, c color.Color)
}, class uint8) string {
	t.Helper()
	b := m.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			switch m := m.(type) {
			case *image.Gray:
				m.Pix[y*m.Stride+x] = class
			case *image.Paletted:
				m.Pix[y*m.Stride+x] = class
			default:
				m.Set(x, y, color.Gray{class})
			}
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

func square() image.Rectangle { return image.Rect(0, 0, ADE20KSize, ADE20KSize) }

func adeFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"b", "a"} {
		put(t, dir, "images/"+name+".png", picture(t, image.NewRGBA(square()), 100))
		put(t, dir, "annotations/"+name+".png", picture(t, image.NewGray(square()), uint8(i+1)))
	}
	put(t, dir, "images/README.txt", "not an image")
	return dir
}

func TestADE20KHasTheOrderOfNames(t *testing.T) {
	dir := adeFolder(t)
	d, err := OpenADE20K(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 2 || filepath.Base(d.Path(0)) != "a.png" {
		t.Errorf("%d images, the first is %s", d.Len(), d.Path(0))
	}
	for i, class := range []uint8{2, 1} {
		mask, err := d.Mask(i)
		if err != nil || mask.Width != ADE20KSize || !bytes.Equal(mask.Classes, bytes.Repeat([]byte{class}, ADE20KSize*ADE20KSize)) {
			t.Errorf("mask %d has %d×%d pixels, not all of class %d, %v", i, mask.Width, mask.Height, class, err)
		}
	}
}

// The official archive has images of any size.
func TestADE20KOfficialFolders(t *testing.T) {
	for _, below := range []string{"", "ADEChallengeData2016/"} {
		dir := t.TempDir()
		shape := image.Rect(0, 0, 30, 20)
		put(t, dir, below+"images/validation/ADE_val_00000001.png", picture(t, image.NewRGBA(shape), 9))
		put(t, dir, below+"annotations/validation/ADE_val_00000001.png", picture(t, image.NewGray(shape), 7))
		put(t, dir, below+"images/training/ADE_train_00000001.png", picture(t, image.NewRGBA(shape), 9))
		d, err := OpenADE20K(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if mask, err := d.Mask(0); d.Len() != 1 || err != nil || mask.Width != 30 || mask.Height != 20 || mask.Classes[0] != 7 {
			t.Errorf("%s: %d images, mask of %d×%d, %v", below, d.Len(), mask.Width, mask.Height, err)
		}
		if data, err := d.Read(0); err != nil || len(data) == 0 {
			t.Errorf("%s: image of %d bytes, %v", below, len(data), err)
		}
	}
}

func TestADE20KErrors(t *testing.T) {
	small := image.Rect(0, 0, 512, 500)
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		count  int
		want   string
	}{
		{"nothing", func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "images")) }, 0, "expected the folders images and annotations, or images/validation and annotations/validation"},
		{"too many wanted", func(*testing.T, string) {}, 3, "has 2 images, expected at least 3"},
		{"a mask is missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "annotations/b.png")) }, 0, "image b.png: "},
		{"a mask of another size", func(t *testing.T, dir string) { put(t, dir, "annotations/a.png", picture(t, image.NewGray(small), 1)) }, 0,
			"annotations/a.png has 512×500 pixels, the image 512×512"},
		{"not an image", func(t *testing.T, dir string) { put(t, dir, "images/a.png", "<html>") }, 0, "images/a.png: neither a JPEG nor a PNG picture"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := adeFolder(t)
			test.change(t, dir)
			if d, err := OpenADE20K(dir, Options{Count: test.count}); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), test.want) {
				t.Errorf("%v, error %v, want %q", d, err, test.want)
			}
		})
	}
}

func TestADE20KIgnoresImagesAfterTheCount(t *testing.T) {
	for _, file := range []string{"images/b.png", "annotations/b.png"} {
		dir := adeFolder(t)
		put(t, dir, file, "<html>")
		if d, err := OpenADE20K(dir, Options{Count: 1}); err != nil || d.Len() != 1 {
			t.Errorf("%s is damaged, count 1: %v, %v", file, d, err)
		}
		if _, err := OpenADE20K(dir, Options{Count: 2}); err == nil || !strings.Contains(err.Error(), "image b.png: ") {
			t.Errorf("%s is damaged, count 2: error %v", file, err)
		}
	}
}

func TestImageSize(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 37, 21)), nil); err != nil {
		t.Fatal(err)
	}
	plain := b.String()
	note := "\xff\xfe\xff\xff" + strings.Repeat("n", 0xffff-2)
	for name, c := range map[string]struct{ data, err string }{
		"a JPEG":                           {data: plain},
		"a JPEG after long comments":       {data: plain[:2] + note + note + plain[2:]},
		"a PNG":                            {data: picture(t, image.NewGray(image.Rect(0, 0, 37, 21)), 1)},
		"a JPEG cut off":                   {data: plain[:100], err: "file ends before any image data"},
		"a JPEG cut off in a long comment": {data: plain[:2] + note + note, err: "file ends before any image data"},
		"text":                             {data: strings.Repeat("n", 100000), err: "neither a JPEG nor a PNG picture"},
		"a PNG cut off":                    {data: "\x89PNG\r\n\x1a\n", err: "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "picture")
			put(t, filepath.Dir(path), "picture", c.data)
			size, err := imageSize(path)
			switch {
			case c.err == "" && (err != nil || size != image.Pt(37, 21)):
				t.Errorf("imageSize = %v, %v, want 37×21", size, err)
			case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.err)):
				t.Errorf("imageSize = %v, %v, want %q", size, err, c.err)
			}
		})
	}
}

func TestMasksAreGreyOrHaveAPalette(t *testing.T) {
	palette := make(color.Palette, 151)
	for i := range palette {
		palette[i] = color.RGBA{uint8(255 - i), 3, 4, 255}
	}
	b := image.Rect(0, 0, 5, 3)
	grey := picture(t, image.NewGray(b), 150)
	huge := []byte(grey)
	copy(huge[16:], "\x00\x00\x40\x00\x00\x00\x20\x00") // width and height
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	for _, c := range []struct{ name, data, err string }{
		{"grey", grey, ""},
		{"palette", picture(t, image.NewPaletted(b, palette), 150), ""},
		{"colours", picture(t, image.NewRGBA(b), 1), "the pixels are not classes"},
		{"huge", string(huge), "16384×8192 pixels, expected at most 67108864"},
		{"cut off", grey[:50], "not enough pixel data"},
	} {
		mask, err := decodeMask([]byte(c.data))
		switch {
		case c.err == "" && (err != nil || mask.Width != 5 || !bytes.Equal(mask.Classes, bytes.Repeat([]byte{150}, 15))):
			t.Errorf("%s: mask %v, %v", c.name, mask, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
}
