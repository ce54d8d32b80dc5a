package download

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const boxHeader = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"

func TestClassesAreNumberedInTheOrderOfTheList(t *testing.T) {
	classes := []string{"Dog", "Cat", "Polar bear"}
	for _, c := range []struct {
		name, table string
		want        map[string]int
		err         string
	}{
		{"in another order, with others", "/m/1,Cow\n/m/2,Polar bear\n/m/3,Dog\n/m/4,Cat\n", map[string]int{"/m/2": 2, "/m/3": 0, "/m/4": 1}, ""},
		{"lines of Windows and quotes", "/m/2,\"Polar bear\"\r\n/m/3,Dog\r\n/m/4,Cat\r\n", map[string]int{"/m/2": 2, "/m/3": 0, "/m/4": 1}, ""},
		{"a class twice: the first label counts", "/m/2,Polar bear\n/m/3,Dog\n/m/4,Cat\n/m/5,Dog\n", map[string]int{"/m/2": 2, "/m/3": 0, "/m/4": 1}, ""},
		{"a class too few", "/m/3,Dog\n", nil, `the class "Cat" is not there, and 1 more`},
		{"another case is another class", "/m/2,Polar Bear\n/m/3,Dog\n/m/4,Cat\n", nil, `the class "Polar bear" is not there, and 0 more`},
		{"a column too many", "/m/3,Dog,x\n", nil, "wrong number of fields"},
		{"nothing", "", nil, `the class "Cat" is not there, and 2 more`},
	} {
		got, err := readClassNames(strings.NewReader(c.table), classes)
		if diff := cmp.Diff(c.want, got); c.err == "" && (err != nil || diff != "") {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}

func TestAListOfImagesHasOneInALine(t *testing.T) {
	a, b := openImageID(1), openImageID(2)
	for _, c := range []struct {
		name, text string
		want       int
		err        string
	}{
		{"with and without endings", a + ".jpg\n" + b + "\n", 2, ""},
		{"lines of Windows, and no last end", a + "\r\n" + b, 2, ""},
		{"one twice", a + "\n" + a + ".jpg\n", 1, ""},
		{"nothing", "", 0, ""},
		{"a path", "../" + a + "\n", 0, `line 1: "../` + a + `" is not an image of OpenImages`},
		{"capitals", a + "\n" + strings.ToUpper(b) + "\n", 0, "line 2: "},
		{"too short", a[:15] + "\n", 0, "line 1: "},
		{"an empty line", a + "\n\n" + b + "\n", 0, `line 2: "" is not an image`},
		{"a line without end", strings.Repeat("a", 1<<20), 0, "token too long"},
	} {
		got, err := readImageList(strings.NewReader(c.text))
		if c.err == "" && (err != nil || len(got) != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %d images, %v, want %d, %q", c.name, len(got), err, c.want, c.err)
		}
	}
}

// boxRow is a line of the table.
func boxRow(image, label string, box [4]string, flags [5]string) string {
	return strings.Join([]string{image, "xclick", label, "1", box[0], box[1], box[2], box[3], flags[0], flags[1], flags[2], flags[3], flags[4]}, ",") + "\n"
}

func TestBoxesAreThoseOfTheClassesInTheOrderOfTheTable(t *testing.T) {
	labels := map[string]int{"/m/dog": 0, "/m/cat": 7}
	box, flags := [4]string{"0", "0.5", "0.25", "1"}, [5]string{"0", "1", "-1", "0", "1"}
	table := boxHeader + boxRow(openImageID(3), "/m/cat", box, flags) + boxRow(openImageID(1), "/m/cow", [4]string{"9", "9", "9", "9"}, flags) +
		boxRow(openImageID(1), "/m/dog", box, flags) + boxRow(openImageID(2), "/m/dog", box, flags)
	row := func(id, category int) objectRow {
		return objectRow{openImageID(id), category, [4]float64{0, 0.5, 0.25, 1}, [5]int{0, 1, -1, 0, 1}}
	}
	for _, c := range []struct {
		name   string
		listed map[string]bool
		want   []objectRow
	}{
		{"all images", nil, []objectRow{row(3, 7), row(1, 0), row(2, 0)}},
		{"those of a list", map[string]bool{openImageID(2): true, openImageID(3): true}, []objectRow{row(3, 7), row(2, 0)}},
		{"those of an empty list", map[string]bool{}, nil},
	} {
		got, err := readBoxes(strings.NewReader(table), labels, c.listed)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(objectRow{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestABoxIsAPartOfItsImage(t *testing.T) {
	labels := map[string]int{"/m/dog": 0}
	for _, value := range []string{"0", "1", "0.5", "1e-3", "-0", "-0.1", "1.0000001", "NaN", "Inf", "", "a", " 0"} {
		number, err := strconv.ParseFloat(value, 64)
		ok := err == nil && number >= 0 && number <= 1 && !math.IsNaN(number)
		for i, column := range []string{"XMin", "XMax", "YMin", "YMax"} {
			box := [4]string{"0", "1", "0", "1"}
			box[i] = value
			_, err := readBoxes(strings.NewReader(boxHeader+boxRow(openImageID(1), "/m/dog", box, [5]string{"0", "0", "0", "0", "0"})), labels, nil)
			if want := fmt.Sprintf("line 2: %s is %q, want 0 to 1", column, value); ok != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s of %q: %v, want %s", column, value, err, want)
			}
		}
	}
	for _, value := range []string{"0", "1", "-1", "2", "-2", "0.5", "", "true"} {
		ok := value == "0" || value == "1" || value == "-1"
		for i, column := range []string{"IsOccluded", "IsTruncated", "IsGroupOf", "IsDepiction", "IsInside"} {
			flags := [5]string{"0", "0", "0", "0", "0"}
			flags[i] = value
			_, err := readBoxes(strings.NewReader(boxHeader+boxRow(openImageID(1), "/m/dog", [4]string{"0", "1", "0", "1"}, flags)), labels, nil)
			if want := fmt.Sprintf("line 2: %s is %q, want 0, 1 or -1", column, value); ok != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s of %q: %v, want %s", column, value, err, want)
			}
		}
	}
}

// As openimages.py computes it: corners are parts of the size, the area that of the box in pixels, and a group is a crowd.
func TestALabelIsInPixels(t *testing.T) {
	row := objectRow{openImageID(1), 7, [4]float64{0.25, 0.75, 0.5, 1}, [5]int{1, 0, 1, -1, 0}}
	got := labelOf(9, row, labelImage{ID: 3, Width: 400, Height: 300})
	want := labelObject{ID: 9, ImageID: 3, CategoryID: 7, Box: [4]float64{100, 150, 200, 150}, Area: 30000, Crowd: 1, IsOccluded: 1, IsGroupOf: 1, IsDepiction: -1}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
