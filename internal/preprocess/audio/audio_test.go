package audio

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
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
	data, err := os.ReadFile(filepath.Join("testdata", name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	samples, err := Decode(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

func TestBandsAreLibrosas(t *testing.T) {
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

func TestFeaturesAreTheReferences(t *testing.T) {
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
		if err != nil || !equal(got, again) {
			t.Errorf("%s: other features the second time, %v", name, err)
		}
	}
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestLogMelIsTheReferences(t *testing.T) {
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

func TestARecordingThatIsTooShortIsAnError(t *testing.T) {
	for _, n := range []int{0, 1, MinSamples - 1} {
		if _, err := NewLogMel().Features(nil, make([]float32, n)); err == nil {
			t.Errorf("features of %d samples", n)
		}
	}
	if got, err := NewLogMel().Features(nil, make([]float32, MinSamples)); err != nil || len(got) != Features*Rows(MinSamples) {
		t.Errorf("%d features, %v", len(got), err)
	}
}

// wav is a WAV file of the given format.
func wav(kind, channels uint16, rate uint32, bits uint16, data []byte) []byte {
	var b bytes.Buffer
	b.WriteString("RIFF....WAVEfmt ")
	for _, v := range []any{uint32(16), kind, channels, rate, rate * 2, uint16(2), bits} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	binary.Write(&b, binary.LittleEndian, uint32(len(data)))
	b.Write(data)
	return b.Bytes()
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

func TestFLACHasTheSamplesThatWentIn(t *testing.T) {
	in := tone(10000)
	out, err := Decode("x.flac", flacFile(t, Rate, in))
	if err != nil || len(out) != len(in) {
		t.Fatalf("%d samples, %v", len(out), err)
	}
	for i := range in {
		if out[i] != float32(in[i])/32768 {
			t.Fatalf("sample %d is %v, want %d/32768", i, out[i], in[i])
		}
	}
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	whole := flacFile(t, Rate, tone(10000))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x55
	good := wav(wavPCM, 1, Rate, 16, []byte{1, 2})
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"text", []byte("hello"), "neither WAV nor FLAC"},
		{"8 kHz", wav(wavPCM, 1, 8000, 16, nil), "8000 samples a second, want 16000"},
		{"stereo", wav(wavPCM, 2, Rate, 16, nil), "2 channels, want one"},
		{"8 bits", wav(wavPCM, 1, Rate, 8, nil), "kind 1 with 8 bits, want PCM (1) with 16"},
		{"µ-law", wav(7, 1, Rate, 16, nil), "kind 7"},
		{"no samples", wav(wavPCM, 1, Rate, 16, nil), "the recording is empty"},
		{"half a sample", wav(wavPCM, 1, Rate, 16, []byte{1}), "the last sample is cut off"},
		{"cut off", good[:len(good)-1], `chunk "data" at byte 36 has 2 bytes, but 1 are left`},
		{"without samples", good[:36], `no chunk "data"`},
		{"samples first", append(append([]byte("RIFF....WAVE"), good[36:]...), good[12:36]...), "before their format"},
		{"another RIFF", []byte("RIFF....AVI "), "no WAVE file"},
		{"FLAC of 8 kHz", flacFile(t, 8000, tone(100)), "8000 samples a second"},
		{"FLAC cut off", whole[:len(whole)/2], "FLAC: "},
		{"FLAC cut off between frames", whole[:42], "FLAC: "},
		{"FLAC with a flipped byte", flipped, "FLAC: "},
	} {
		_, err := Decode("a/b.wav", test.data)
		if err == nil || !strings.HasPrefix(err.Error(), "a/b.wav: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// Hours of silence take a few bytes of FLAC: memory is taken up to the limit only.
func TestARecordingIsReadUpToALimit(t *testing.T) {
	in := make([]int32, 5000)
	for name, file := range map[string][]byte{"x.flac": flacFile(t, Rate, in), "x.wav": wav(wavPCM, 1, Rate, 16, make([]byte, 10000))} {
		if samples, err := DecodeUpTo(name, file, len(in)); err != nil || len(samples) != len(in) {
			t.Errorf("%s: %d samples, %v", name, len(samples), err)
		}
		if _, err := DecodeUpTo(name, file, len(in)-1); err == nil || !strings.Contains(err.Error(), name+": the recording has more than 4999 samples") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(wav(wavPCM, 1, Rate, 16, []byte{1, 2, 3, 4}))
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
