package download

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzSums wants that a list that was read and written again is the same, and that no
// path in it leaves the folder.
func FuzzSums(f *testing.F) {
	f.Add([]byte(sha256Of(nil) + "  a/b.txt\n"))
	f.Add([]byte(sha256Of(nil) + "  ../b.txt\n" + sha256Of(nil)))
	f.Fuzz(func(t *testing.T, data []byte) {
		sums := parseSums(data)
		var again strings.Builder
		for name, sum := range sums {
			if checkPath(name) != nil {
				t.Errorf("the path %q was accepted", name)
			}
			again.WriteString(sum + "  " + name + "\n")
		}
		if diff := cmp.Diff(sums, parseSums([]byte(again.String()))); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	})
}

// FuzzCOCOFile wants that an annotation file that was read and written is read as the same.
func FuzzCOCOFile(f *testing.F) {
	f.Add([]byte(`{"info": {"a": 1}, "images": [{"id": 1, "file_name": "a.jpg", "width": 2, "height": 3}], "annotations": [{"id": 5, "image_id": 1, "bbox": [0,0,1,1], "area": 1}]}`))
	f.Add([]byte(`{"images": [{}, {"id": 1}], "images": [{"\u0000": null}]}`))
	f.Add([]byte(`{"images": 5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCOCO(data)
		if err != nil {
			return
		}
		text := c.bytes()
		again, err := parseCOCO(text)
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", text, err)
		}
		if !bytes.Equal(text, again.bytes()) {
			t.Errorf("written again %s, want %s", again.bytes(), text)
		}
		_ = c.scale(Upscaling{Width: 64, Height: 64, Format: "png"})
	})
}

// FuzzOpenImagesTables wants rows whose images can be part of a path and whose boxes lie
// in the image.
func FuzzOpenImagesTables(f *testing.F) {
	header := strings.Join(boxColumns(), ",") + "\n"
	f.Add("/m/1,Cat\n", "0123456789abcdef.jpg\n", header+"0123456789abcdef,/m/1,0,1,0.25,1e0,0,0,1,-1,0\n")
	f.Add("/m/1,\"Cat\n", "../x\n", header+"../x,/m/1,NaN,2,-1,+Inf,0,0,2,-1,x\n")
	f.Fuzz(func(t *testing.T, names, list, boxes string) {
		labels, err := readClassNames(strings.NewReader(names), []string{"Cat"})
		if err != nil {
			labels = map[string]int{"/m/1": 0}
		}
		listed, err := readImageList(strings.NewReader(list))
		for id := range listed {
			if err == nil && !imageID.MatchString(id) {
				t.Errorf("the image %q was accepted", id)
			}
		}
		rows, err := readBoxes(strings.NewReader(boxes), labels, nil)
		for _, row := range rows {
			inside := !slices.ContainsFunc(row.box[:], func(v float64) bool { return !(v >= 0 && v <= 1) })
			if err == nil && (!imageID.MatchString(row.image) || !inside) {
				t.Errorf("the row %+v was accepted", row)
			}
		}
	})
}

// FuzzNIfTI wants sides of at least 1.
func FuzzNIfTI(f *testing.F) {
	f.Add(make([]byte, niftiHeader))
	f.Fuzz(func(t *testing.T, header []byte) {
		if shape, err := parseNIfTI(bytes.NewReader(header)); err == nil && min(shape[0], shape[1], shape[2]) < 1 {
			t.Errorf("the shape %v was accepted", shape)
		}
	})
}

// FuzzContentRange wants the range that was asked for.
func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-9/10", int64(10))
	f.Add("bytes 0-4/9223372036854775807", int64(-1))
	f.Add("bytes 5-4/3", int64(0))
	f.Fuzz(func(t *testing.T, text string, length int64) {
		a := &answer{}
		resp := &http.Response{ContentLength: length, Header: http.Header{"Content-Range": {text}}}
		if err := a.readRange(resp, 0, 9); err == nil && (a.from != 0 || a.to != min(9, a.size-1) || a.to < 0) {
			t.Errorf("%q was accepted as %+v", text, a)
		}
	})
}

// FuzzReceipt wants no panic, whatever lies in our folder.
func FuzzReceipt(f *testing.F) {
	f.Add([]byte(`{"format": 1, "kind": "model", "name": "m", "count": 5, "sources": {"a": {"size": 1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, ok := parseReceipt(data)
		if ok && !r.same(r) {
			t.Errorf("%+v is not the same as itself", r)
		}
	})
}
