package download

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// BenchmarkGet measures a whole download over loopback, with its checksums.
func BenchmarkGet(b *testing.B) {
	data := randomBytes(128 << 20)
	s := newServer(b)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, MD5: md5Of(data)})
	m := manifestOf(it)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Get(b.Context(), m, it, Options{Dir: filepath.Join(b.TempDir(), "item")}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpscaleImage measures one image of COCO's usual size.
func BenchmarkUpscaleImage(b *testing.B) {
	scene := jpeg.NewRGB(640, 480)
	for i := range scene.Pix {
		scene.Pix[i] = byte(i / 1000)
	}
	var small bytes.Buffer
	if err := jpeg.Encode(&small, scene, jpeg.EncodeOptions{Quality: 90}); err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"png", "jpg"} {
		b.Run(format, func(b *testing.B) {
			dir := b.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer root.Close()
			if err := root.MkdirAll(stateDir, 0o755); err != nil {
				b.Fatal(err)
			}
			if err := root.MkdirAll(cocoImages, 0o755); err != nil {
				b.Fatal(err)
			}
			if err := root.WriteFile(cocoImages+"/a.jpg", small.Bytes(), 0o644); err != nil {
				b.Fatal(err)
			}
			j, e := &job{root: root}, &enlarger{}
			b.ReportAllocs()
			for b.Loop() {
				list, err := openSums(root)
				if err != nil {
					b.Fatal(err)
				}
				j.list = &sumList{root: root, sums: map[string]string{}, file: list.file}
				if err := j.upscaleImage(root, e, "a.jpg", Upscaling{Width: 1200, Height: 1200, Format: format}); err != nil {
					b.Fatal(err)
				}
				if err := list.close(); err != nil {
					b.Fatal(err)
				}
				if err := os.Remove(filepath.Join(dir, sumsFile)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
