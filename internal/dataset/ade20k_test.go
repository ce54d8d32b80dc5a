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

// picture returns a PNG file of one class.
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

func TestADE20KHasTheOrderOfTheNames(t *testing.T) {
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
	if one, err := OpenADE20K(dir, Options{Count: 1}); err != nil || one.Len() != 1 || one.Fingerprint() != d.Fingerprint() {
		t.Errorf("the first image alone: %v, %v", one, err)
	}
}

// TestADE20KIsReadAsItIsPublished reads images of any size from the folders of the archive.
func TestADE20KIsReadAsItIsPublished(t *testing.T) {
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

func TestADE20KNamesWhatIsWrong(t *testing.T) {
	small := image.Rect(0, 0, 512, 500)
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		count  int
		want   string
	}{
		{"nothing", func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "images")) }, 0, "want the folders images and annotations, or images/validation and annotations/validation"},
		{"more than there are", func(*testing.T, string) {}, 3, "has 2 images, want at least 3"},
		{"a mask is missing", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "annotations/b.png")) }, 0, "image b.png: "},
		{"a mask of another size", func(t *testing.T, dir string) { put(t, dir, "annotations/a.png", picture(t, image.NewGray(small), 1)) }, 0,
			"annotations/a.png has 512×500 pixels, the image 512×512"},
		{"an image that is none", func(t *testing.T, dir string) { put(t, dir, "images/a.png", "<html>") }, 0, "images/a.png: it is neither a JPEG nor a PNG picture"},
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

// Images behind those that are wanted need not be any.
func TestADE20KLooksAtTheImagesThatAreWanted(t *testing.T) {
	for _, file := range []string{"images/b.png", "annotations/b.png"} {
		dir := adeFolder(t)
		put(t, dir, file, "<html>")
		if d, err := OpenADE20K(dir, Options{Count: 1}); err != nil || d.Len() != 1 {
			t.Errorf("%s is none, the image before it: %v", file, err)
		}
		if _, err := OpenADE20K(dir, Options{Count: 2}); err == nil || !strings.Contains(err.Error(), "image b.png: ") {
			t.Errorf("%s is none: %v", file, err)
		}
	}
}

// Pictures are those that the pre-processing reads, which are more than image/jpeg does: CMYK of two ratios of
// sampling, and what lies behind long notes.
func TestSizesOfPicturesAreReadAsTheirPixelsAre(t *testing.T) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 37, 21)), nil); err != nil {
		t.Fatal(err)
	}
	plain := b.String()
	note := "\xff\xfe\xff\xff" + strings.Repeat("n", 0xffff-2)
	for name, c := range map[string]struct{ data, err string }{
		"a JPEG":                          {data: plain},
		"a JPEG behind long notes":        {data: plain[:2] + note + note + plain[2:]},
		"a PNG":                           {data: picture(t, image.NewGray(image.Rect(0, 0, 37, 21)), 1)},
		"a JPEG that ends before":         {data: plain[:100], err: "file ends before any image data"},
		"a JPEG that ends in a long note": {data: plain[:2] + note + note, err: "file ends before any image data"},
		"nothing":                         {err: "it is neither a JPEG nor a PNG picture"},
		"a PNG that ends before":          {data: "\x89PNG\r\n\x1a\n", err: "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "picture")
			put(t, filepath.Dir(path), "picture", c.data)
			size, err := pictureSize(path)
			switch {
			case c.err == "" && (err != nil || size != image.Pt(37, 21)):
				t.Errorf("pictureSize = %v, %v, want 37×21", size, err)
			case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.err)):
				t.Errorf("pictureSize = %v, %v, want %q", size, err, c.err)
			}
		})
	}
}

func TestMasksAreGreyOrHaveAPalette(t *testing.T) {
	dir := t.TempDir()
	palette := make(color.Palette, 151)
	for i := range palette {
		palette[i] = color.RGBA{uint8(255 - i), 3, 4, 255}
	}
	b := image.Rect(0, 0, 5, 3)
	for name, content := range map[string]string{"grey": picture(t, image.NewGray(b), 150), "palette": picture(t, image.NewPaletted(b, palette), 150)} {
		put(t, dir, name, content)
		if mask, err := readMask(filepath.Join(dir, name)); err != nil || mask.Width != 5 || !bytes.Equal(mask.Classes, bytes.Repeat([]byte{150}, 15)) {
			t.Errorf("%s: mask %v, %v", name, mask, err)
		}
	}
	put(t, dir, "colours", picture(t, image.NewRGBA(b), 1))
	if _, err := readMask(filepath.Join(dir, "colours")); err == nil || !strings.Contains(err.Error(), "its pixels are no classes") {
		t.Errorf("error %v", err)
	}
	huge := []byte(picture(t, image.NewGray(b), 1))
	copy(huge[16:], "\x00\x00\x40\x00\x00\x00\x20\x00") // width and height
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	put(t, dir, "huge", string(huge))
	if _, err := readMask(filepath.Join(dir, "huge")); err == nil || !strings.Contains(err.Error(), "claims 16384×8192 pixels, want at most 67108864") {
		t.Errorf("error %v", err)
	}
	put(t, dir, "cut", picture(t, image.NewGray(b), 1)[:50])
	if _, err := readMask(filepath.Join(dir, "cut")); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("error %v", err)
	}
	if _, err := readMask(filepath.Join(dir, "gone")); err == nil {
		t.Error("there is no such file")
	}
}

// jpegOf is a black picture.
func jpegOf(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
