package download

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An objectRow is a line of the published table of boxes that shows one of the classes.
type objectRow struct {
	image    string
	category int
	box      [4]float64 // x from, x to, y from, y to, as parts of the image
	flags    [5]int     // IsOccluded, IsTruncated, IsGroupOf, IsDepiction, IsInside
}

// readClassNames returns the category of each label of the classes. Categories are
// numbered in the order of the classes.
func readClassNames(from io.Reader, classes []string) (map[string]int, error) {
	category := map[string]int{}
	for i, class := range classes {
		category[class] = i
	}
	r := csv.NewReader(from)
	r.FieldsPerRecord = 2
	labels := map[string]int{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if i, ok := category[record[1]]; ok {
			labels[record[0]] = i
			delete(category, record[1])
		}
	}
	if len(category) > 0 {
		return nil, fmt.Errorf("the class %q is not there, and %d more", slices.Sorted(maps.Keys(category))[0], len(category)-1)
	}
	return labels, nil
}

// imageID is how OpenImages names images. It becomes part of an address and a path.
var imageID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// readImageList reads a list with one image per line, perhaps with an ending.
func readImageList(from io.Reader) (map[string]bool, error) {
	ids := map[string]bool{}
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		id, _, _ := strings.Cut(strings.TrimSpace(lines.Text()), ".")
		if !imageID.MatchString(id) {
			return nil, fmt.Errorf("line %d: %q is not an image of OpenImages", n, lines.Text())
		}
		ids[id] = true
	}
	return ids, lines.Err()
}

// boxColumns are those that are used.
func boxColumns() []string {
	return []string{"ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax",
		"IsOccluded", "IsTruncated", "IsGroupOf", "IsDepiction", "IsInside"}
}

// readBoxes reads the objects of the classes, in the order of the table. If listed is
// not nil, only those in listed images.
func readBoxes(from io.Reader, labels map[string]int, listed map[string]bool) ([]objectRow, error) {
	r := csv.NewReader(from)
	r.ReuseRecord = true
	columns, err := findColumns(r)
	if err != nil {
		return nil, err
	}
	var rows []objectRow
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		category, ok := labels[record[columns[1]]]
		if !ok || listed != nil && !listed[record[columns[0]]] {
			continue
		}
		row, err := parseBox(record, columns)
		if err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		row.category = category
		rows = append(rows, row)
	}
}

func findColumns(r *csv.Reader) ([]int, error) {
	header, err := r.Read()
	if err != nil {
		return nil, err
	}
	var columns []int
	for _, name := range boxColumns() {
		i := slices.Index(header, name)
		if i < 0 {
			return nil, fmt.Errorf("line 1: there is no column %s", name)
		}
		columns = append(columns, i)
	}
	return columns, nil
}

func parseBox(record []string, columns []int) (row objectRow, _ error) {
	row.image = strings.Clone(record[columns[0]])
	if !imageID.MatchString(row.image) {
		return row, fmt.Errorf("%q is not an image of OpenImages", row.image)
	}
	for i := range row.box {
		v, err := strconv.ParseFloat(record[columns[2+i]], 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return row, fmt.Errorf("%s is %q, want 0 to 1", boxColumns()[2+i], record[columns[2+i]])
		}
		row.box[i] = v
	}
	return row, row.parseFlags(record, columns)
}

func (row *objectRow) parseFlags(record []string, columns []int) error {
	for i := range row.flags {
		v, err := strconv.Atoi(record[columns[6+i]])
		if err != nil || v < -1 || v > 1 {
			return fmt.Errorf("%s is %q, want 0, 1 or -1", boxColumns()[6+i], record[columns[6+i]])
		}
		row.flags[i] = v
	}
	return nil
}
