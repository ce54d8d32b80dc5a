package vision

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A labelMap maps the classes of a model to the labels that the official accuracy script expects.
type labelMap struct {
	name  string
	table map[int]int // nil: every class is its own label
}

// The label maps that are known by name.
const (
	coco80To91 = "coco80to91" // numbers 1 to 80 become COCO's category ids, 1 to 90
	coco91To80 = "coco91to80" // the reverse
)

// openLabelMap returns a label map by its name, or reads it from a file.
func openLabelMap(name string) (labelMap, error) {
	m := labelMap{name: name}
	switch name {
	case "", "none":
		return labelMap{}, nil
	case coco80To91, coco91To80:
		m.table = make(map[int]int)
		for i := 1; i <= 80; i++ {
			id, _ := accuracy.COCO80To91(i)
			if name == coco80To91 {
				m.table[i] = id
			} else {
				m.table[id] = i
			}
		}
		return m, nil
	}
	f, err := fileio.Open(name)
	if err != nil {
		return m, fmt.Errorf("opening the label map: %w; a map is a file, none, %s or %s", err, coco80To91, coco91To80)
	}
	defer f.Close()
	if m.table, err = readLabelMap(f); err != nil {
		return m, fmt.Errorf("%s:%w", name, err)
	}
	return m, nil
}

// readLabelMap reads lines with two numbers: the class of the model, and the label. What
// follows a # is a comment. Errors begin with the number of the line.
func readLabelMap(r io.Reader) (map[int]int, error) {
	table := make(map[int]int)
	lines := bufio.NewScanner(r)
	line := 0
	for lines.Scan() {
		line++
		text, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), byteOrderMark), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%d: must be a class and a label, got %d fields", line, len(fields))
		}
		class, err := strconv.Atoi(fields[0])
		label, err2 := strconv.Atoi(fields[1])
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("%d: must be a class and a label, both integers: %w", line, err)
		}
		if before, ok := table[class]; ok {
			return nil, fmt.Errorf("%d: class %d has the label %d already", line, class, before)
		}
		table[class] = label
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%d: %w", line+1, err)
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("%d: the file has no class", line)
	}
	return table, nil
}

// byteOrderMark begins files of some editors.
const byteOrderMark = "\ufeff"

// label returns the label of a class.
func (m labelMap) label(class int) (int, error) {
	if m.table == nil {
		return class, nil
	}
	label, ok := m.table[class]
	if !ok {
		return 0, fmt.Errorf("class %d is not in the label map %s", class, m.name)
	}
	return label, nil
}
