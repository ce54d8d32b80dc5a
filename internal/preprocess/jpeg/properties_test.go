package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// ours encodes noise of sides up to so many pixels in all the ways that Encode has, drawn at random.
func ours(t testing.TB, rng *rand.Rand, side int) []byte {
	t.Helper()
	img := NewRGB(1+rng.IntN(side), 1+rng.IntN(side))
	for i := range img.Pix {
		img.Pix[i] = uint8(i*rng.IntN(3) + rng.IntN(40))
	}
	opts := EncodeOptions{
		Quality: 1 + rng.IntN(100), Sampling: Sampling(rng.IntN(int(samplings))), RestartInterval: rng.IntN(4), ExifOrientation: rng.IntN(9),
		Comment: strings.Repeat("c", rng.IntN(3)),
	}
	var file bytes.Buffer
	if err := Encode(&file, img, opts); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestTheBeginningOfAFileHasThePixelsThatAreThere cuts files off everywhere: they are refused before the first scan, and
// behind that damaged. The first file that is whole is the whole one, less its last marker.
func TestTheBeginningOfAFileHasThePixelsThatAreThere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var d Decoder
	for range 8 {
		file := ours(t, rng, 24)
		want, err := d.Decode(file, nil)
		if err != nil || want.Damaged {
			t.Fatalf("damaged: %v, %v", want.Damaged, err)
		}
		scan := bytes.Index(file, []byte{0xff, markerSOS}) + 5 + 2*want.Components // of its header; the rest is the same in all
		same := 0                                                                  // rows of pixels as in the whole file
		for n := range file {
			got, err := d.Decode(file[:n], nil)
			if n < scan {
				if err == nil {
					t.Fatalf("the first %d bytes of a file whose scan begins at %d are a picture", n, scan)
				}
				continue
			}
			if err != nil {
				t.Fatalf("the first %d bytes: %v", n, err)
			}
			if now := equalRows(got, want); now >= same {
				same = now
			} else {
				t.Fatalf("the first %d bytes have %d rows of the picture, where less of them had %d", n, now, same)
			}
			if whole := n >= len(file)-2; got.Damaged == whole || whole && same != want.Height {
				t.Fatalf("the first %d of %d bytes: damaged is %v, %d rows of %d", n, len(file), got.Damaged, same, want.Height)
			}
		}
	}
}

// equalRows counts the rows from the top on that two pictures have in common.
func equalRows(a, b Image) int {
	row := 3 * a.Width
	for y := range a.Height {
		if !bytes.Equal(a.Pix[y*row:][:row], b.Pix[y*row:][:row]) {
			return y
		}
	}
	return a.Height
}

func TestRestartMarkersChangeNoPixel(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for sampling := range samplings {
		img := NewRGB(70, 45)
		for i := range img.Pix {
			img.Pix[i] = uint8(rng.IntN(256))
		}
		var want []byte
		for _, interval := range []int{0, 1, 2, 3, 7, 8, 9, 100, 65535} {
			var file bytes.Buffer
			if err := Encode(&file, img, EncodeOptions{Sampling: sampling, RestartInterval: interval}); err != nil {
				t.Fatal(err)
			}
			got, err := new(Decoder).Decode(file.Bytes(), nil)
			if err != nil || got.Damaged {
				t.Fatalf("%v, markers each %d MCUs: damaged %v, %v", sampling, interval, got.Damaged, err)
			}
			if want == nil {
				want = got.Pix
			}
			if !bytes.Equal(got.Pix, want) {
				t.Errorf("%v, markers each %d MCUs: other pixels than without", sampling, interval)
			}
		}
	}
}

// TestTheLastBlockIsCodedAsAnyOther encodes noise, and the same with more of it below: coded bits must not change where the
// scan ends behind them.
func TestTheLastBlockIsCodedAsAnyOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		long := NewRGB(8, 16)
		for i := range long.Pix {
			long.Pix[i] = uint8(rng.IntN(256))
		}
		short := &RGB{Pix: long.Pix, Stride: long.Stride, Width: 8, Height: 8}
		var pixels [2][]byte
		for i, img := range []*RGB{short, long} {
			var file bytes.Buffer
			if err := Encode(&file, img, EncodeOptions{Quality: 95}); err != nil {
				t.Fatal(err)
			}
			got, err := new(Decoder).Decode(file.Bytes(), nil)
			if err != nil || got.Damaged {
				t.Fatalf("damaged: %v, %v", got.Damaged, err)
			}
			pixels[i] = got.Pix
		}
		if !bytes.Equal(pixels[0], pixels[1][:len(pixels[0])]) {
			t.Fatal("the upper eight rows are others where nothing is below them")
		}
	}
}

// TestALostMarkerCostsItsIntervalOnly takes coded bytes out of one interval, which leaves the others as they were.
func TestALostMarkerCostsItsIntervalOnly(t *testing.T) {
	img := NewRGB(64, 64) // 8 rows of 8 MCUs
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range img.Pix {
		img.Pix[i] = uint8(rng.IntN(256))
	}
	var file bytes.Buffer
	if err := Encode(&file, img, EncodeOptions{RestartInterval: 8}); err != nil {
		t.Fatal(err)
	}
	want, err := new(Decoder).Decode(file.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for lost := range 6 {
		first := bytes.Index(file.Bytes(), []byte{0xff, byte(markerRST0 + lost)})
		second := bytes.Index(file.Bytes(), []byte{0xff, byte(markerRST0 + lost + 1)})
		spoilt := slices.Concat(file.Bytes()[:first+2], file.Bytes()[(first+second)/2:])
		got, err := new(Decoder).Decode(spoilt, nil)
		if err != nil || !got.Damaged {
			t.Fatalf("interval %d: damaged %v, %v", lost+1, got.Damaged, err)
		}
		const interval = 3 * 64 * 8 // bytes of pixels
		for i := range 8 {
			same := bytes.Equal(got.Pix[i*interval:][:interval], want.Pix[i*interval:][:interval])
			if same != (i != lost+1) {
				t.Errorf("half of interval %d is lost: interval %d is the same: %v", lost+1, i, same)
			}
		}
	}
}

// TestNotesMayBeAnywhereBeforeTheScan inserts segments that say nothing between all others.
func TestNotesMayBeAnywhereBeforeTheScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		file := ours(t, rng, 50)
		want, err := new(Decoder).Decode(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		for at := 2; file[at+1] != markerSOS; at += 2 + int(file[at+2])<<8 + int(file[at+3]) {
			marker := []byte{markerCOM, markerAPP0 + 2, markerAPP0 + 13, markerAPP15}[rng.IntN(4)]
			note := append([]byte{0xff, marker, 0, 12}, "0123456789"...)
			got, err := new(Decoder).Decode(slices.Concat(file[:at], note, file[at:]), nil)
			if err != nil || got.Damaged || got.Config != want.Config || !bytes.Equal(got.Pix, want.Pix) {
				t.Errorf("FF %02X at byte %d: %+v, damaged %v, %v, want %+v", marker, at, got.Config, got.Damaged, err, want.Config)
			}
		}
	}
}

// TestAConfigIsThatOfThePicture compares the headers alone with all of the file.
func TestAConfigIsThatOfThePicture(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 50 {
		file := ours(t, rng, 50)
		img, err := new(Decoder).Decode(file, nil)
		config, err2 := DecodeConfig(file)
		if err != nil || err2 != nil || config != img.Config || len(img.Pix) != 3*config.Width*config.Height {
			t.Errorf("DecodeConfig = %+v, %v; Decode = %+v of %d bytes, %v", config, err2, img.Config, len(img.Pix), err)
		}
	}
	for _, data := range [][]byte{nil, []byte("\xff"), []byte("\xff\xd8"), []byte("no picture")} {
		if c, err := DecodeConfig(data); err == nil || c != (Config{}) {
			t.Errorf("DecodeConfig(%q) = %+v, %v", data, c, err)
		}
	}
}

// TestPixelsGoIntoTheMemoryThatIsThere looks at whose memory a picture has.
func TestPixelsGoIntoTheMemoryThatIsThere(t *testing.T) {
	file := encode(t, 20, 10, 80)
	for _, c := range []struct {
		memory int
		used   bool
	}{{0, false}, {599, false}, {600, true}, {1000, true}} {
		memory := make([]byte, c.memory)
		img, err := new(Decoder).Decode(file, memory)
		if err != nil || len(img.Pix) != 600 {
			t.Fatalf("%d bytes, %v", len(img.Pix), err)
		}
		if used := c.memory > 0 && &img.Pix[0] == &memory[0]; used != c.used {
			t.Errorf("memory of %d bytes is used for 600: %v, want %v", c.memory, used, c.used)
		}
	}
}

func TestNamesOfSamplingsAndColourModels(t *testing.T) {
	var names []string
	for s := range samplings + 1 {
		names = append(names, s.String())
	}
	for m := range ycckModel + 2 {
		names = append(names, m.String())
	}
	want := []string{"4:4:4", "4:2:2", "4:2:0", "4:4:0", "gray", "Sampling(5)", "gray", "YCbCr", "RGB", "CMYK", "YCCK", "colorModel(5)"}
	if !slices.Equal(names, want) {
		t.Errorf("names are %q, want %q", names, want)
	}
}

func TestAnRGBIsAnImage(t *testing.T) {
	m := NewRGB(3, 2)
	for i := range m.Pix {
		m.Pix[i] = uint8(10 * i)
	}
	var _ image.Image = m
	if m.Bounds() != image.Rect(0, 0, 3, 2) || m.ColorModel() != color.NRGBAModel || len(m.Row(1)) != 9 || m.Row(1)[0] != 90 {
		t.Errorf("%v of %v, its second row is %v", m.Bounds(), m.ColorModel(), m.Row(1))
	}
	for at, want := range map[image.Point]color.Color{
		{0, 0}: color.NRGBA{0, 10, 20, 255}, {2, 1}: color.NRGBA{150, 160, 170, 255}, {3, 0}: color.NRGBA{}, {0, 2}: color.NRGBA{}, {-1, 0}: color.NRGBA{}, {0, -1}: color.NRGBA{},
	} {
		if got := m.At(at.X, at.Y); got != want {
			t.Errorf("the pixel at %v is %v, want %v", at, got, want)
		}
	}
	memory := &m.Pix[0]
	if m.Resize(2, 3); &m.Pix[0] != memory || m.Stride != 6 || m.Bounds() != image.Rect(0, 0, 2, 3) {
		t.Errorf("a picture of as many pixels has %v, a stride of %d and other memory: %v", m.Bounds(), m.Stride, &m.Pix[0] != memory)
	}
	if m.Resize(4, 4); len(m.Pix) != 48 {
		t.Errorf("16 pixels have %d bytes", len(m.Pix))
	}
	if empty := NewRGB(-1, 5); empty.Width != 0 || empty.Height != 5 || len(empty.Pix) != 0 {
		t.Errorf("a picture of -1×5 pixels is %+v", empty)
	}
}

// A limitedWriter takes so many bytes.
type limitedWriter struct{ left int }

var errFilled = errors.New("no space left")

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return w.left, errFilled
	}
	w.left -= len(p)
	return len(p), nil
}

func TestNoFileIsWrittenOfAPictureThatCannotBe(t *testing.T) {
	for _, img := range []*RGB{NewRGB(0, 5), NewRGB(5, 0), {Width: 2, Height: 2, Stride: 5, Pix: make([]byte, 12)}, {Width: 2, Height: 2, Stride: 6, Pix: make([]byte, 11)}} {
		w := &limitedWriter{1 << 20}
		if err := Encode(w, img, EncodeOptions{}); err == nil || w.left != 1<<20 {
			t.Errorf("%d×%d pixels with %d bytes: %v, and %d bytes were written", img.Width, img.Height, len(img.Pix), err, 1<<20-w.left)
		}
	}
	if err := Encode(&limitedWriter{100}, NewRGB(9, 9), EncodeOptions{}); !errors.Is(err, errFilled) {
		t.Errorf("on a full disk: %v", err)
	}
	if err := Encode(io.Discard, NewRGB(9, 9), EncodeOptions{Sampling: samplings}); err == nil || err.Error() != "encoding JPEG: the sampling is 5, want 0 to 4" {
		t.Errorf("a sampling too many: %v", err)
	}
}

func ExampleDecoder_Decode() {
	var file bytes.Buffer
	if err := Encode(&file, NewRGB(40, 30), EncodeOptions{Quality: 90, Sampling: Sampling420, ExifOrientation: 6}); err != nil {
		panic(err)
	}
	var d Decoder
	img, err := d.Decode(file.Bytes(), nil)
	fmt.Println(img.Width, img.Height, img.Orientation, len(img.Pix), img.Damaged, err)

	img, err = d.Decode(file.Bytes()[:file.Len()-20], img.Pix) // which is cut off
	fmt.Println(img.Width, img.Height, img.Damaged, err)

	_, err = d.Decode(file.Bytes()[:100], nil)
	fmt.Println(err)
	// Output:
	// 40 30 6 3600 false <nil>
	// 40 30 true <nil>
	// file ends before any image data
}

func ExampleDecodeConfig() {
	var file bytes.Buffer
	if err := Encode(&file, NewRGB(640, 480), EncodeOptions{Sampling: SamplingGray}); err != nil {
		panic(err)
	}
	c, err := DecodeConfig(file.Bytes())
	fmt.Println(c.Width, c.Height, c.Components, c.Progressive, c.Orientation, err)
	// Output: 640 480 1 false 1 <nil>
}
