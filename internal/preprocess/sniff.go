package preprocess

import (
	"bytes"
	"fmt"
	"strings"
)

// A kind says, as the predicate of a sentence about a file, what its content is.
type kind string

const (
	kindJPEG kind = "looks like a JPEG image"
	kindPNG  kind = "looks like a PNG image"
)

// signatures are the first bytes of what may be found in place of an image; a '?'
// stands for any byte.
var signatures = []struct {
	prefix string
	kind   kind
}{
	{"\xFF\xD8\xFF", kindJPEG}, // as OpenCV asks for
	{"\x89PNG\r\n\x1A\n", kindPNG},
	{"GIF8", "looks like a GIF image"},
	{"BM", "looks like a BMP image"},
	{"RIFF????WEBP", "looks like a WebP image"},
	{"II*\x00", "looks like a TIFF image"},
	{"MM\x00*", "looks like a TIFF image"},
	{"????ftypavif", "looks like an AVIF image"},
	{"????ftyphei", "looks like a HEIC image"},
	{"????ftyp", "looks like an MP4 or HEIF file"},
	{"\x00\x00\x00\x0CjP  ", "looks like a JPEG 2000 image"},
	{"\xFF\x4F\xFF\x51", "looks like a JPEG 2000 image"},
	{"\x00\x00\x01\x00", "looks like an ICO image"},
	{"\x93NUMPY", "looks like a NumPy array"},
	{"\x1F\x8B", "looks like a gzip archive"},
	{"PK\x03\x04", "looks like a zip archive"},
	{"%PDF-", "looks like a PDF document"},
	{"version https://git-lfs", "is a Git LFS pointer, not the file itself"},
	{"P3", "looks like a PPM image"},
	{"P5", "looks like a PGM image"},
	{"P6", "looks like a PPM image"},
}

// documents are text, of which neither capitals nor blanks at the beginning count.
var documents = []struct {
	prefix string
	kind   kind
}{
	{"<!doctype html", "looks like an HTML page"}, {"<html", "looks like an HTML page"},
	{"<svg", "looks like an XML or SVG document"}, {"<?xml", "looks like an XML or SVG document"},
}

// sniff tells the kind of a file by its content.
func sniff(data []byte) kind {
	if len(data) == 0 {
		return "is empty"
	}
	for _, s := range signatures {
		if hasPrefix(data, s.prefix) {
			return s.kind
		}
	}
	head := strings.ToLower(string(bytes.TrimLeft(data[:min(len(data), 512)], "\xEF\xBB\xBF \t\r\n")))
	for _, s := range documents {
		if strings.HasPrefix(head, s.prefix) {
			return s.kind
		}
	}
	return kind(fmt.Sprintf("is of an unknown type (it begins with % X)", data[:min(len(data), 8)]))
}

func hasPrefix(data []byte, prefix string) bool {
	if len(data) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if prefix[i] != '?' && prefix[i] != data[i] {
			return false
		}
	}
	return true
}
