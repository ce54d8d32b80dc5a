package synth

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// What reads the official data reads these; the judge's labels are those of the candidates, and change nothing else.
func TestRequestsAreReadAndLabelled(t *testing.T) {
	spec := RequestSpec{Seed: 3, Requests: 43, Candidates: 7}
	dir := filepath.Join(t.TempDir(), "requests")
	layout := dataset.OfficialRequests()
	read := func(folder string) (d *dataset.Requests, rows []dataset.RequestRow) {
		d, err := dataset.OpenRequests(folder, layout, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range d.List {
			row := dataset.NewRequestRow(r)
			testenv.Must(t, d.Read(i, row))
			rows = append(rows, row)
		}
		return d, rows
	}
	var before []dataset.RequestRow
	labels := make([][]bool, 43)
	for i := range labels {
		for k := range 7 {
			labels[i] = append(labels[i], (i*7+k)%3 == 0)
		}
	}
	testenv.Must(t, WriteRequests(t.Context(), dir, spec, func(folder string) (map[string]float64, error) {
		_, before = read(folder)
		if err := spec.WriteLabels(folder, labels[1:]); err == nil {
			t.Error("a request too few is taken")
		}
		return nil, spec.WriteLabels(folder, labels)
	}))
	d, rows := read(dir)
	if len(d.List) != 43 || !slices.Equal(d.Counts, []int{5, 5, 5, 4, 4, 4, 4, 4, 4, 4}) {
		t.Errorf("%d requests, by time stamp %v", len(d.List), d.Counts)
	}
	history := 0
	for i, row := range rows {
		history += len(row.Actions)
		if !slices.Equal(row.Items, before[i].Items) || !slices.Equal(row.Actions, before[i].Actions) {
			t.Errorf("request %d: labels change items or actions", i)
		}
		for k, label := range row.Labels {
			if (label == 1) != labels[i][k] {
				t.Errorf("request %d: label %d is %d, want %v", i, k, label, labels[i][k])
			}
		}
	}
	if mean := history / 43; mean < 150 || mean > 250 {
		t.Errorf("the history has %d items on average, want about 200", mean)
	}
	if text := string(testenv.Read(t, filepath.Join(dir, dataset.RequestUsers))); strings.Count(text, "\r\n") != layout.Times+1 {
		t.Errorf("%s has %d lines, want one for each time stamp, and the mark", dataset.RequestUsers, strings.Count(text, "\r\n"))
	}
}
