package metrics

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A family has the values of the samples of a name. With label values it has the samples of each value, as name{value}, too.
type family struct {
	sum   float64
	count int
}

// maxLine bounds a line.
const maxLine = 1 << 20

// parse reads the text form of Prometheus and OpenMetrics, of the names that are shown. An error names the line. A value that is not a
// number is left out, as is a time behind the value.
func parse(r io.Reader, known map[string]bool) (map[string]family, error) {
	found := map[string]family{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, labels, rest, ok := split(line)
		if !ok {
			return nil, fmt.Errorf("line %d: %.60q: expected a name, labels and a value", n, line)
		}
		text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: the value is %.60q: must be a number", n, text)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		add := func(name string) {
			if known[name] {
				f := found[name]
				found[name] = family{f.sum + v, f.count + 1}
			}
		}
		add(name)
		for _, value := range labels {
			add(name + "{" + value + "}")
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return found, nil
}

// split takes a line apart: the name, the values of its labels, and what follows.
func split(line string) (name string, labels []string, rest string, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", nil, "", false
	}
	if name, rest = line[:end], line[end:]; rest[0] != '{' {
		return name, nil, rest, true
	}
	rest = rest[1:]
	for {
		rest = strings.TrimLeft(rest, " \t,")
		if strings.HasPrefix(rest, "}") {
			return name, labels, rest[1:], true
		}
		quote := strings.Index(rest, `="`)
		if quote < 0 {
			return "", nil, "", false
		}
		rest = rest[quote+1:]
		value, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", nil, "", false
		}
		rest = rest[len(value):]
		if text, err := strconv.Unquote(value); err == nil {
			labels = append(labels, text)
		}
	}
}
