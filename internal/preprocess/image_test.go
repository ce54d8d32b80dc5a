package preprocess

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestDecodeNamesWhatAFileIsInstead(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"nothing", "", "file is empty"},
		{"a GIF image", "GIF89a\x01\x00", "GIF image"},
		{"a BMP image", "BM\x36\x00", "BMP image"},
		{"a WebP image", "RIFF\x24\x00\x00\x00WEBPVP8 ", "WebP image"},
		{"a TIFF image", "II*\x00\x08\x00\x00\x00", "TIFF image"},
		{"an AVIF image", "\x00\x00\x00\x20ftypavif", "AVIF image"},
		{"an HTML page", "\n <!DOCTYPE HTML>\n<html>", "HTML page"},
		{"an XML error message", "<?xml version=\"1.0\"?><Error>", "XML or SVG document"},
		{"a zip archive", "PK\x03\x04\x14\x00", "zip archive"},
		{"a NumPy array", "\x93NUMPY\x01\x00", "NumPy array"},
		{"a pointer of Git LFS", "version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"},
		{"text", "hello, world", "unknown type (it begins with 68 65 6C 6C 6F 2C 20 77)"},
		{"a JPEG image without its third byte", "\xFF\xD8\x00\xE0", "unknown type"},
	}
	var s Scratch
	for _, tt := range tests {
		_, err := s.Decode([]byte(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasSuffix(err.Error(), "want JPEG or PNG") {
			t.Errorf("Decode of %s fails with %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestDecodeSaysWhatIsWrongWithAnImage(t *testing.T) {
	png := read(t, "testdata/png/png_61x43_rgb.png")
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"a JPEG file cut off in its headers", []byte("\xFF\xD8\xFF\xE0\x00\x10JFIF"), "decoding JPEG: file ends before any image data"},
		{"a PNG file cut off", png[:len(png)/2], "decoding PNG: file is truncated"},
		{"a PNG file without image data", pngFile(ihdr(3, 2, 8, 2), chunk("IEND", "")), "decoding PNG: png: "},
		{"a PNG file too large", pngFile(ihdr(15000, 15000, 8, 2), chunk("IDAT", ""), chunk("IEND", "")), "exceeds the limit"},
	}
	var s Scratch
	for _, tt := range tests {
		if _, err := s.Decode(tt.data); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Decode of %s fails with %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	s.MaxPixels = 61*43 - 1
	if _, err := s.Decode(png); err == nil {
		t.Error("Decode of a PNG file above the limit does not fail")
	}
}

func pngFile(chunks ...string) []byte {
	return []byte("\x89PNG\r\n\x1A\n" + strings.Join(chunks, ""))
}

func chunk(name, data string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(b, name+data...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:])))
}

func ihdr(width, height uint32, depth, colorType byte) string {
	b := binary.BigEndian.AppendUint32(nil, width)
	b = binary.BigEndian.AppendUint32(b, height)
	return chunk("IHDR", string(append(b, depth, colorType, 0, 0, 0)))
}

func idat(rows string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write([]byte(rows))
	w.Close()
	return chunk("IDAT", b.String())
}

// What OpenCV 4.6.0 with libpng 1.6.39 makes of these files was found by trying.
func TestDecodeTreatsUnusualPNGLikeOpenCV(t *testing.T) {
	header, data, end := ihdr(2, 1, 8, 2), idat("\x00abcdef"), chunk("IEND", "")
	data1, data2 := chunk("IDAT", data[8:12]), chunk("IDAT", data[12:len(data)-4])
	turned := string(tiff(binary.LittleEndian, 6))
	damage := func(chunk string) string { return chunk[:len(chunk)-1] + string(chunk[len(chunk)-1]^1) }
	upright := string(tiff(binary.LittleEndian, 1))
	tests := []struct {
		name   string
		chunks []string
		want   string // pixels, or none if the file is refused
		turned bool
	}{
		{"a plain file", []string{header, data, end}, "abcdef", false},
		{"orientation before the data", []string{header, chunk("eXIf", turned), data, end}, "abcdef", true},
		{"orientation behind the data", []string{header, data, chunk("eXIf", turned), end}, "abcdef", true},
		{"EXIF with the name it has in JPEG", []string{header, chunk("eXIf", "Exif\x00\x00"+turned), data, end}, "abcdef", false},
		{"damaged EXIF", []string{header, damage(chunk("eXIf", turned)), data, end}, "abcdef", false},
		{"EXIF twice", []string{header, chunk("eXIf", upright), chunk("eXIf", turned), data, end}, "abcdef", false},
		{"a damaged text chunk", []string{header, damage(chunk("tEXt", "a\x00b")), data, end}, "abcdef", false},
		{"gamma and transparency", []string{header, chunk("gAMA", "\x00\x01\x86\xA0"), chunk("tRNS", "\x00a\x00b\x00c"), data, end}, "abcdef", false},
		{"an unknown critical chunk", []string{header, chunk("ABCD", ""), data, end}, "", false},
		{"garbage behind the end", []string{header, data, end, "garbage"}, "abcdef", false},
		{"a missing end", []string{header, data}, "", false},
		{"a text before the header", []string{chunk("tEXt", "a\x00b"), header, data, end}, "", false},
		{"a chunk that nobody knows before the header", []string{chunk("vpAg", "xx"), header, data, end}, "abcdef", false},
		{"a critical chunk that nobody knows before the header", []string{chunk("CgBI", "xx"), header, data, end}, "", false},
		{"a name that is not of letters", []string{header, chunk("a1Cd", ""), data, end}, "", false},
		{"a name beside the letters", []string{header, chunk("a[Cd", ""), data, end}, "", false},
		{"a name whose third letter is small, which is reserved", []string{header, chunk("abcd", ""), data, end}, "abcdef", false},
		{"data before the header", []string{data, header, end}, "", false},
		{"data in two chunks", []string{header, data1, data2, end}, "abcdef", false},
		{"a text between the data", []string{header, data1, chunk("tEXt", "a\x00b"), data2, end}, "", false},
		{"empty data, a text and all data in two chunks", []string{header, chunk("IDAT", ""), chunk("tEXt", "a\x00b"), data1, data2, end}, "", false},
		{"more data behind a text", []string{header, data, chunk("tEXt", "a\x00b"), data, end}, "abcdef", false},
		{"a header cut off", []string{header[:20]}, "", false},
		{"a palette index too large", []string{ihdr(2, 1, 8, 3), chunk("PLTE", "abc"), idat("\x00\x00\x07"), end}, "abc\x00\x00\x00", false},
		{"a missing palette", []string{ihdr(2, 1, 8, 3), idat("\x00\x00\x00"), end}, "", false},
		{"16-bit grey and alpha", []string{ihdr(1, 1, 16, 4), idat("\x00a\xFF\x00\x00"), end}, "aaa", false},
	}
	var s Scratch
	for _, tt := range tests {
		img, err := s.Decode(pngFile(tt.chunks...))
		if (err == nil) != (tt.want != "") || string(img.Pix) != tt.want || tt.turned != (img.Width < img.Height) {
			t.Errorf("Decode of %s gives %d×%d %q, %v, want %q", tt.name, img.Width, img.Height, img.Pix, err, tt.want)
		}
	}
}

// tiff returns the least EXIF data with an orientation.
func tiff(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("II")
	if order.String() == "BigEndian" {
		b = []byte("MM")
	}
	b = order.AppendUint16(b, 42)
	b = order.AppendUint32(b, 8)
	for _, v := range []uint16{1, 0x0112, 3} {
		b = order.AppendUint16(b, v)
	}
	b = order.AppendUint32(b, 1)
	return order.AppendUint32(order.AppendUint16(b, orientation), 0)
}

func TestTurnMovesTheFirstPixelWhereTheOrientationSays(t *testing.T) {
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

// photo returns a JPEG file of gradients and noise, 500×375 pixels as 4:2:0, about
// 60 kB.
func photo(t testing.TB) []byte { return photoOf(t, 500, 375) }

func photoOf(t testing.TB, width, height int) []byte {
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
	f.Add(read(f, "jpeg/testdata/images/exif6_400x300_420_q60.jpg"))
	for _, name := range []string{"gray1", "gray16", "interlaced", "palette4_trns", "rgb16", "rgba"} {
		f.Add(read(f, fmt.Sprintf("testdata/png/png_61x43_%s.png", name)))
	}
	f.Add(pngFile(ihdr(2, 1, 8, 2), chunk("eXIf", string(tiff(binary.BigEndian, 6))), idat("\x00abcdef"), chunk("IEND", "")))
	f.Add([]byte("<html>"))
	s := Scratch{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := s.Decode(data)
		if err == nil && (img.Width < 1 || img.Height < 1 || len(img.Pix) != 3*img.Width*img.Height) {
			t.Fatalf("Decode gives %d×%d pixels with %d bytes", img.Width, img.Height, len(img.Pix))
		}
	})
}
