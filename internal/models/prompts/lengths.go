package prompts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// Lengths say how long texts are: 256, all the same; 256±64, drawn from a normal distribution with that mean and standard deviation;
// 100-400, from all in between alike; 128:3,1024:1, three of four 128 and the others 1024. Empty or 0: the default.
type Lengths string

// maxLength is the longest text. It is far beyond all models, and only finds typing errors.
const maxLength = 1 << 20

// A distribution is Lengths that were read. Where the deviation and the weights are zero all lengths between least and most are alike.
type distribution struct {
	least, most     int
	mean, deviation float64
	weights         []weighted // in the order of the text, which add up to 1
}

type weighted struct {
	length int
	share  float64
}

// Check finds wrong lengths.
func (l Lengths) Check() error {
	_, err := l.read(1)
	return err
}

// read reads lengths; empty ones are all the default.
func (l Lengths) read(fallback int) (distribution, error) {
	d := distribution{least: 1, most: maxLength}
	text := strings.ReplaceAll(strings.ReplaceAll(string(l), " ", ""), "+-", "±")
	wrong := func() (distribution, error) {
		return d, fmt.Errorf("%q: must be a length, a mean and its standard deviation (256±64), a range (100-400), or lengths with weights "+
			"(128:3,1024:1), from 1 to %s",
			string(l), units.Number(maxLength))
	}
	number := func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 1 && n <= maxLength
	}
	switch {
	case text == "", text == "0":
		d.least, d.most = fallback, fallback
	case strings.Contains(text, "±"):
		mean, deviation, _ := strings.Cut(text, "±")
		n, ok := number(mean)
		dev, err := strconv.ParseFloat(deviation, 64)
		if !ok || err != nil || !(dev > 0 && dev <= maxLength) {
			return wrong()
		}
		d.mean, d.deviation = float64(n), dev
	case strings.Contains(text, ":"):
		sum := 0.0
		for pair := range strings.SplitSeq(text, ",") {
			length, share, _ := strings.Cut(pair, ":")
			n, ok := number(length)
			w, err := strconv.ParseFloat(share, 64)
			if !ok || err != nil || !(w > 0 && w <= maxLength) {
				return wrong()
			}
			d.weights, sum = append(d.weights, weighted{n, w}), sum+w
		}
		for i := range d.weights {
			d.weights[i].share /= sum
		}
	default:
		least, most, ranges := strings.Cut(text, "-")
		if !ranges {
			most = least
		}
		var ok, okMost bool
		if d.least, ok = number(least); ok {
			d.most, okMost = number(most)
		}
		if !okMost || d.least > d.most {
			return wrong()
		}
	}
	return d, nil
}

// Delays say how long users wait before they go on with a conversation: 2s, 2s±500ms, 1s-3s, or 1s:3,10s:1 as Lengths. Empty: not at all.
type Delays string

// A delay is a distribution of milliseconds.
type delay struct{ distribution }

var duration = regexp.MustCompile(`[0-9.]+[a-zµ]+`)

// Check finds wrong delays.
func (d Delays) Check() error {
	_, err := d.read()
	return err
}

func (d Delays) read() (delay, error) {
	if d == "" || d == "0" || d == "0s" {
		return delay{distribution{}}, nil
	}
	wrong := fmt.Errorf("%q: must be a time, a mean and its standard deviation (2s±500ms), a range (1s-3s), or times with weights "+
		"(1s:3,10s:1), from 1ms to %v", string(d), maxLength*time.Millisecond)
	if duration.ReplaceAllString(string(d), "") == string(d) {
		return delay{}, wrong
	}
	inMS, err := Lengths(duration.ReplaceAllStringFunc(string(d), func(text string) string {
		t, err := time.ParseDuration(text)
		if err != nil {
			return text
		}
		return strconv.FormatInt(t.Milliseconds(), 10)
	})).read(1)
	if err != nil {
		return delay{}, wrong
	}
	return delay{inMS}, nil
}

// draw is a delay.
func (d delay) draw(r *rand.Rand) time.Duration {
	if d.most == 0 {
		return 0
	}
	return time.Duration(d.distribution.draw(r)) * time.Millisecond
}

// draw is the length of a text.
func (d distribution) draw(r *rand.Rand) int {
	switch {
	case d.deviation > 0:
		n := math.Round(d.mean + d.deviation*r.NormFloat64())
		return int(min(max(n, float64(d.least)), float64(d.most)))
	case d.weights != nil:
		at := r.Float64()
		for _, w := range d.weights {
			if at -= w.share; at < 0 {
				return w.length
			}
		}
		return d.weights[len(d.weights)-1].length
	}
	return d.least + r.IntN(d.most-d.least+1)
}

// String describes the lengths.
func (d distribution) String() string {
	switch {
	case d.deviation > 0:
		return fmt.Sprintf("%s ± %s", units.Text(d.mean, ""), units.Text(d.deviation, ""))
	case d.weights != nil:
		var parts []string
		for _, w := range d.weights {
			parts = append(parts, fmt.Sprintf("%d (%s)", w.length, units.Text(100*w.share, "%")))
		}
		return strings.Join(parts, ", ")
	case d.least == d.most:
		return strconv.Itoa(d.least)
	}
	return fmt.Sprintf("%d to %d", d.least, d.most)
}
