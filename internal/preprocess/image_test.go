package preprocess

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestDecodeErrors(t *testing.T) {
	png := testenv.Read(t, "testdata/png/png_61x43_rgb.png")
	huge := bytes.Clone(png)
	binary.BigEndian.PutUint32(huge[16:], 15000)
	binary.BigEndian.PutUint32(huge[20:], 15000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	var s Scratch
	for _, c := range []struct{ name, data, want string }{
		{"empty file", "", "file is empty, expected JPEG or PNG"},
		{"GIF", "GIF89a\x01\x00", `file is image/gif (begins with "GIF89a\x01\x00"): must be JPEG or PNG`},
		{"web page", "\n <!DOCTYPE HTML>\n<html>", "file is text/html"},
		{"NumPy array", "\x93NUMPY\x01\x00", `begins with "\x93NUMPY`},
		{"Git LFS pointer", "version https://git-lfs.github.com/spec/v1\n", `begins with "version https://git-lfs."`},
		{"two bytes of JPEG", "\xFF\xD8", "must be JPEG or PNG"},
		{"JPEG cut off in its headers", "\xFF\xD8\xFF\xE0\x00\x10JFIF", "decoding JPEG: marker FF E0: file ends before any image data"},
		{"JPEG cut off", string(testenv.Read(t, "jpeg/testdata/images/truncated_320x240_420.jpg")), "decoding JPEG: the image is damaged or cut off; fetch the file again"},
		{"PNG cut off", string(png[:len(png)/2]), "decoding PNG: png: invalid format"},
		{"PNG too large", string(huge), "decoding PNG: image of 15000×15000 pixels exceeds the limit"},
	} {
		if _, err := s.Decode([]byte(c.data)); !testenv.Names(err, c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	s.MaxPixels = 61*43 - 1
	for _, name := range []string{"testdata/png/png_61x43_rgb.png", "jpeg/testdata/images/text_97x131_440_q80.jpg"} {
		if _, err := s.Decode(testenv.Read(t, name)); err == nil || !strings.Contains(err.Error(), "2622 pixels") {
			t.Errorf("%s above the limit: error %v", name, err)
		}
	}
}

func TestTurn(t *testing.T) {
	// EXIF 2.3, tag 0x0112: where row 0 and column 0 of the stored image are in the viewed
	// one. The stored image is  ab
	//                           cd
	//                           ef
	stored := Image{Width: 2, Height: 3, Pix: []byte("aaabbbcccdddeeefff")}
	want := map[int][]string{
		2: {"ba", "dc", "fe"},
		3: {"fe", "dc", "ba"},
		4: {"ef", "cd", "ab"},
		5: {"ace", "bdf"},
		6: {"eca", "fdb"},
		7: {"fdb", "eca"},
		8: {"bdf", "ace"},
	}
	var s Scratch
	for o, rows := range want {
		img := s.turn(stored, o)
		var got []string
		for row := range slices.Chunk(img.Pix, 3*img.Width) {
			var line []byte
			for p := range slices.Chunk(row, 3) {
				line = append(line, p[0])
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, rows) || img.Height != len(rows) {
			t.Errorf("turn(%d) = %q, want %q", o, got, rows)
		}
	}
}

// oriented adds an EXIF orientation to a JPEG file.
func oriented(file []byte, orientation byte) []byte {
	app1 := "\xFF\xE1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(orientation) + "\x00\x00\x00\x00\x00\x00"
	return slices.Concat(file[:2], []byte(app1), file[2:])
}

// A part of the stored image is not that part of the image as seen.
func TestDecodePartOfOrientedImage(t *testing.T) {
	file := photo(t)
	corner := func(Size) image.Rectangle { return image.Rect(0, 0, 16, 16) }
	var upright Image
	for o := range byte(9) {
		want, err := new(Scratch).Decode(oriented(file, o))
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(Scratch).decode(oriented(file, o), true, corner)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Pix[:3*16], want.Pix[:3*16]) {
			t.Errorf("orientation %d: the first pixels are %v, want %v", o, got.Pix[:3*16], want.Pix[:3*16])
		}
		if as := new(Scratch); o <= 1 {
			upright = want
		} else if turned := as.turn(upright, int(o)); !bytes.Equal(want.Pix, turned.Pix) {
			t.Errorf("orientation %d: Decode gives %d×%d other pixels than turning the image", o, want.Width, want.Height)
		}
		stored, err := new(Scratch).decode(oriented(file, o), false, corner)
		if err != nil || stored.Width != 500 {
			t.Errorf("orientation %d, ignored: %d×%d pixels, %v", o, stored.Width, stored.Height, err)
		}
	}
}

// photo returns a JPEG file of 500×375 pixels, about 60 kB.
func photo(t testing.TB) []byte { return jpegOf(t, 500, 375) }

// jpegOf returns a JPEG file of gradients and noise as 4:2:0.
func jpegOf(t testing.TB, width, height int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			n := rng.IntN(24)
			m.SetRGBA(x, y, color.RGBA{uint8(x*2/5 + n), uint8(y*3/5 + n), uint8((x+y)/4 + n), 255})
		}
	}
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, m, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func FuzzDecode(f *testing.F) {
	f.Add(testenv.Read(f, "jpeg/testdata/images/exif6_400x300_420_q60.jpg"))
	for _, name := range []string{"gray1", "gray16", "interlaced", "palette4_trns", "rgb16", "rgba"} {
		f.Add(testenv.Read(f, "testdata/png/png_61x43_"+name+".png"))
	}
	s := Scratch{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := s.Decode(data)
		if err == nil && (img.Width < 1 || img.Height < 1 || len(img.Pix) != 3*img.Width*img.Height) {
			t.Fatalf("Decode gives %d×%d pixels with %d bytes", img.Width, img.Height, len(img.Pix))
		}
	})
}
