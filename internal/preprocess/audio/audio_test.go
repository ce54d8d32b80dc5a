package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func golden(t testing.TB, name string) (tensor.Shape, []float32) {
	t.Helper()
	r, err := npy.NewReader(bytes.NewReader(testenv.Read(t, filepath.Join("testdata", name+".npy.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	v := tensor.New(r.Type, r.Shape...)
	if err := r.Read(v); err != nil {
		t.Fatal(err)
	}
	return v.Shape, tensor.Data[float32](v)
}

func recording(t testing.TB, name string) []float32 {
	t.Helper()
	samples, err := Decode(name, testenv.Read(t, filepath.Join("testdata", name+".wav")))
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

func TestBandsEqualLibrosa(t *testing.T) {
	shape, want := golden(t, "mel_rnnt_80x257")
	for i, b := range melBands(bandCount, transform, Rate, Rate/2) {
		row := want[int64(i)*shape[1]:][:shape[1]]
		for bin, weight := range row {
			got := 0.0
			if k := bin - b.first; k >= 0 && k < len(b.weights) {
				got = b.weights[k]
			}
			if math.Abs(got-float64(weight)) > 1e-7 {
				t.Fatalf("band %d, bin %d: %v, want %v", i, bin, got, weight)
			}
		}
	}
}

func TestFeaturesEqualTheReference(t *testing.T) {
	for _, name := range []string{"speechlike_1730ms", "chirp_905ms"} {
		samples := recording(t, name)
		m := NewLogMel()
		got, err := m.Features(nil, samples)
		if err != nil {
			t.Fatal(err)
		}
		shape, want := golden(t, name+".rnnt")
		rows := int(shape[1])
		if len(got) != rows*Features || Rows(len(samples)) != rows || shape[0] != Features {
			t.Fatalf("%s: %d numbers, want %v", name, len(got), shape)
		}
		far := 0
		for row := range rows {
			for k := range Features {
				d := math.Abs(float64(got[row*Features+k] - want[k*rows+row]))
				if d > 2e-3 {
					t.Fatalf("%s: row %d, feature %d: %v, want %v", name, row, k, got[row*Features+k], want[k*rows+row])
				}
				if d > 1e-4 {
					far++
				}
			}
		}
		if far > len(got)/200 {
			t.Errorf("%s: %d of %d features are more than 1e-4 off", name, far, len(got))
		}
		again, err := m.Features(got[:0:0], samples)
		if err != nil || !slices.Equal(got, again) {
			t.Errorf("%s: other features the second time, %v", name, err)
		}
	}
}

func TestLogMelEqualsTheReference(t *testing.T) {
	for _, name := range []string{"speechlike_1730ms", "chirp_905ms"} {
		m := NewLogMel()
		m.logMel(recording(t, name))
		shape, want := golden(t, name+".rnnt_logmel")
		frames := int(shape[1])
		for frame := range frames {
			for k := range bandCount {
				if got := m.logs[frame*bandCount+k]; math.Abs(got-float64(want[k*frames+frame])) > 2e-3 {
					t.Fatalf("%s: frame %d, band %d: %v, want %v", name, frame, k, got, want[k*frames+frame])
				}
			}
		}
	}
}

func TestShortRecordings(t *testing.T) {
	if _, err := NewLogMel().Features(nil, make([]float32, MinSamples-1)); !testenv.Names(err, "256 samples … 257") {
		t.Errorf("features of 256 samples: error %v", err)
	}
	for samples, rows := range map[int]int{MinSamples: 1, 3 * hop: 1, 3*hop + 1: 2, 6 * hop: 2} {
		got, err := NewLogMel().Features(nil, recording(t, "chirp_905ms")[:samples])
		if err != nil || len(got) != rows*Features || Rows(samples) != rows {
			t.Errorf("%d samples: %d features and %d rows, %v, want %d rows", samples, len(got), Rows(samples), err, rows)
		}
		if rows == 1 && slices.ContainsFunc(got, func(v float32) bool { return v != 0 }) {
			t.Errorf("%d samples: a single row is %v, want zeros", samples, got)
		}
	}
}

func TestWhisperEqualsScipy(t *testing.T) {
	samples := recording(t, "chirp_905ms")
	for _, bands := range []int{80, 128} {
		shape, want := golden(t, fmt.Sprintf("whisper_%d", bands))
		w := NewWhisper(bands)
		got := make([]float32, w.Len())
		for range 2 { // the second time with memory that was used
			if err := w.Features(got, samples); err != nil {
				t.Fatal(err)
			}
		}
		columns := int(shape[1])
		for i, v := range want {
			column := i % columns
			if column == columns-1 {
				column = WhisperFrames - 1
			}
			if have := got[i/columns*WhisperFrames+column]; math.Abs(float64(have-v)) > 2e-6 {
				t.Fatalf("%d bands: band %d, column %d is %v, want %v", bands, i/columns, column, have, v)
			}
		}
	}
}

// A click near an end is in the frames there twice: as it is, and reflected.
func TestWhisperReflectsBothEnds(t *testing.T) {
	w := NewWhisper(80)
	features := func(column int, clicks ...int) []float32 {
		samples := make([]float32, WhisperSamples)
		for _, at := range clicks {
			samples[at] = 1
		}
		dst := make([]float32, w.Len())
		if err := w.Features(dst, samples); err != nil {
			t.Fatal(err)
		}
		var values []float32
		for band := range 80 {
			values = append(values, dst[band*WhisperFrames+column])
		}
		return values
	}
	// The frame in the middle with two clicks has what that at the end has with one.
	const middle = WhisperFrames / 2
	for _, c := range []struct{ column, click, reflected int }{{0, 30, -30}, {1, 25, -25}, {WhisperFrames - 1, WhisperSamples - 30, WhisperSamples + 28}} {
		shift := (middle - c.column) * hop
		got, want := features(c.column, c.click), features(middle, c.click+shift, c.reflected+shift)
		for band := range got {
			if math.Abs(float64(got[band]-want[band])) > 1e-5 {
				t.Errorf("a click at %d: column %d, band %d is %v, want %v", c.click, c.column, band, got[band], want[band])
			}
		}
	}
}

func TestWhisperRefusesLengths(t *testing.T) {
	w := NewWhisper(80)
	for _, n := range []int{0, WhisperSamples + 1} {
		if err := w.Features(make([]float32, w.Len()), make([]float32, n)); !testenv.Names(err, "1 … 480000") {
			t.Errorf("a recording of %d samples: error %v", n, err)
		}
	}
}

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

// flacFile is a FLAC file with samples as they are.
func flacFile(t testing.TB, rate uint32, samples []int32) []byte {
	t.Helper()
	var b bytes.Buffer
	info := &meta.StreamInfo{BlockSizeMin: 16, BlockSizeMax: 65535, SampleRate: rate, NChannels: 1, BitsPerSample: 16, NSamples: uint64(len(samples))}
	e, err := flac.NewEncoder(&b, info)
	if err != nil {
		t.Fatal(err)
	}
	for number := 0; len(samples) > 0; number++ {
		n := min(len(samples), 4096)
		f := &frame.Frame{
			Header: frame.Header{HasFixedBlockSize: false, BlockSize: uint16(n), SampleRate: rate, Channels: frame.ChannelsMono, BitsPerSample: 16, Num: uint64(number * 4096)},
			Subframes: []*frame.Subframe{{
				SubHeader: frame.SubHeader{Pred: frame.PredVerbatim}, Samples: samples[:n], NSamples: n,
			}},
		}
		if err := e.WriteFrame(f); err != nil {
			t.Fatal(err)
		}
		samples = samples[n:]
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tone(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(9000 * math.Sin(float64(i)*float64(i)/9000))
	}
	return v
}

func TestDecodeWAV(t *testing.T) {
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

func TestDecodeFLAC(t *testing.T) {
	for _, n := range []int{1, 15, 16, 4095, 4096, 4097, 8192} {
		in := tone(n)
		file := flacFile(t, Rate, in)
		unknown := slices.Clone(file)
		unknown[21] &= 0xf0 // the last 36 bits before the checksum are the number of samples
		clear(unknown[22:26])
		for claim, f := range map[string][]byte{"written": file, "unknown": unknown} {
			got, err := Decode("x.flac", f)
			for i := range got {
				if want := float32(in[i]) / 32768; got[i] != want {
					t.Fatalf("%d samples: sample %d is %v, want %v", n, i, got[i], want)
				}
			}
			if err != nil || len(got) != n {
				t.Errorf("%d samples, the number %s: %d samples, %v", n, claim, len(got), err)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	wav := func(kind, channels uint16, rate uint32, bits uint16, data string) []byte {
		return riff(chunk("fmt ", format(kind, channels, rate, bits)), chunk("data", []byte(data)))
	}
	whole := flacFile(t, Rate, tone(10000))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x55
	good := wav(wavPCM, 1, Rate, 16, "ab")
	floats := format(wavExtensible, 1, Rate, 16, 22, 0, 16, 0, 4, 0, 0, 0, 3, 0)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty file", nil, "the file is empty"},
		{"text", []byte("hello"), "neither WAV nor FLAC"},
		{"AVI", []byte("RIFF....AVI "), "not a WAVE file"},
		{"four bytes", []byte("RIFF"), "not a WAVE file"},
		{"8 kHz", wav(wavPCM, 1, 8000, 16, ""), "8000 samples a second, expected 16000"},
		{"stereo", wav(wavPCM, 2, Rate, 16, ""), "2 channels, expected one"},
		{"8 bits", wav(wavPCM, 1, Rate, 8, ""), "kind 1 with 8 bits: must be PCM (1) with 16"},
		{"µ-law", wav(7, 1, Rate, 16, ""), "kind 7"},
		{"extensible floats", riff(chunk("fmt ", floats)), "kind 3 with 16 bits"},
		{"short extensible format", riff(chunk("fmt ", floats[:25])), "kind 65534 with 16 bits"},
		{"short format", riff(chunk("fmt ", floats[:15])), "the format has 15 bytes, expected at least 16"},
		{"no samples", wav(wavPCM, 1, Rate, 16, ""), "the recording is empty"},
		{"half a sample", wav(wavPCM, 1, Rate, 16, "a"), "the last sample is cut off"},
		{"cut off", good[:len(good)-1], `chunk "data" at byte 36 has 2 bytes, but 1 are left`},
		{"no data chunk", good[:36], `no chunk "data"`},
		{"samples first", riff(good[36:], good[12:36]), "before their format"},
		{"FLAC of 8 kHz", flacFile(t, 8000, tone(100)), "8000 samples a second"},
		{"FLAC cut off", whole[:len(whole)/2], "FLAC: after sample"},
		{"FLAC without frames", whole[:42], "FLAC: the file has 0 of 10000 samples: it is cut off"},
		{"FLAC with a flipped byte", flipped, "FLAC: "},
	} {
		_, err := Decode("a/b.wav", c.data)
		if err == nil || !strings.HasPrefix(err.Error(), "a/b.wav: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestDecodeUpTo(t *testing.T) {
	in := make([]int32, 5000)
	for name, file := range map[string][]byte{
		"x.flac": flacFile(t, Rate, in), "x.wav": riff(chunk("fmt ", format(wavPCM, 1, Rate, 16)), chunk("data", make([]byte, 10000))),
	} {
		if samples, err := DecodeUpTo(name, file, len(in)); err != nil || len(samples) != len(in) {
			t.Errorf("%s: %d samples, %v", name, len(samples), err)
		}
		if _, err := DecodeUpTo(name, file, len(in)-1); !testenv.Names(err, name+" … 4999 samples") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(riff(chunk("fmt ", format(wavPCM, 1, Rate, 16)), chunk("data", []byte{1, 2, 3, 4})))
	f.Add(flacFile(f, Rate, tone(40)))
	f.Add([]byte("RIFF....WAVEdata\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := Decode("x", data)
		if err != nil {
			return
		}
		if len(samples) == 0 {
			t.Error("a recording without samples")
		}
		for i, v := range samples {
			if !(v >= -1 && v <= 1) {
				t.Fatalf("sample %d is %v", i, v)
			}
		}
	})
}

func BenchmarkFeatures(b *testing.B) {
	samples := make([]float32, 15*Rate)
	for i, v := range tone(len(samples)) {
		samples[i] = float32(v) / 32768
	}
	m := NewLogMel()
	var features []float32
	b.ReportAllocs()
	for b.Loop() {
		features, _ = m.Features(features[:0], samples)
	}
	b.ReportMetric(15*float64(b.N)/b.Elapsed().Seconds(), "×realtime")
}

func BenchmarkWhisper(b *testing.B) {
	w := NewWhisper(128)
	samples := make([]float32, WhisperSamples)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i) / 9))
	}
	dst := make([]float32, w.Len())
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Features(dst, samples); err != nil {
			b.Fatal(err)
		}
	}
}
