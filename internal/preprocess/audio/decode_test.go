package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// chunk is one of a RIFF file, with the byte that makes its length even.
func chunk(kind string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data)))
	b = append(b, data...)
	return append(b, make([]byte, len(data)%2)...)
}

// format is what a WAV file says of its samples.
func format(kind, channels uint16, rate uint32, bits uint16, more ...byte) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, 2*rate)
	b = binary.LittleEndian.AppendUint16(b, 2)
	b = binary.LittleEndian.AppendUint16(b, bits)
	return append(b, more...)
}

func riff(chunks ...[]byte) []byte {
	return append([]byte("RIFF....WAVE"), slices.Concat(chunks...)...)
}

func TestWAVHasTheSamplesThatWentIn(t *testing.T) {
	data := []byte{0x00, 0x80, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00, 0xff, 0x7f}
	want := []float32{-1, -1.0 / 32768, 0, 1.0 / 32768, 32767.0 / 32768}
	plain := format(wavPCM, 1, Rate, 16)
	extensible := format(wavExtensible, 1, Rate, 16, 22, 0, 16, 0, 4, 0, 0, 0, wavPCM, 0, 0, 0, 0, 0, 0x10, 0)
	for claim, file := range map[string][]byte{
		"as it is":                              riff(chunk("fmt ", plain), chunk("data", data)),
		"with chunks of an odd length between":  riff(chunk("LIST", []byte("abc")), chunk("fmt ", plain), chunk("x   ", []byte{1}), chunk("data", data)),
		"with chunks behind":                    riff(chunk("fmt ", plain), chunk("data", data), chunk("LIST", []byte("abc"))),
		"with what is cut off behind":           append(riff(chunk("fmt ", plain), chunk("data", data)), "LIST\xff\xff\xff\xff"...),
		"with a size that was not known yet":    slices.Concat(riff(chunk("fmt ", plain)), []byte("data\xff\xff\xff\xff"), data),
		"of a format that is written at length": riff(chunk("fmt ", extensible), chunk("data", data)),
		"of a format with a size behind":        riff(chunk("fmt ", append(slices.Clone(plain), 0, 0)), chunk("data", data)),
	} {
		if got, err := Decode("x.wav", file); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", claim, got, err, want)
		}
	}
}

func TestFormatsOfWAVThatCannotBeUsed(t *testing.T) {
	floats := format(wavExtensible, 1, Rate, 16, 22, 0, 16, 0, 4, 0, 0, 0, 3, 0)
	for want, file := range map[string][]byte{
		"the format has 15 bytes, want at least 16":   riff(chunk("fmt ", format(wavPCM, 1, Rate, 16)[:15])),
		"kind 3 with 16 bits":                         riff(chunk("fmt ", floats)),
		"kind 65534 with 16 bits":                     riff(chunk("fmt ", floats[:25])),
		"the recording has 0 channels":                riff(chunk("fmt ", format(wavPCM, 0, Rate, 16))),
		"4294967295 samples a second, want 16000":     riff(chunk("fmt ", format(wavPCM, 1, math.MaxUint32, 16))),
		`chunk "fmt " at byte 12 has 16 bytes, but 7`: riff(chunk("fmt ", format(wavPCM, 1, Rate, 16))[:15]),
		"there is no chunk \"data\"":                  riff(chunk("fmt ", format(wavPCM, 1, Rate, 16)), []byte("data\x00\x00")),
		"no WAVE file":                                []byte("RIFF"),
	} {
		if _, err := Decode("x.wav", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// However the samples of FLAC are put into frames, and where the number of samples is not said.
func TestFLACOfAnyLength(t *testing.T) {
	for _, n := range []int{1, 15, 16, 4095, 4096, 4097, 8192} {
		in := tone(n)
		file := flacFile(t, Rate, in)
		unsaid := bytes.Clone(file)
		unsaid[21] &= 0xf0 // the last 36 bits before the checksum are the number of samples
		clear(unsaid[22:26])
		for claim, f := range map[string][]byte{"said": file, "not said": unsaid} {
			if got, err := Decode("x.flac", f); err != nil || len(got) != n || got[n-1] != float32(in[n-1])/32768 {
				t.Errorf("%d samples, a number that is %s: %d samples, %v", n, claim, len(got), err)
			}
		}
	}
}

func TestRowsOfFeaturesCoverTheRecording(t *testing.T) {
	for samples, want := range map[int]int{1: 1, hop: 1, hop + 1: 1, 3 * hop: 1, 3*hop + 1: 2, 6 * hop: 2, 16000: 34, 15 * Rate: 500} {
		if got := Rows(samples); got != want {
			t.Errorf("Rows(%d) = %d, want %d", samples, got, want)
		}
	}
}

// The scale is even in hertz below 1000, and goes up by the same ratio above.
func TestBandsAreSpacedAsSlaneyHasThem(t *testing.T) {
	for _, f := range []float64{0, 100, 999, 1000, 1001, 6400, 8000} {
		if got := melToHertz(hertzToMel(f)); math.Abs(got-f) > 1e-9 {
			t.Errorf("%v Hz come back as %v", f, got)
		}
	}
	if got := hertzToMel(6400) - hertzToMel(1000); math.Abs(got-27) > 1e-12 {
		t.Errorf("from 1000 to 6400 Hz there are %v mel, want 27", got)
	}
	last := 0.0
	for band := range bandCount {
		pitch := BandPitch(band, bandCount)
		if !(pitch > last && pitch < Rate/2) {
			t.Errorf("band %d is at %v Hz, the one before at %v", band, pitch, last)
		}
		last = pitch
	}
}

// A tone is loudest in the band that has its frequency, for both.
func TestAToneIsInItsBand(t *testing.T) {
	const bands = 80
	w, err := NewWhisper(bands)
	if err != nil {
		t.Fatal(err)
	}
	features := make([]float32, w.Len())
	for _, band := range []int{10, 40, 70} {
		pitch := BandPitch(band, bands)
		samples := make([]float32, Rate)
		for i := range samples {
			samples[i] = float32(0.5 * math.Sin(2*math.Pi*pitch*float64(i)/Rate))
		}
		if err := w.Features(features, samples); err != nil {
			t.Fatal(err)
		}
		column := make([]float32, bands)
		for i := range column {
			column[i] = features[i*WhisperFrames+50]
		}
		if loudest := slices.Index(column, slices.Max(column)); loudest < band-1 || loudest > band+1 {
			t.Errorf("Whisper hears %.0f Hz in band %d, want %d", pitch, loudest, band)
		}
		m := NewLogMel()
		m.logMel(samples)
		frame := m.logs[50*bands:][:bands]
		if loudest := slices.Index(frame, slices.Max(frame)); loudest < band-1 || loudest > band+1 {
			t.Errorf("RNN-T hears %.0f Hz in band %d, want %d", pitch, loudest, band)
		}
	}
}
