package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mewkiz/flac"
)

// Decode returns the samples of a WAV or FLAC file of one channel and 16,000 samples a
// second, from −1 to 1. The name appears in errors.
func Decode(name string, data []byte) ([]float32, error) { return DecodeUpTo(name, data, math.MaxInt) }

// DecodeUpTo is Decode for recordings of so many samples at most. It takes memory for no more: a short FLAC file may
// have hours of silence in it.
func DecodeUpTo(name string, data []byte, most int) ([]float32, error) {
	samples, err := decode(data, most)
	switch {
	case err != nil:
	case len(samples) == 0:
		err = errors.New("the recording is empty")
	case len(samples) > most:
		err = tooLong(most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return samples, nil
}

// decode reads a file of the kind that its beginning tells.
func decode(data []byte, most int) ([]float32, error) {
	switch {
	case bytes.HasPrefix(data, []byte("RIFF")):
		return decodeWAV(data)
	case bytes.HasPrefix(data, []byte("fLaC")):
		return decodeFLAC(data, most)
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	}
	return nil, errors.New("the file is neither WAV nor FLAC")
}

// checkFormat refuses what RNN-T was not trained for. The reference averages channels over
// the wrong axis, and resamples.
func checkFormat(channels, rate int) error {
	if channels != 1 {
		return fmt.Errorf("the recording has %d channels, want one", channels)
	}
	if rate != Rate {
		return fmt.Errorf("the recording has %d samples a second, want %d", rate, Rate)
	}
	return nil
}

// decodeWAV reads PCM of 16 bits.
func decodeWAV(data []byte) ([]float32, error) {
	if len(data) < 12 || string(data[8:12]) != "WAVE" {
		return nil, errors.New("the RIFF file is no WAVE file")
	}
	formatted := false
	for rest := data[12:]; len(rest) >= 8; {
		kind, size := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		offset := len(data) - len(rest)
		rest = rest[8:]
		if kind == "data" && size == unknownSize {
			size = uint32(len(rest))
		}
		if uint64(size) > uint64(len(rest)) {
			return nil, fmt.Errorf("chunk %q at byte %d has %d bytes, but %d are left: the file is cut off", kind, offset, size, len(rest))
		}
		chunk := rest[:size]
		rest = rest[min(len(rest), int(size)+int(size)%2):]
		switch kind {
		case "fmt ":
			if err := checkWAV(chunk); err != nil {
				return nil, err
			}
			formatted = true
		case "data":
			if !formatted {
				return nil, errors.New("the samples come before their format")
			}
			return pcm(chunk)
		}
	}
	return nil, errors.New("the file has no samples: there is no chunk \"data\"")
}

// Kinds of samples in WAV files.
const (
	wavPCM        = 1
	wavExtensible = 0xfffe
)

// unknownSize stands for the size of the samples where a program wrote them into a pipe and could not go back, as FFmpeg does:
// they go on to the end of the file.
const unknownSize = math.MaxUint32

func checkWAV(format []byte) error {
	if len(format) < 16 {
		return fmt.Errorf("the format has %d bytes, want at least 16", len(format))
	}
	kind, bits := binary.LittleEndian.Uint16(format), binary.LittleEndian.Uint16(format[14:])
	if kind == wavExtensible && len(format) >= 26 {
		kind = binary.LittleEndian.Uint16(format[24:])
	}
	if kind != wavPCM || bits != 16 {
		return fmt.Errorf("the samples are of kind %d with %d bits, want PCM (%d) with 16", kind, bits, wavPCM)
	}
	return checkFormat(int(binary.LittleEndian.Uint16(format[2:])), int(binary.LittleEndian.Uint32(format[4:])))
}

func pcm(data []byte) ([]float32, error) {
	if len(data)%2 != 0 {
		return nil, errors.New("the last sample is cut off")
	}
	samples := make([]float32, len(data)/2)
	for i := range samples {
		samples[i] = float32(int16(binary.LittleEndian.Uint16(data[2*i:]))) / (1 << 15)
	}
	return samples, nil
}

func tooLong(most int) error { return fmt.Errorf("the recording has more than %d samples", most) }

// decodeFLAC reads all frames. Those of a file that is cut off or changed are an error.
func decodeFLAC(data []byte, most int) ([]float32, error) {
	stream, err := flac.New(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("FLAC: %w", err)
	}
	if err := checkFormat(int(stream.Info.NChannels), int(stream.Info.SampleRate)); err != nil {
		return nil, err
	}
	scale := 1 / float32(int64(1)<<(stream.Info.BitsPerSample-1))
	var samples []float32
	for {
		more, err := nextFrame(stream)
		if errors.Is(err, io.EOF) {
			return samples, checkLength(stream.Info.NSamples, len(samples))
		}
		if err != nil {
			return nil, fmt.Errorf("FLAC: after sample %d: %w", len(samples), err)
		}
		if len(more) > most-len(samples) {
			return nil, tooLong(most)
		}
		samples = appendScaled(samples, more, scale)
	}
}

// nextFrame returns the samples of the next frame.
func nextFrame(stream *flac.Stream) ([]int32, error) {
	frame, err := stream.ParseNext()
	if err != nil {
		return nil, err
	}
	if len(frame.Subframes) != 1 {
		return nil, fmt.Errorf("a frame has %d channels, want one", len(frame.Subframes))
	}
	return frame.Subframes[0].Samples, nil
}

func appendScaled(dst []float32, samples []int32, scale float32) []float32 {
	for _, v := range samples {
		dst = append(dst, float32(v)*scale)
	}
	return dst
}

// checkLength compares how many samples a FLAC file says that it has, 0 if it does not know,
// with how many there are.
func checkLength(said uint64, have int) error {
	if said != 0 && said != uint64(have) {
		return fmt.Errorf("FLAC: %d of %d samples are there: the file is cut off", have, said)
	}
	return nil
}
