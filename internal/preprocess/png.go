package preprocess

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"slices"

	"github.com/mlperf-go/mlperf/internal/exif"
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
	orientation = 1
	seenEXIF := false
	const signature, overhead = 8, 12 // length, type and checksum of a chunk
	stripped = append(stripped, data[:signature]...)
	for rest := data[signature:]; ; {
		if len(rest) < overhead || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-overhead) {
			return nil, 0, errors.New("file is truncated")
		}
		size := overhead + int(binary.BigEndian.Uint32(rest))
		chunk := rest[:size]
		rest = rest[size:]
		name := string(chunk[4:8])
		switch {
		case slices.Contains([]string{"IHDR", "PLTE", "IDAT", "IEND"}, name):
			stripped = append(stripped, chunk...)
			if name == "IEND" {
				return stripped, orientation, nil
			}
		case name == "eXIf" && !seenEXIF && intact(chunk):
			seenEXIF = true
			orientation = orientationOf(chunk[8 : size-4])
		case name[0]&0x20 == 0: // PNG specification, 5.4: upper case is critical
			return nil, 0, fmt.Errorf("chunk type %q is not known", name)
		}
	}
}

// orientationOf reads an eXIf chunk. Unlike in JPEG files its header must be right.
func orientationOf(tiff []byte) int {
	if bytes.HasPrefix(tiff, []byte("II")) || bytes.HasPrefix(tiff, []byte("MM")) {
		return exif.Orientation(tiff)
	}
	return 1
}

func intact(chunk []byte) bool {
	n := len(chunk) - 4
	return crc32.ChecksumIEEE(chunk[4:n]) == binary.BigEndian.Uint32(chunk[n:])
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
		var rgb [3 * 256]byte
		for i, c := range m.Palette {
			v := color.NRGBAModel.Convert(c).(color.NRGBA)
			rgb[3*i], rgb[3*i+1], rgb[3*i+2] = v.R, v.G, v.B
		}
		for i, p := range m.Pix {
			copy(dst[3*i:3*i+3], rgb[3*int(p):])
		}
	default:
		return fmt.Errorf("decoding PNG: images of type %T are not expected", m)
	}
	return nil
}

// spread takes R, G and B from the given places of each pixel of so many bytes. Images
// fresh from the decoder have no gaps between rows.
func spread(dst, src []byte, size, r, g, b int) {
	for i := range len(dst) / 3 {
		p := src[size*i : size*i+size]
		dst[3*i], dst[3*i+1], dst[3*i+2] = p[r], p[g], p[b]
	}
}
