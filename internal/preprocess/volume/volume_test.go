package volume

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A nifti is a file under construction.
type nifti struct {
	order   binary.ByteOrder
	shape   [3]int16
	spacing [3]float32
	code    int16
	slope   float32
	inter   float32
	voxels  []byte
}

func (n nifti) file() []byte {
	h := make([]byte, 352)
	put16 := func(at int, v int16) { n.order.PutUint16(h[at:], uint16(v)) }
	putFloat := func(at int, v float32) { n.order.PutUint32(h[at:], math.Float32bits(v)) }
	n.order.PutUint32(h, 348)
	put16(40, 3)
	for i := range n.shape {
		put16(42+2*i, n.shape[i])
		putFloat(80+4*i, n.spacing[i])
	}
	put16(70, n.code)
	putFloat(108, 352)
	putFloat(112, n.slope)
	putFloat(116, n.inter)
	copy(h[344:], "n+1\x00")
	return append(h, n.voxels...)
}

// small is a file of 2×3×4 bytes, 0 to 23, the first axis running fastest.
func small() nifti {
	n := nifti{order: binary.LittleEndian, shape: [3]int16{2, 3, 4}, spacing: [3]float32{1.6, 1.2, 1.2}, code: 2}
	for i := range 24 {
		n.voxels = append(n.voxels, byte(i))
	}
	return n
}

func TestLastAxisRunsFastest(t *testing.T) {
	v, err := read(bytes.NewReader(small().file()))
	if err != nil {
		t.Fatal(err)
	}
	if v.Shape != [3]int{2, 3, 4} || math.Abs(v.Spacing[0]-1.6) > 1e-6 {
		t.Errorf("grid %+v", v.Grid)
	}
	for i := range 2 {
		for j := range 3 {
			for k := range 4 {
				if got, want := v.Data[(i*3+j)*4+k], float32(i+2*j+6*k); got != want {
					t.Errorf("voxel %d %d %d is %v, want %v", i, j, k, got, want)
				}
			}
		}
	}
}

func TestVoxelTypes(t *testing.T) {
	for code, voxel := range map[int16]any{
		2: uint8(200), 256: int8(-100), 4: int16(-1000), 512: uint16(60000), 8: int32(-100000), 768: uint32(3000000), 16: float32(-2.5), 64: -0.125,
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			var voxels bytes.Buffer
			if err := binary.Write(&voxels, order, voxel); err != nil {
				t.Fatal(err)
			}
			n := nifti{order: order, shape: [3]int16{1, 1, 1}, spacing: [3]float32{1, -1, 1}, code: code, voxels: voxels.Bytes()}
			for _, scaled := range []bool{false, true} {
				want := toFloat(voxel)
				if n.slope, n.inter = 0, 7; scaled {
					n.slope, n.inter = 2, -3
					want = 2*want - 3
				}
				v, err := read(bytes.NewReader(n.file()))
				if err != nil || v.Data[0] != float32(want) || v.Spacing[1] != 1 { // nibabel drops the sign of distances
					t.Errorf("type %d, %v, scaled %v: %v, %v, want %v", code, order, scaled, v, err, want)
				}
			}
		}
	}
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case uint8:
		return float64(v)
	case int8:
		return float64(v)
	case int16:
		return float64(v)
	case uint16:
		return float64(v)
	case int32:
		return float64(v)
	case uint32:
		return float64(v)
	case float32:
		return float64(v)
	}
	return v.(float64)
}

func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(small().file())
	w.Close()
	for name, content := range map[string][]byte{"a.nii": small().file(), "b.nii.gz": packed.Bytes(), "wrong name.nii": packed.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		v, err := ReadFile(path)
		g, err2 := ReadGrid(path)
		if err != nil || err2 != nil || v.Len() != 24 || v.Grid != g {
			t.Errorf("%s: %v, %v, %v, %v", name, v, err, g, err2)
		}
		if err := os.WriteFile(path, content[:len(content)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s, cut off: %v", name, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	tests := []struct {
		name   string
		change func(h []byte)
		want   string
	}{
		{"another file", func(h []byte) { copy(h, "<htm") }, "not a NIfTI-1 file"},
		{"a pair of files", func(h []byte) { copy(h[344:], "ni1\x00") }, `the header ends with "ni1\x00"`},
		{"two axes", func(h []byte) { h[40] = 2 }, "the volume has 2 axes"},
		{"four axes", func(h []byte) { h[40], h[48] = 4, 5 }, "axis 4 has extent 5"},
		{"an empty axis", func(h []byte) { h[42] = 0 }, "axis 1 has 0 voxels"},
		{"too many voxels", func(h []byte) {
			copy(h[42:], "\xff\x7f\xff\x7f\xff\x7f")
		}, "axis 2 has 32767 voxels, expected at least 1, and 536870912 in all at most"},
		{"no distance", func(h []byte) { copy(h[80:], "\x00\x00\x00\x00") }, "along axis 1 are 0 mm apart"},
		{"a distance that is not a number", func(h []byte) { copy(h[84:], "\x00\x00\xc0\x7f") }, "along axis 2 are NaN mm apart"},
		{"distances in another unit", func(h []byte) {
			copy(h[80:], "\x00\x00\x79\x44\x00\x00\x79\x44\x00\x00\x79\x44") // 996
		}, "the voxels are [996 996 996] mm apart: the prepared volume has [1216 2496 3328] voxels, expected at most 536870912"},
		{"eight axes", func(h []byte) { h[40] = 8 }, "the volume has 8 axes, expected 3"},
		{"a negative axis", func(h []byte) { copy(h[44:], "\xff\xff") }, "axis 2 has 65535 voxels"},
		{"a distance of a metre", func(h []byte) { copy(h[88:], "\x00\x00\x7a\x44") }, "along axis 3 are 1000 mm apart"},
		{"voxels far behind", func(h []byte) { copy(h[108:], "\x00\x00\x80\x49") }, "the voxels begin at byte 1.048576e+06,"},
		{"no shift", func(h []byte) { copy(h[112:], "\x00\x00\x80\x3f\x00\x00\xc0\x7f") }, "voxels are scaled by 1 plus NaN"},
		{"colours", func(h []byte) { h[70] = 128 }, "voxels are of type 128"},
		{"voxels in the header", func(h []byte) { copy(h[108:], "\x00\x00\x80\x3f") }, "the voxels begin at byte 1,"},
		{"an endless scale", func(h []byte) { copy(h[112:], "\x00\x00\x80\x7f") }, "voxels are scaled by +Inf"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := small().file()
			test.change(file)
			if v, err := read(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, error %v, want %q", v, err, test.want)
			}
		})
	}
	file := small().file()
	for _, n := range []int{0, 100, 350, 352, 370, len(file) - 1} {
		if _, err := read(bytes.NewReader(file[:n])); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// Memory must not follow the header of a short file.
func TestShortFileClaimsManyVoxels(t *testing.T) {
	file := small().file()
	copy(file[42:], "\xe8\x03\xe8\x03\x90\x01") // 400 slices of 1000×1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(bytes.NewReader(file))
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "ends in slice 0 of 400") {
		t.Errorf("error %v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 2<<20 {
		t.Errorf("it took %d bytes", taken)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small().file())
	f.Add(nifti{order: binary.BigEndian, shape: [3]int16{1, 2, 1}, spacing: [3]float32{3, 1, 1}, code: 64, slope: 2, voxels: make([]byte, 16)}.file())
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if len(v.Data) != v.Len() || v.Len() < 1 || !(v.Spacing[0] > 0 && v.Spacing[1] > 0 && v.Spacing[2] > 0) {
			t.Errorf("grid %+v with %d voxels", v.Grid, len(v.Data))
		}
		for _, n := range PreparedShape(Grid{Shape: v.Shape, Spacing: [3]float64{1.6, 1.2, 1.2}}) {
			if n < Window || n%Stride != 0 {
				t.Errorf("a prepared side has %d voxels", n)
			}
		}
	})
}

func TestShapesRoundToHalfEven(t *testing.T) {
	if got := zoomedShape([3]int{5, 7, 3}, [3]float64{0.5, 0.5, 0.1}); got != [3]int{2, 4, 1} {
		t.Errorf("shape %v, want 2.5, 3.5 and 0.3 rounded to half even, at least 1", got)
	}
}

func TestSidesAreMultiplesOfTheStride(t *testing.T) {
	for n, want := range map[int]axisPlan{
		128: {kept: 128, shape: 128},
		130: {crop: 1, kept: 128, shape: 128},
		131: {crop: 1, kept: 128, shape: 128}, // 1 in front, 2 behind
		159: {crop: 15, kept: 128, shape: 128},
		160: {kept: 160, pad: 16, shape: 192},
		161: {kept: 161, pad: 15, shape: 192},
		100: {edge: 14, edgeEnd: 14, kept: 128, shape: 128},
		99:  {edge: 14, edgeEnd: 15, kept: 128, shape: 128},
		1:   {edge: 63, edgeEnd: 64, kept: 128, shape: 128},
		192: {kept: 192, shape: 192},
	} {
		if got := planAxis(n); got != want {
			t.Errorf("planAxis(%d) = %+v, want %+v", n, got, want)
		}
	}
}

// line is a volume with one long axis.
func line(spacing [3]float64, data ...float32) *Volume {
	return &Volume{Grid{[3]int{1, 1, len(data)}, spacing}, data}
}

func TestPrepareImage(t *testing.T) {
	data := make([]float32, 162)
	for i := range data {
		data[i] = float32(i)
	}
	data[0], data[161] = -1000, 1000
	v := line(targetSpacing(), data...)
	if shape := PreparedShape(v.Grid); shape != [3]int{128, 128, 192} {
		t.Fatalf("shape %v", shape)
	}
	out := make([]float32, 128*128*192)
	if err := PrepareImage(out, v); err != nil {
		t.Fatal(err)
	}
	low, high := (float32(-79)-101)/76.9, (float32(304)-101)/76.9
	for _, row := range [][]float32{out[:192], out[len(out)-192:]} {
		if row[0] != -2.2 || row[14] != -2.2 || row[15] != low || row[16] != (float32(1)-101)/76.9 || row[176] != high || row[177] != -2.2 {
			t.Errorf("row %v", row)
		}
	}
	if data[0] != -1000 {
		t.Error("the volume itself was changed")
	}
	if err := PrepareImage(out[1:], v); err == nil {
		t.Error("a slice too short: no error")
	}
	v.Data[7] = float32(math.NaN())
	if err := PrepareImage(out, v); !testenv.Names(err, "voxel 7 … not a number") {
		t.Errorf("error %v", err)
	}
}

func TestPrepareLabels(t *testing.T) {
	labels, err := PrepareLabels(line([3]float64{1.6, 1.2, 2.4}, 0, 1, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	// 4 voxels become 8 in the middle of 128: the first and last ones are repeated 60 times.
	want := append(append(make([]uint8, 60), 0, 0, 1, 1, 2, 2, 2, 2), bytes.Repeat([]byte{2}, 60)...)
	if !bytes.Equal(labels[:128], want) {
		t.Errorf("labels %v, want %v", labels[:128], want)
	}
	if _, err := PrepareLabels(line(targetSpacing(), 0, -1)); err == nil || !strings.Contains(err.Error(), "voxel 1 has label -1") {
		t.Errorf("error %v", err)
	}
}

func TestUnprepareReversesPrepareLabels(t *testing.T) {
	g := Grid{Shape: [3]int{52, 180, 170}, Spacing: [3]float64{4, 0.9, 0.9}}
	n := PreparedShape(g)
	labels := make([]uint8, n[0]*n[1]*n[2])
	for i := range labels { // large boxes
		x, y, z := i%n[2], i/n[2]%n[1], i/n[2]/n[1]
		labels[i] = uint8((x/40 + y/40 + z/40) % 3)
	}
	v := &Volume{Grid: g}
	for _, label := range Unprepare(labels, g) {
		v.Data = append(v.Data, float32(label))
	}
	again, err := PrepareLabels(v)
	if err != nil {
		t.Fatal(err)
	}
	different := 0
	for i := range labels {
		if again[i] != labels[i] {
			different++
		}
	}
	if share := float64(different) / float64(len(labels)); share > 0.08 {
		t.Errorf("%v of the labels came back wrong", share)
	}
}

func BenchmarkPrepareImage(b *testing.B) {
	v := &Volume{Grid: Grid{Shape: [3]int{60, 180, 180}, Spacing: [3]float64{3, 0.9, 0.9}}}
	v.Data = make([]float32, v.Len())
	n := PreparedShape(v.Grid)
	out := make([]float32, n[0]*n[1]*n[2])
	b.SetBytes(int64(4 * len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if err := PrepareImage(out, v); err != nil {
			b.Fatal(err)
		}
	}
}

// The checksum of gzip is at the end of a file, after the voxels.
func TestDamagedGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(small().file())
	w.Close()
	for name, damage := range map[string]func(b []byte) []byte{
		"another checksum":   func(b []byte) []byte { b[len(b)-8] ^= 1; return b },
		"another length":     func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"no end":             func(b []byte) []byte { return b[:len(b)-4] },
		"more data after it": func(b []byte) []byte { return append(b, "more"...) },
		"a broken beginning": func(b []byte) []byte { b[2] = 0; return b },
	} {
		path := filepath.Join(t.TempDir(), "a.nii.gz")
		if err := os.WriteFile(path, damage(bytes.Clone(packed.Bytes())), 0o644); err != nil {
			t.Fatal(err)
		}
		if v, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, err := read(bytes.NewReader(append(small().file(), make([]byte, 2*maxBehind)...))); err != nil {
		t.Errorf("more data after the voxels: %v", err)
	}
}

func TestVolumeHasToFitTheMemory(t *testing.T) {
	h := header{Grid: Grid{Shape: [3]int{512, 1024, 1024}, Spacing: [3]float64{1.6, 1.6, 1.6}}} // 512 kB of gzip may have it
	if err := h.fits(4 << 30); err == nil || !strings.Contains(err.Error(), "GiB of memory, 4.0 GiB are free") {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(h.fits(16<<30), h.fits(0)); err != nil {
		t.Error(err)
	}
}
