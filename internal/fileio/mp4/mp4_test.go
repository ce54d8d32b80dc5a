package mp4

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"image/jpeg"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// flat is a frame of one colour.
func flat(width, height int, c color.RGBA) []byte {
	return bytes.Repeat([]byte{c.R, c.G, c.B}, width*height)
}

func video(t testing.TB, width, height, n int) []byte {
	t.Helper()
	w := NewWriter(width, height, 16)
	for i := range n {
		if err := w.Add(flat(width, height, color.RGBA{R: uint8(i * 25), G: 80, B: uint8(255 - i*25)})); err != nil {
			t.Fatal(err)
		}
	}
	file, err := w.File()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// find returns the content of a box, by the types on the way to it.
func find(t *testing.T, data []byte, path ...string) []byte {
	t.Helper()
	for len(data) >= 8 {
		size := int(binary.BigEndian.Uint32(data))
		if size < 8 || size > len(data) {
			t.Fatalf("a box of %d bytes in %d", size, len(data))
		}
		if string(data[4:8]) == path[0] {
			if len(path) == 1 {
				return data[8:size]
			}
			return find(t, data[8:size], path[1:]...)
		}
		data = data[size:]
	}
	t.Fatalf("no box %s", path[0])
	return nil
}

// Each frame is where the tables say, and has its colour.
func TestFramesAreWhereTheTablesSay(t *testing.T) {
	const width, height, n = 65, 47, 9
	file := video(t, width, height, n)
	if !Is(file) || Is(file[4:]) || Is(file[:7]) {
		t.Error("Is does not tell a video")
	}
	table := func(kind string) []byte { return find(t, file, "moov", "trak", "mdia", "minf", "stbl", kind)[4:] }
	sizes := table("stsz")
	if got := binary.BigEndian.Uint32(sizes[4:]); got != n {
		t.Fatalf("%d frames, want %d", got, n)
	}
	at := binary.BigEndian.Uint32(table("stco")[4:])
	if rate := binary.BigEndian.Uint32(find(t, file, "moov", "mvhd")[12:]); rate != 16 {
		t.Errorf("%d frames a second, want 16", rate)
	}
	for i := range uint32(n) {
		size := binary.BigEndian.Uint32(sizes[8+4*i:])
		frame, err := jpeg.Decode(bytes.NewReader(file[at:][:size]))
		if err != nil {
			t.Fatal(err)
		}
		if frame.Bounds().Dx() != width || frame.Bounds().Dy() != height {
			t.Errorf("frame %d is %v", i, frame.Bounds())
		}
		r, g, b, _ := frame.At(width-1, height-1).RGBA()
		for k, want := range []int{int(i) * 25, 80, 255 - int(i)*25} {
			if got := int([]uint32{r, g, b}[k] >> 8); got < want-3 || got > want+3 {
				t.Errorf("frame %d: channel %d is %d, want %d", i, k, got, want)
			}
		}
		at += size
	}
	if w := NewWriter(width, height, 16); true {
		_ = w.Add(flat(width, height, color.RGBA{}))
		w.Reset()
		if _, err := w.File(); !testenv.Names(err, "no frames") {
			t.Errorf("a video of nothing: %v", err)
		}
	}
}

func TestFramesOfOtherSizes(t *testing.T) {
	for _, w := range []*Writer{NewWriter(4, 4, 16), NewWriter(1<<16, 1, 16), NewWriter(4, 2, 0)} {
		if err := w.Add(make([]byte, 24)); !testenv.Names(err, "24 … 3") {
			t.Errorf("%d×%d: %v", w.width, w.height, err)
		}
	}
}

// ffmpeg reads the frames.
func TestFFmpegReadsFrames(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("this machine has no ffmpeg")
	}
	path := filepath.Join(t.TempDir(), "video.mp4")
	if err := fileio.WriteFile(path, video(t, 64, 48, 9), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(ffmpeg, "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-").CombinedOutput()
	if err != nil || len(out) != 9*64*48*3 {
		t.Fatalf("%d bytes, %v, want %d: %.200s", len(out), err, 9*64*48*3, out)
	}
	for i := range 9 {
		if red, want := int(out[i*64*48*3]), i*25; red < want-4 || red > want+4 {
			t.Errorf("frame %d has red %d, want %d", i, red, want)
		}
	}
}
