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

// Decode returns the samples of a WAV or FLAC file of one channel and 16,000 samples a second,
// from −1 to 1. The name appears in errors.
func Decode(name string, data []byte) ([]float32, error) { return DecodeUpTo(name, data, math.MaxInt) }

// DecodeUpTo is Decode for recordings of at most so many samples. It takes memory for no more: a
// short FLAC file may have hours of silence.
func DecodeUpTo(name string, data []byte, most int) ([]float32, error) {
	var samples []float32
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("RIFF")):
		samples, err = decodeWAV(data)
	case bytes.HasPrefix(data, []byte("fLaC")):
		samples, err = decodeFLAC(data, most)
	case len(data) == 0:
		err = errors.New("the file is empty")
	default:
		err = errors.New("the file is neither WAV nor FLAC")
	}
	switch {
	case err != nil:
	case len(samples) == 0:
		err = errors.New("the recording is empty")
	case len(samples) > most:
		err = fmt.Errorf("the recording has more than %d samples", most)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return samples, nil
}

// checkFormat refuses what RNN-T was not trained for. The reference averages channels over the
// wrong axis, and resamples.
func checkFormat(channels, rate int) error {
	if channels != 1 {
		return fmt.Errorf("the recording has %d channels, expected one", channels)
	}
	if rate != Rate {
		return fmt.Errorf("the recording has %d samples a second, expected %d", rate, Rate)
	}
	return nil
}

// Kinds of samples in WAV files.
const (
	wavPCM        = 1
	wavExtensible = 0xfffe
)

// decodeWAV reads PCM of 16 bits.
func decodeWAV(data []byte) ([]float32, error) {
	if len(data) < 12 || string(data[8:12]) != "WAVE" {
		return nil, errors.New("the RIFF file is not a WAVE file")
	}
	formatted := false
	for rest := data[12:]; len(rest) >= 8; {
		kind, size := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		offset := len(data) - len(rest)
		rest = rest[8:]
		if kind == "data" && size == math.MaxUint32 {
			size = uint32(len(rest)) // as FFmpeg writes into a pipe: the samples go on to the end of the file
		}
		if uint64(size) > uint64(len(rest)) {
			return nil, fmt.Errorf("chunk %q at byte %d has %d bytes, but %d are left: the file is cut off", kind, offset, size, len(rest))
		}
		chunk := rest[:size]
		rest = rest[min(len(rest), int(size)+int(size)%2):]
		switch kind {
		case "fmt ":
			if len(chunk) < 16 {
				return nil, fmt.Errorf("the format has %d bytes, expected at least 16", len(chunk))
			}
			samples, bits := binary.LittleEndian.Uint16(chunk), binary.LittleEndian.Uint16(chunk[14:])
			if samples == wavExtensible && len(chunk) >= 26 {
				samples = binary.LittleEndian.Uint16(chunk[24:])
			}
			if samples != wavPCM || bits != 16 {
				return nil, fmt.Errorf("the samples are of kind %d with %d bits: must be PCM (%d) with 16", samples, bits, wavPCM)
			}
			if err := checkFormat(int(binary.LittleEndian.Uint16(chunk[2:])), int(binary.LittleEndian.Uint32(chunk[4:]))); err != nil {
				return nil, err
			}
			formatted = true
		case "data":
			if !formatted {
				return nil, errors.New("the samples come before their format")
			}
			if len(chunk)%2 != 0 {
				return nil, errors.New("the last sample is cut off")
			}
			samples := make([]float32, len(chunk)/2)
			for i := range samples {
				samples[i] = float32(int16(binary.LittleEndian.Uint16(chunk[2*i:]))) / (1 << 15)
			}
			return samples, nil
		}
	}
	return nil, errors.New("the file has no chunk \"data\" with samples")
}

// decodeFLAC reads all frames, and stops after more than most samples. Frames that are cut off or
// changed are an error.
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
	for len(samples) <= most {
		frame, err := stream.ParseNext()
		if errors.Is(err, io.EOF) {
			if total := stream.Info.NSamples; total != 0 && total != uint64(len(samples)) { // 0: not known
				return nil, fmt.Errorf("FLAC: the file has %d of %d samples: it is cut off", len(samples), total)
			}
			return samples, nil
		}
		if err == nil && len(frame.Subframes) != 1 {
			err = fmt.Errorf("a frame has %d channels, expected one", len(frame.Subframes))
		}
		if err != nil {
			return nil, fmt.Errorf("FLAC: after sample %d: %w", len(samples), err)
		}
		for _, v := range frame.Subframes[0].Samples {
			samples = append(samples, float32(v)*scale)
		}
	}
	return samples, nil
}
