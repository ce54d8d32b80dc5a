package volume

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A preparedCase is an entry of testdata/prepared.json.
type preparedCase struct {
	Seed        uint64     `json:"seed"`
	Shape       [3]int     `json:"shape"`
	Spacing     [3]float64 `json:"spacing"`
	Zoomed      [3]int     `json:"zoomed"`
	Prepared    [3]int     `json:"prepared"`
	ImageSHA256 string     `json:"image_sha256"`
	LabelSHA256 string     `json:"label_sha256"`
}

// files returns the image and the labels of the case as NIfTI files.
func (c preparedCase) files() (image, labels []byte) {
	n := nifti{order: binary.LittleEndian, code: 4}
	for i := range 3 {
		n.shape[i], n.spacing[i] = int16(c.Shape[i]), float32(c.Spacing[i])
	}
	total := c.Shape[0] * c.Shape[1] * c.Shape[2]
	density, label := make([]byte, 2*total), make([]byte, 2*total)
	s, at := c.Seed, 0
	for z := range c.Shape[0] {
		for y := range c.Shape[1] {
			for x := range c.Shape[2] {
				s = s*6364136223846793005 + 1442695040888963407
				at = (x*c.Shape[1]+y)*c.Shape[0] + z // in files the first axis runs fastest
				binary.LittleEndian.PutUint16(density[2*at:], uint16(int16(s>>33%2048)-1024))
				binary.LittleEndian.PutUint16(label[2*at:], uint16(s>>60%3))
			}
		}
	}
	n.voxels = density
	image = n.file()
	n.voxels = label
	return image, n.file()
}

func TestPreparedVolumesEqualTheReference(t *testing.T) {
	for _, c := range testenv.JSON[struct{ Cases []preparedCase }](t, "testdata/prepared.json").Cases {
		t.Run(fmt.Sprint(c.Shape, c.Spacing), func(t *testing.T) {
			imageFile, labelFile := c.files()
			v, err := read(bytes.NewReader(imageFile))
			if err != nil {
				t.Fatal(err)
			}
			if p := newPlan(v.Grid); p.zoomed != c.Zoomed || PreparedShape(v.Grid) != c.Prepared {
				t.Fatalf("shapes %v and %v, want %v and %v", p.zoomed, PreparedShape(v.Grid), c.Zoomed, c.Prepared)
			}
			image := make([]float32, c.Prepared[0]*c.Prepared[1]*c.Prepared[2])
			if err := PrepareImage(image, v); err != nil {
				t.Fatal(err)
			}
			var bits []byte
			for _, x := range image {
				bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(x))
			}
			if got := sum(bits); got != c.ImageSHA256 {
				t.Errorf("image %s, want %s", got, c.ImageSHA256)
			}
			if v, err = read(bytes.NewReader(labelFile)); err != nil {
				t.Fatal(err)
			}
			labels, err := PrepareLabels(v)
			if err != nil {
				t.Fatal(err)
			}
			if got := sum(labels); got != c.LabelSHA256 {
				t.Errorf("labels %s, want %s", got, c.LabelSHA256)
			}
		})
	}
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
