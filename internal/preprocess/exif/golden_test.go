package exif

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// testdata/make_orientations.py asked OpenCV about headers that are cut off, wrong or unusual.
func TestOrientationIsWhatOpenCVSeesInRandomHeaders(t *testing.T) {
	data, err := os.ReadFile("testdata/orientations.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		TIFF        string
		Orientation int
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) < 500 {
		t.Fatalf("%d headers, %v", len(list), err)
	}
	for _, c := range list {
		tiff, err := hex.DecodeString(c.TIFF)
		if err != nil {
			t.Fatal(err)
		}
		if got := Orientation(tiff); got != c.Orientation {
			t.Errorf("Orientation(%x) = %d, want %d", tiff, got, c.Orientation)
		}
	}
}
