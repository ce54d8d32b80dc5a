package jpeg_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const samplings = int(jpeg.SamplingGray) + 1

func encodeJPEG(t *testing.T, img *jpeg.RGB, opts jpeg.EncodeOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestEncodedBytesDoNotChange(t *testing.T) {
	img := synth.NewScene(1).Render(101, 75)
	for _, c := range []struct {
		opts jpeg.EncodeOptions
		want string
	}{
		{jpeg.EncodeOptions{}, "bb63e8426c6ed03e280e824162405b58"},
		{jpeg.EncodeOptions{Quality: 95}, "3728b37acc77bef7260efe3f0c339e87"},
		{jpeg.EncodeOptions{Quality: 90, Sampling: jpeg.Sampling420}, "06b8029a4d49c0324f1a6002d7689b08"},
		{jpeg.EncodeOptions{Quality: 70, Sampling: jpeg.Sampling422, RestartInterval: 3}, "5668c2760a224ad56ebb4de7524e729d"},
		{jpeg.EncodeOptions{Quality: 30, Sampling: jpeg.Sampling440, Comment: "a comment"}, "0e4fab67559a4de2ab23933d2ef68870"},
		{jpeg.EncodeOptions{Quality: 85, Sampling: jpeg.SamplingGray, ExifOrientation: 6}, "6982ca0da9e3557e22d18df9ab499bd3"},
	} {
		if got := hashOf(encodeJPEG(t, img, c.opts)); got != c.want {
			t.Errorf("%+v: hash %s, want %s: if that is meant, raise FormatVersion", c.opts, got, c.want)
		}
	}
}

// The thresholds are a decibel below what this encoder reaches with these pictures.
func TestTheStandardLibraryReadsWhatWasWritten(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	least := map[int][samplings]float64{
		10:  {26, 25, 24, 25, 28},
		50:  {31.5, 29, 28, 30, 34},
		75:  {33.5, 31, 30, 32, 37},
		90:  {37.5, 33, 32, 35, 40},
		100: {47, 34.5, 33.5, 38, 57},
	}
	img := synth.NewScene(3).Render(301, 203) // sides that are no multiples of 16, nor of 8
	for quality, decibels := range least {
		for sampling := range jpeg.Sampling(samplings) {
			t.Run(fmt.Sprintf("quality %d, %v", quality, sampling), func(t *testing.T) {
				got := decodeJPEG(t, encodeJPEG(t, img, jpeg.EncodeOptions{Quality: quality, Sampling: sampling}))
				if got.Bounds() != img.Bounds() {
					t.Fatalf("the size is %v, want %v", got.Bounds(), img.Bounds())
				}
				if s := samplingOf(t, got); s != sampling {
					t.Errorf("the sampling is %v", s)
				}
				want := image.Image(img)
				if sampling == jpeg.SamplingGray {
					want = gray(img)
				}
				if p := psnr(t, got, want); p < decibels[sampling] {
					t.Errorf("PSNR = %.1f dB, want at least %v", p, decibels[sampling])
				}
			})
		}
	}
}

// The standard library's encoder has the same tables, and knows 4:2:0 and grey.
func TestFilesAreAsGoodAndAsSmallAsThoseOfTheStandardLibrary(t *testing.T) {
	img := synth.NewScene(3).Render(301, 203)
	for _, quality := range []int{10, 30, 50, 75, 90, 100} {
		for sampling, want := range map[jpeg.Sampling]image.Image{jpeg.Sampling420: img, jpeg.SamplingGray: gray(img)} {
			var theirs bytes.Buffer
			if err := stdjpeg.Encode(&theirs, want, &stdjpeg.Options{Quality: quality}); err != nil {
				t.Fatal(err)
			}
			ours := encodeJPEG(t, img, jpeg.EncodeOptions{Quality: quality, Sampling: sampling})
			p, q := psnr(t, decodeJPEG(t, ours), want), psnr(t, decodeJPEG(t, theirs.Bytes()), want)
			if p < q-0.1 {
				t.Errorf("quality %d, %v: PSNR = %.2f dB, theirs is %.2f", quality, sampling, p, q)
			}
			if float64(len(ours)) > 1.02*float64(theirs.Len()) {
				t.Errorf("quality %d, %v: %d bytes, theirs has %d", quality, sampling, len(ours), theirs.Len())
			}
		}
	}
}

func samplingOf(t *testing.T, img image.Image) jpeg.Sampling {
	switch img := img.(type) {
	case *image.Gray:
		return jpeg.SamplingGray
	case *image.YCbCr:
		for s, ratio := range map[jpeg.Sampling]image.YCbCrSubsampleRatio{
			jpeg.Sampling444: image.YCbCrSubsampleRatio444, jpeg.Sampling422: image.YCbCrSubsampleRatio422,
			jpeg.Sampling420: image.YCbCrSubsampleRatio420, jpeg.Sampling440: image.YCbCrSubsampleRatio440,
		} {
			if ratio == img.SubsampleRatio {
				return s
			}
		}
	}
	t.Fatalf("the standard library made a %T of the file", img)
	return 0
}

func TestPlainColoursSurvive(t *testing.T) {
	for _, c := range []color.NRGBA{
		{0, 0, 0, 255}, {255, 255, 255, 255}, {255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {120, 130, 140, 255},
	} {
		img := jpeg.NewRGB(37, 21)
		for i := range img.Pix {
			img.Pix[i] = []uint8{c.R, c.G, c.B}[i%3]
		}
		for sampling := range jpeg.SamplingGray {
			got := decodeJPEG(t, encodeJPEG(t, img, jpeg.EncodeOptions{Quality: 100, Sampling: sampling}))
			if d := distance(t, got, img); d > 1.3 {
				t.Errorf("%v of %v comes back %.1f levels away", sampling, c, d)
			}
		}
	}
}

// Colours are shared by neighbours, not by those beyond: of a picture whose colours change
// every two pixels nothing is lost.
func TestColourIsAveragedOverTheRightPixels(t *testing.T) {
	img := jpeg.NewRGB(48, 48)
	for y := range img.Height {
		for x := range img.Width {
			if (x/2+y/2)%2 == 0 {
				copy(img.Row(y)[3*x:], []uint8{160, 100, 90})
			} else {
				copy(img.Row(y)[3*x:], []uint8{90, 120, 160})
			}
		}
	}
	for sampling := range jpeg.SamplingGray {
		got := decodeJPEG(t, encodeJPEG(t, img, jpeg.EncodeOptions{Quality: 100, Sampling: sampling}))
		if d := distance(t, got, img); d > 2 {
			t.Errorf("%v comes back %.1f levels away", sampling, d)
		}
	}
}

func TestSizesDownToOnePixel(t *testing.T) {
	for _, size := range []image.Point{{1, 1}, {1, 40}, {40, 1}, {7, 9}, {8, 8}, {16, 16}, {17, 33}} {
		for sampling := range jpeg.Sampling(samplings) {
			img := synth.NewScene(2).Render(size.X, size.Y)
			got := decodeJPEG(t, encodeJPEG(t, img, jpeg.EncodeOptions{Quality: 95, Sampling: sampling}))
			if got.Bounds().Size() != size {
				t.Errorf("%v at %v has the size %v", sampling, size, got.Bounds().Size())
			}
		}
	}
}

func TestHarshPicturesAreNoProblem(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pictures := map[string]func(i int) uint8{
		"random bytes":      func(i int) uint8 { return uint8(rng.Uint32()) },
		"black and white":   func(i int) uint8 { return uint8(i / 3 % 2 * 255) },
		"a chequered board": func(i int) uint8 { return uint8((i/3 + i/3/64) % 2 * 255) },
	}
	for name, at := range pictures {
		img := jpeg.NewRGB(64, 64)
		for i := range img.Pix {
			img.Pix[i] = at(i)
		}
		got := decodeJPEG(t, encodeJPEG(t, img, jpeg.EncodeOptions{Quality: 100}))
		if p := psnr(t, got, img); p < 40 {
			t.Errorf("%s: PSNR = %.1f dB, want 40", name, p)
		}
	}
}

func TestStrideMayBeLargerThanTheRow(t *testing.T) {
	img := synth.NewScene(5).Render(40, 30)
	wide := &jpeg.RGB{Width: 40, Height: 30, Stride: 131}
	for y := range 30 {
		wide.Pix = append(wide.Pix, img.Row(y)...)
		if y < 29 { // the last row need not be filled up
			wide.Pix = append(wide.Pix, make([]uint8, 11)...)
		}
	}
	if !bytes.Equal(encodeJPEG(t, wide, jpeg.EncodeOptions{}), encodeJPEG(t, img, jpeg.EncodeOptions{})) {
		t.Error("the same pixels with another stride make another file")
	}
}

func TestAnEncoderKeepsNothingFromPictureToPicture(t *testing.T) {
	var e jpeg.Encoder
	for i, opts := range []jpeg.EncodeOptions{
		{Quality: 40, Sampling: jpeg.Sampling420, RestartInterval: 2}, {Quality: 95}, {Sampling: jpeg.SamplingGray},
		{Quality: 95, Sampling: jpeg.Sampling422}, {Sampling: jpeg.Sampling440}, {Sampling: jpeg.Sampling420}, {},
	} {
		img := synth.NewScene(uint64(i)).Render(90-10*i, 40+7*i)
		got, err := e.Append(nil, img, opts)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, encodeJPEG(t, img, opts)) {
			t.Errorf("picture %d differs from one made by a new encoder", i)
		}
	}
}

func TestRestartMarkersCountUp(t *testing.T) {
	img := synth.NewScene(6).Render(160, 80) // 10×5 MCUs at 4:2:0
	data := encodeJPEG(t, img, jpeg.EncodeOptions{Sampling: jpeg.Sampling420, RestartInterval: 4})
	var markers []byte
	for i := range data[:len(data)-1] {
		if b := data[i+1]; data[i] == 0xff && b >= 0xd0 && b <= 0xd7 {
			markers = append(markers, b-0xd0)
		}
	}
	if want := []byte{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}; !bytes.Equal(markers, want) {
		t.Errorf("restart markers %v, want %v", markers, want)
	}
	plain := encodeJPEG(t, img, jpeg.EncodeOptions{Sampling: jpeg.Sampling420})
	if d := distance(t, decodeJPEG(t, data), decodeJPEG(t, plain)); d != 0 {
		t.Errorf("with restart markers the picture differs by %.2f levels", d)
	}
}

func TestSegmentsAreWritten(t *testing.T) {
	img := synth.NewScene(6).Render(16, 16)
	exif := "\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		opts jpeg.EncodeOptions
		want string
	}{
		{jpeg.EncodeOptions{ExifOrientation: 6}, exif},
		{jpeg.EncodeOptions{Comment: "hello"}, "\xff\xfe\x00\x07hello"},
		{jpeg.EncodeOptions{RestartInterval: 258}, "\xff\xdd\x00\x04\x01\x02"},
		{jpeg.EncodeOptions{}, "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01"},
	} {
		data := encodeJPEG(t, img, c.opts)
		if !strings.Contains(string(data), c.want) {
			t.Errorf("%+v: there is no %q in the file", c.opts, c.want)
		}
		decodeJPEG(t, data)
	}
	if data := encodeJPEG(t, img, jpeg.EncodeOptions{}); strings.Contains(string(data), "Exif") || strings.Contains(string(data), "\xff\xdd") {
		t.Error("there are segments that were not asked for")
	}
}

func TestEncodeErrors(t *testing.T) {
	img := jpeg.NewRGB(8, 8)
	for _, c := range []struct {
		name string
		img  *jpeg.RGB
		opts jpeg.EncodeOptions
		want string
	}{
		{"quality above 100", img, jpeg.EncodeOptions{Quality: 101}, "the quality is 101, want 0 to 100"},
		{"negative quality", img, jpeg.EncodeOptions{Quality: -1}, "the quality is -1"},
		{"unknown sampling", img, jpeg.EncodeOptions{Sampling: 9}, "the sampling is 9"},
		{"orientation above 8", img, jpeg.EncodeOptions{ExifOrientation: 9}, "the orientation is 9"},
		{"long interval", img, jpeg.EncodeOptions{RestartInterval: 65536}, "the restart interval is 65536"},
		{"long comment", img, jpeg.EncodeOptions{Comment: strings.Repeat("x", 65534)}, "the length of the comment is 65534"},
		{"no pixels", jpeg.NewRGB(0, 8), jpeg.EncodeOptions{}, "the width is 0"},
		{"too wide", jpeg.NewRGB(65501, 1), jpeg.EncodeOptions{}, "the width is 65501, want 1 to 65500"},
		{"too high", &jpeg.RGB{Pix: make([]uint8, 3*65501), Stride: 3, Width: 1, Height: 65501}, jpeg.EncodeOptions{}, "the height is 65501, want 1 to 65500"},
		{"too few bytes", &jpeg.RGB{Pix: make([]uint8, 191), Stride: 24, Width: 8, Height: 8}, jpeg.EncodeOptions{}, "191 bytes with a stride of 24 are too few for 8×8 pixels"},
		{"stride below the row", &jpeg.RGB{Pix: make([]uint8, 999), Stride: 23, Width: 8, Height: 8}, jpeg.EncodeOptions{}, "stride of 23"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			wantError(t, jpeg.Encode(&b, c.img, c.opts), "encoding JPEG: ", c.want)
			if b.Len() > 0 {
				t.Errorf("%d bytes were written all the same", b.Len())
			}
		})
	}
	decodeJPEG(t, encodeJPEG(t, img, jpeg.EncodeOptions{Comment: strings.Repeat("x", 65533)}))
}

// A full disk, say.
type failingWriter struct{}

var errFull = errors.New("full")

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	if err := jpeg.Encode(failingWriter{}, jpeg.NewRGB(8, 8), jpeg.EncodeOptions{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the writer", err)
	}
}

// FuzzEncode makes pictures of any bytes and reads them back.
func FuzzEncode(f *testing.F) {
	f.Add([]byte("some pixels of a picture, or what else"), uint16(5), 90, 2, 1, 6, "comment")
	f.Add([]byte{0, 255, 255, 0}, uint16(17), 100, 0, 0, 0, "")
	f.Fuzz(func(t *testing.T, pix []byte, width uint16, quality, sampling, interval, orientation int, comment string) {
		w := int(width%300) + 1
		img := &jpeg.RGB{Pix: pix, Stride: 3 * w, Width: w, Height: len(pix) / (3 * w)}
		opts := jpeg.EncodeOptions{quality, jpeg.Sampling(sampling), interval, orientation, comment}
		var b bytes.Buffer
		if jpeg.Encode(&b, img, opts) != nil {
			return
		}
		got := decodeJPEG(t, b.Bytes())
		if got.Bounds() != img.Bounds() {
			t.Errorf("%v came back as %v", img.Bounds(), got.Bounds())
		}
		if s := samplingOf(t, got); s != opts.Sampling {
			t.Errorf("%v came back as %v", opts.Sampling, s)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	img := synth.NewScene(1).Render(500, 375)
	for sampling := range jpeg.SamplingGray + 1 {
		b.Run(sampling.String(), func(b *testing.B) {
			var e jpeg.Encoder
			var data []byte
			b.ReportAllocs()
			for b.Loop() {
				data, _ = e.Append(data[:0], img, jpeg.EncodeOptions{Quality: 90, Sampling: sampling})
			}
		})
	}
}
