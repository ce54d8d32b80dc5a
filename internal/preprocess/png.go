package preprocess

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/preprocess/exif"
)

// decodePNG decodes a PNG file and returns its EXIF orientation too.
func (s *Scratch) decodePNG(data []byte) (Image, int, error) {
	stripped, orientation, err := stripPNG(data)
	if err != nil {
		return Image{}, 0, fmt.Errorf("decoding PNG: %w", err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(stripped))
	if err != nil {
		return Image{}, 0, fmt.Errorf("decoding PNG: %w", err)
	}
	if limit := s.maxPixels(); config.Width > limit/config.Height {
		return Image{}, 0, fmt.Errorf("decoding PNG: image of %d×%d pixels exceeds the limit of %d pixels",
			config.Width, config.Height, limit)
	}
	m, err := png.Decode(bytes.NewReader(stripped))
	if err != nil {
		return Image{}, 0, fmt.Errorf("decoding PNG: %w", err)
	}
	img := Image{Width: config.Width, Height: config.Height}
	s.pixels = resized(s.pixels, 3*img.Width*img.Height)
	img.Pix = s.pixels
	return img, orientation, writeRGB(img.Pix, m)
}

// stripPNG leaves the critical chunks only. What the others hold must not change the
// pixels (gamma, transparency), and like libpng we do not mind if they are damaged. The
// orientation is that of an eXIf chunk.
func stripPNG(data []byte) (stripped []byte, orientation int, err error) {
	const signature = 8
	p := pngChunks{kept: slices.Clone(data[:signature])}
	rest := data[signature:]
	for p.last != "IEND" {
		size, err := chunkSize(rest)
		if err != nil {
			return nil, 0, err
		}
		if err := p.add(string(rest[4:8]), rest[:size]); err != nil {
			return nil, 0, err
		}
		rest = rest[size:]
	}
	return p.kept, cmp.Or(p.orientation, 1), nil
}

// pngChunks are the chunks of a file as far as they have been looked at.
type pngChunks struct {
	kept        []byte // the critical ones
	header      bool   // IHDR was there
	last        string // name of the last one
	pixels      pixelChunks
	orientation int // of the first eXIf chunk; 0: none
}

// pixelChunks says where in a file its pixels are.
type pixelChunks uint8

const (
	pixelsToCome pixelChunks = iota
	pixelsHere
	pixelsOver // libpng does not look at what is apart from the first
)

// add takes the next chunk.
func (p *pngChunks) add(name string, chunk []byte) error {
	if err := p.checkName(name); err != nil {
		return err
	}
	p.last = name
	switch {
	case name == "IDAT" && p.pixels != pixelsOver:
		p.pixels = pixelsHere
		p.kept = append(p.kept, chunk...)
	case name != "IDAT" && p.pixels == pixelsHere:
		p.pixels = pixelsOver
	}
	switch name {
	case "IDAT":
	case "IHDR", "PLTE", "IEND":
		p.kept = append(p.kept, chunk...)
	case "eXIf":
		p.orientation = cmp.Or(p.orientation, orientationOf(chunk))
	}
	return nil
}

// known are the chunks that libpng 1.6 reads. Unlike those it does not know, they have to be behind the header.
var known = strings.Fields("PLTE IDAT IEND bKGD cHRM eXIf gAMA hIST iCCP iTXt oFFs pCAL pHYs sBIT sCAL sPLT sRGB tEXt tIME tRNS zTXt")

// checkName refuses what libpng refuses: names that are none, critical chunks that it does not know, and chunks that it knows
// before the header. (PNG specification, 5.4: upper case is critical.)
func (p *pngChunks) checkName(name string) error {
	isLetter := func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }
	foreign := name != "IHDR" && !slices.Contains(known, name)
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !isLetter(r) }):
		return fmt.Errorf("chunk type %q has other characters than letters", name)
	case foreign && name[0]&0x20 == 0:
		return fmt.Errorf("chunk type %q is not known", name)
	case !p.header && !foreign && name != "IHDR":
		return fmt.Errorf("chunk %q comes before IHDR", name)
	}
	p.header = p.header || name == "IHDR"
	return nil
}

// chunkSize is how many bytes the first chunk has, with its length, type and checksum.
func chunkSize(data []byte) (int, error) {
	const overhead = 12
	if len(data) < overhead || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-overhead) {
		return 0, errors.New("file is truncated")
	}
	return overhead + int(binary.BigEndian.Uint32(data)), nil
}

// orientationOf reads an eXIf chunk; 0 if it is damaged. Unlike in JPEG files its header must
// be right.
func orientationOf(chunk []byte) int {
	end := len(chunk) - 4
	tiff := chunk[8:end]
	switch {
	case crc32.ChecksumIEEE(chunk[4:end]) != binary.BigEndian.Uint32(chunk[end:]):
		return 0
	case bytes.HasPrefix(tiff, []byte("II")), bytes.HasPrefix(tiff, []byte("MM")):
		return exif.Orientation(tiff)
	}
	return 1
}

// writeRGB writes m to dst as OpenCV converts PNG images: 16 bits lose their lower
// eight, alpha is dropped without blending, grey is repeated.
func writeRGB(dst []byte, m image.Image) error {
	switch m := m.(type) {
	case *image.Gray:
		spread(dst, m.Pix, 1, 0, 0, 0)
	case *image.Gray16:
		spread(dst, m.Pix, 2, 0, 0, 0)
	case *image.RGBA:
		spread(dst, m.Pix, 4, 0, 1, 2)
	case *image.NRGBA:
		spread(dst, m.Pix, 4, 0, 1, 2)
	case *image.RGBA64:
		spread(dst, m.Pix, 8, 0, 2, 4)
	case *image.NRGBA64:
		spread(dst, m.Pix, 8, 0, 2, 4)
	case *image.Paletted:
		writePaletted(dst, m)
	default:
		return fmt.Errorf("decoding PNG: images of type %T are not expected", m)
	}
	return nil
}

func writePaletted(dst []byte, m *image.Paletted) {
	var rgb [3 * 256]byte
	for i, c := range m.Palette {
		v := color.NRGBAModel.Convert(c).(color.NRGBA)
		rgb[3*i], rgb[3*i+1], rgb[3*i+2] = v.R, v.G, v.B
	}
	for i, p := range m.Pix {
		copy(dst[3*i:3*i+3], rgb[3*int(p):])
	}
}

// spread takes R, G and B from the given places of each pixel of so many bytes. Images
// fresh from the decoder have no gaps between rows.
func spread(dst, src []byte, size, r, g, b int) {
	for i := range len(dst) / 3 {
		p := src[size*i : size*i+size]
		dst[3*i], dst[3*i+1], dst[3*i+2] = p[r], p[g], p[b]
	}
}
