package diffusion

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestParseIDs(t *testing.T) {
	for text, want := range map[string][]int{
		"":                  nil,
		"7":                 {7},
		"7\n":               {7},
		"3\n1\n2":           {3, 1, 2},
		" 4 \n\t5\r\n6":     {4, 5, 6},
		"007\n2147483647\n": {7, 1<<31 - 1},
	} {
		if got, err := parseIDs([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1\n\n2":                   `line 2 is "": must be the index of a sample`,
		"1\n2\nthree":              `line 3 is "three": must be`,
		"-1":                       `line 1 is "-1": must be`,
		"1.5":                      `line 1 is "1.5": must be`,
		"2147483648":               `line 1 is "2147483648": must be`,
		"1,2":                      `line 1 is "1,2": must be`,
		"\ufeff1":                  "line 1 is ",
		"0x10":                     `line 1 is "0x10": must be`,
		strings.Repeat("1", 1<<17): "token too long",
	} {
		if got, err := parseIDs([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q is %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

// captionsOf are as many captions.
func captionsOf(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("caption %d", i))
	}
	return list
}

func TestImageFilesWithoutOfficialIDs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "shown")
	for _, count := range []int{0, 1046} {
		_, err := newImageFiles(workload.Scoring{Options: workload.Values{imagesOption: folder}}, captionsOf(count))
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != idsOption || !strings.Contains(err.Error(), fmt.Sprintf("the data set has %d images", count)) {
			t.Errorf("%d captions: %v, want an error of %s", count, err, idsOption)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made for nothing, %v", err)
	}
}

// The official ten that the data set has, in the order of the reference's file.
func TestOfficialImages(t *testing.T) {
	for count, want := range map[int]string{
		5000: "4475 3627 1046 4937 3867 1671 3789 1206 4111 3093",
		4475: "3627 1046 3867 1671 3789 1206 4111 3093",
		1207: "1046 1206",
	} {
		folder := t.TempDir()
		g, err := newImageFiles(workload.Scoring{Options: workload.Values{imagesOption: folder}}, captionsOf(count))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, captionsFile))
		if err != nil {
			t.Fatal(err)
		}
		var wanted strings.Builder
		for id := range strings.FieldsSeq(want) {
			fmt.Fprintf(&wanted, "%s  caption %s\n", id, id)
		}
		if string(text) != wanted.String() || len(g.ids) != len(strings.Fields(want)) {
			t.Errorf("of %d captions the list is\n%swith %d images, want %s", count, text, len(g.ids), want)
		}
	}
}

func TestImageFolder(t *testing.T) {
	dir := t.TempDir()
	ids := filepath.Join(dir, "ids.txt")
	if err := os.WriteFile(ids, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		scoring workload.Scoring
		count   int
		want    string
	}{
		{"neither an option nor a run", workload.Scoring{}, 5000, ""},
		{"a run that keeps", workload.Scoring{Keep: filepath.Join(dir, "run")}, 5000, "run/images"},
		{"a run of a part without the official images", workload.Scoring{Keep: filepath.Join(dir, "part")}, 3, ""},
		{"a run of a part, with images of its own", workload.Scoring{Keep: filepath.Join(dir, "own"), Options: workload.Values{idsOption: ids}}, 3, "own/images"},
		{"an option before the run", workload.Scoring{Keep: filepath.Join(dir, "no"), Options: workload.Values{imagesOption: filepath.Join(dir, "in", "shown")}}, 5000, "in/shown"},
	} {
		g, err := newImageFiles(c.scoring, captionsOf(c.count))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.want != "" {
			want = filepath.Join(dir, filepath.FromSlash(c.want))
			if _, err := os.Stat(filepath.Join(want, captionsFile)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if g.folder != want {
			t.Errorf("%s: the folder is %q, want %q", c.name, g.folder, want)
		}
	}
}

func TestImageFilesErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, path, want string }{
		{"no file", filepath.Join(dir, "none"), "no such file"},
		{"a folder", dir, dir},
		{"a sample beyond the data", file("beyond", "0\n3\n"), "sample 3 is beyond the 3 captions"},
		{"no index", file("words", "first\n"), `line 1 is "first"`},
		{"more than a list", file("large", strings.Repeat("1\n", maxIDs)), "large"},
	} {
		_, err := newImageFiles(workload.Scoring{Options: workload.Values{idsOption: c.path}}, captionsOf(3))
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != idsOption || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error of %s with %q", c.name, err, idsOption, c.want)
		}
	}
	taken := file("taken", "")
	if _, err := newImageFiles(workload.Scoring{Options: workload.Values{imagesOption: taken}}, captionsOf(5000)); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("a folder that is a file: %v", err)
	}
}

func TestImageFilesAreExact(t *testing.T) {
	g := &imageFiles{folder: t.TempDir(), ids: map[int]bool{2: true}}
	const side = 5
	pixels := make([]byte, 3*side*side)
	for i := range pixels {
		pixels[i] = byte(i * 37)
	}
	for _, index := range []int{1, 2, 3} {
		if err := g.add(index, pixels); err != nil {
			t.Fatal(err)
		}
	}
	for _, index := range []int{1, 3} {
		if _, err := os.Stat(filepath.Join(g.folder, fmt.Sprint(index)+".png")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("image %d, which nobody asked for, is kept: %v", index, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(g.folder, "2.png"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil || m.Bounds().Dx() != side || m.Bounds().Dy() != side {
		t.Fatalf("%v, %v", m, err)
	}
	var got []byte
	for y := range side {
		for x := range side {
			r, g, b, a := m.At(x, y).RGBA()
			if a != 0xffff {
				t.Errorf("pixel %d, %d is transparent", x, y)
			}
			got = append(got, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	if !bytes.Equal(got, pixels) {
		t.Errorf("the file has the pixels %v, want %v", got, pixels)
	}
	if err := os.RemoveAll(g.folder); err != nil {
		t.Fatal(err)
	}
	if err := g.add(2, pixels); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is gone: %v", err)
	}
	g.folder = ""
	if err := g.add(2, pixels); err != nil {
		t.Errorf("where none are kept: %v", err)
	}
}

func TestSideOf(t *testing.T) {
	for bytes, want := range map[int]int{3: 1, 12: 2, 3 * 128 * 128: 128, 3 * 1024 * 1024: 1024} {
		if side, err := sideOf(make([]byte, bytes)); err != nil || side != want {
			t.Errorf("%d bytes have the side %d, %v, want %d", bytes, side, err, want)
		}
	}
	for _, bytes := range []int{0, 1, 2, 4, 6, 11, 13, 4 * 128 * 128, 3*1024*1024 - 3} {
		want := fmt.Sprintf("the response has %d bytes: not a square image", bytes)
		if side, err := sideOf(make([]byte, bytes)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d bytes have the side %d, %v, want an error", bytes, side, err)
		}
	}
}
