package vision

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestLabelMaps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.txt")
	write(t, file, "\ufeff0 17\r\n# class label\r\n\r\n5 2 # a bicycle\n-1 0")
	for _, test := range []struct {
		name         string
		class, label int // label -1: none
	}{
		{"", 93, 93}, {"none", -4, -4}, {coco80To91, 1, 1}, {coco80To91, 12, 13}, {coco80To91, 80, 90}, {coco80To91, 0, -1}, {coco80To91, 81, -1},
		{coco91To80, 13, 12}, {coco91To80, 90, 80}, {coco91To80, 12, -1}, {file, 0, 17}, {file, 5, 2}, {file, -1, 0}, {file, 1, -1},
	} {
		m, err := openLabelMap(test.name)
		if err != nil {
			t.Fatal(err)
		}
		label, err := m.label(test.class)
		if test.label < 0 && test.class >= 0 {
			if !testenv.Names(err, "is not in the label map "+test.name) {
				t.Errorf("%s: class %d is %d, error %v", test.name, test.class, label, err)
			}
		} else if err != nil || label != test.label {
			t.Errorf("%s: class %d is %d, error %v, want %d", test.name, test.class, label, err, test.label)
		}
	}
}

func TestLabelMapErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.txt")
	for content, want := range map[string]string{
		"0 1\n2\n":                           file + ":2: must be a class and a label, got 1 fields",
		"0 1\n1 cat\n":                       file + ":2: must be a class and a label, both integers",
		"0 1\n1 2\n0 3":                      file + ":3: class 0 has the label 1 already",
		"# nothing\n":                        file + ":1: the file has no class",
		"0 1\n" + strings.Repeat("7", 1<<17): file + ":2: bufio.Scanner: token too long",
	} {
		write(t, file, content)
		if _, err := openLabelMap(file); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := openLabelMap("coco90"); !testenv.Names(err, "none … coco80to91 … coco91to80") {
		t.Errorf("error %v", err)
	}
}

func FuzzReadLabelMap(f *testing.F) {
	f.Add("0 1\n1 2 # x\n\n")
	f.Add("9 -9")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := readLabelMap(strings.NewReader(text))
		if (err == nil) != (len(table) > 0) {
			t.Errorf("%d classes, error %v", len(table), err)
		}
	})
}
