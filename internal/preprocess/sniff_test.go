package preprocess

import (
	"strings"
	"testing"
)

// Files as they are met in the place of an image, by their first bytes.
func TestFilesAreKnownByTheirBeginning(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"JPEG of a camera", "\xFF\xD8\xFF\xE1\x12\x34Exif\x00\x00", "looks like a JPEG image"},
		{"PNG", "\x89PNG\r\n\x1A\n\x00\x00\x00\rIHDR", "looks like a PNG image"},
		{"PNG that was sent as text", "\x89PNG\n\x1A\n", "is of an unknown type (it begins with 89 50 4E 47 0A 1A 0A)"},
		{"GIF of 1987", "GIF87a", "looks like a GIF image"},
		{"Windows bitmap", "BM\x36\x00\x0C\x00", "looks like a BMP image"},
		{"WebP", "RIFF\x00\x00\x00\x00WEBPVP8L", "looks like a WebP image"},
		{"sound, which is RIFF too", "RIFF\x00\x00\x00\x00WAVEfmt ", "is of an unknown type (it begins with 52 49 46 46 00 00 00 00)"},
		{"TIFF of a PC", "II*\x00\x08\x00\x00\x00", "looks like a TIFF image"},
		{"TIFF of a Mac", "MM\x00*\x00\x00\x00\x08", "looks like a TIFF image"},
		{"AVIF", "\x00\x00\x00\x1Cftypavif\x00", "looks like an AVIF image"},
		{"photograph of a telephone", "\x00\x00\x00\x18ftypheic\x00", "looks like a HEIC image"},
		{"film", "\x00\x00\x00\x20ftypisom", "looks like an MP4 or HEIF file"},
		{"JPEG 2000", "\x00\x00\x00\x0CjP  \r\n\x87\n", "looks like a JPEG 2000 image"},
		{"JPEG 2000 without its box", "\xFF\x4F\xFF\x51\x00", "looks like a JPEG 2000 image"},
		{"icon", "\x00\x00\x01\x00\x01\x00", "looks like an ICO image"},
		{"array", "\x93NUMPY\x01\x00v\x00", "looks like a NumPy array"},
		{"packed file", "\x1F\x8B\x08\x00", "looks like a gzip archive"},
		{"archive", "PK\x03\x04\x14\x00", "looks like a zip archive"},
		{"document", "%PDF-1.7", "looks like a PDF document"},
		{"what git leaves of a large file", "version https://git-lfs.github.com/spec/v1", "is a Git LFS pointer, not the file itself"},
		{"Netpbm, colours as text", "P3\n2 2\n255\n", "looks like a PPM image"},
		{"Netpbm, grey", "P5 2 2 255\n", "looks like a PGM image"},
		{"Netpbm, colours", "P6 2 2 255\n", "looks like a PPM image"},
		{"page", "<!DOCTYPE html><html>", "looks like an HTML page"},
		{"page without a type", "<HTML lang=en>", "looks like an HTML page"},
		{"page with a byte order mark", "\xEF\xBB\xBF\r\n<!doctype HTML>", "looks like an HTML page"},
		{"error message of a store of objects", "<?xml version='1.0'?><Error><Code>AccessDenied", "looks like an XML or SVG document"},
		{"drawing", "\t<svg xmlns=", "looks like an XML or SVG document"},
		{"page behind half a kilobyte of nothing", strings.Repeat(" ", 512) + "<html>", "is of an unknown type (it begins with 20 20 20 20 20 20 20 20)"},
		{"one byte", "\xFF", "is of an unknown type (it begins with FF)"},
		{"beginning of a JPEG", "\xFF\xD8", "is of an unknown type (it begins with FF D8)"},
		{"nothing", "", "is empty"},
		{"zeros", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "is of an unknown type (it begins with 00 00 00 00 00 00 00 00)"},
	} {
		if got := sniff([]byte(c.data)); string(got) != c.want {
			t.Errorf("%s %s, want %s", c.name, got, c.want)
		}
	}
}

// A name does not count, nor does how much of a signature there is.
func TestHalfASignatureIsNone(t *testing.T) {
	for _, s := range signatures {
		for n := 1; n < len(s.prefix); n++ {
			if got := sniff([]byte(strings.ReplaceAll(s.prefix[:n], "?", "\x01"))); got == s.kind {
				t.Errorf("%d bytes of %q are enough: it %s", n, s.prefix, got)
			}
		}
		if got := sniff([]byte(strings.ReplaceAll(s.prefix, "?", "\x01"))); got != s.kind {
			t.Errorf("%q %s, want %s", s.prefix, got, s.kind)
		}
	}
}
