package synth

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A RequestSpec says everything about a built-in data set of requests, in the layout of DLRMv3's streaming synthetic data. Equal specs make
// equal requests.
type RequestSpec struct {
	Seed       uint64 `json:"seed"`
	Requests   int    `json:"requests"`
	Candidates int    `json:"candidates"` // of each
	// Truth names the way in which the Judge draws labels. It may be empty.
	Truth string `json:"truth,omitempty"`
}

func (s RequestSpec) check() error {
	switch {
	case s.Requests < 1 || s.Requests > 1_000_000:
		return fmt.Errorf("requests is %d: must be 1 to 1000000", s.Requests)
	case s.Candidates < 1 || s.Candidates > dataset.OfficialRequests().Candidates:
		return fmt.Errorf("candidates is %d: must be 1 to %d", s.Candidates, dataset.OfficialRequests().Candidates)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal requests.
func (s RequestSpec) Key() string {
	return "streaming-" + keyOf("requests seed %d requests %d candidates %d truth %q", s.Seed, s.Requests, s.Candidates, s.Truth)
}

// WriteRequests makes a data set: 0.csv with the users, the lists of who comes when, and the Manifest. Labels are drawn, until the judge,
// if there is one, writes others.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteRequests(ctx context.Context, dir string, spec RequestSpec, judge Judge) error {
	return publish(ctx, dir, "requests", &spec, func(folder string) error { return spec.fill(folder, nil) }, judge)
}

// users is how many there are: seven of ten come at a time stamp, as in the official data.
func (s RequestSpec) users() int { return max(1, (s.most()*10+6)/7) }

// most is how many come at the time stamps at which most do.
func (s RequestSpec) most() int {
	times := dataset.OfficialRequests().Times - dataset.OfficialRequests().Trained
	return (s.Requests + times - 1) / times
}

// visitors lists the users who come at a time stamp, in order.
func (s RequestSpec) visitors(time int) []int {
	l := dataset.OfficialRequests()
	all := make([]int, s.users())
	for i := range all {
		all[i] = i
	}
	r := newStream("visitors", s.Seed, uint64(time))
	for i := len(all) - 1; i > 0; i-- {
		j := r.below(i + 1)
		all[i], all[j] = all[j], all[i]
	}
	n := r.between(1, max(1, len(all)/4)) // of the training
	if request := time - l.Trained; request >= 0 {
		n = s.Requests / (l.Times - l.Trained)
		if request < s.Requests%(l.Times-l.Trained) {
			n++
		}
	}
	list := all[:n]
	slices.Sort(list)
	return list
}

// A visit is a user at a time stamp.
type visit struct{ time, user int }

// fill writes the files. The labels are those of visits from the first request on, where there are any.
func (s RequestSpec) fill(folder string, labels map[visit][]bool) error {
	l := dataset.OfficialRequests()
	comes := map[visit]bool{}
	var users, totals, starts []string // lines; the numbers of one
	begins, at := []string{}, 0
	for time := range l.Times {
		list := s.visitors(time)
		var names []string
		for _, user := range list {
			comes[visit{time, user}] = true
			names = append(names, strconv.Itoa(user))
		}
		line := quoted(names)
		begins = append(begins, strconv.Itoa(at))
		at += len(line) + len(lineEnd)
		users, totals = append(users, line), append(totals, quoted([]string{strconv.Itoa(len(list))}))
	}
	at = 0
	var lines []string
	for user := range s.users() {
		line := s.user(user, comes, labels)
		starts = append(starts, strconv.Itoa(at))
		at += len(line) + len(lineEnd)
		lines = append(lines, line)
	}
	// The mark is a line of its own, which no offset leads to. All lines of the totals are read: there it is another list.
	return errors.Join(
		writeLines(filepath.Join(folder, "0.csv"), append(lines, markComment)),
		writeLines(filepath.Join(folder, dataset.RequestOffsets), []string{quoted(starts), markComment}),
		writeLines(filepath.Join(folder, dataset.RequestUsers), append(users, markComment)),
		writeLines(filepath.Join(folder, dataset.RequestUserOffsets), []string{quoted(begins), markComment}),
		writeLines(filepath.Join(folder, dataset.RequestTotals), append(totals, `"[""`+Mark+`""]"`)),
	)
}

const lineEnd = "\r\n" // of Python's csv

func writeLines(path string, lines []string) error {
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		for _, line := range lines {
			if _, err := w.WriteString(line + lineEnd); err != nil {
				return err
			}
		}
		return w.Flush()
	})
}

// quoted is a list as Python's csv writes it: in quotes where it has commas.
func quoted(list []string) string {
	text := strings.Join(list, ",")
	if len(list) > 1 {
		return `"` + text + `"`
	}
	return text
}

// user is the line of a user: what there was before, the time stamps of the training, the evaluation, and the time stamps of requests, each
// with candidates, their ratings, items of the history, and their ratings.
func (s RequestSpec) user(user int, comes map[visit]bool, labels map[visit][]bool) string {
	l := dataset.OfficialRequests()
	r := newStream("user", s.Seed, uint64(user))
	tastes := make([]int, 4)
	for i := range tastes {
		tastes[i] = r.below(dataset.RequestCategories)
	}
	var fields []string
	add := func(time int, request bool) {
		few := r.between(6, 18)
		n := few
		if request {
			n = s.Candidates
		}
		var items, ratings []string
		for i := range n {
			items = append(items, strconv.Itoa(item(r, tastes, max(time+1, 1))))
			liked := r.below(20) < 9
			if given := labels[visit{time, user}]; request && given != nil {
				liked = given[i]
			}
			ratings = append(ratings, rating(r, liked))
		}
		if !request {
			fields = append(fields, quoted(items[:3]), quoted(ratings[:3]), quoted(items), quoted(ratings))
			return
		}
		var seen, rated []string // some of the candidates
		for range few {
			seen, rated = append(seen, items[r.below(n)]), append(rated, rating(r, r.below(2) == 0))
		}
		fields = append(fields, quoted(items), quoted(ratings), quoted(seen), quoted(rated))
	}
	add(-1, false)
	for time := range l.Times {
		if time == l.Trained {
			add(time, false) // the evaluation
		}
		if comes[visit{time, user}] {
			add(time, time >= l.Trained)
		} else {
			fields = append(fields, "", "", "", "")
		}
	}
	return strings.Join(fields, ",")
}

// item draws an item of the user's taste. More and more of a category's items come up, as in the official data.
func item(r *stream, tastes []int, times int) int {
	of := dataset.RequestItems / dataset.RequestCategories
	return tastes[r.below(len(tastes))]*of + r.below(of*times/dataset.OfficialRequests().Times)
}

// rating draws a rating, from 3.5 on of what the user liked. It is one draw in any case: what follows does not depend on labels.
func rating(r *stream, liked bool) string {
	least, of := 4, 10
	if liked {
		least, of = 14, 7
	}
	quarters := least + r.below(of)
	text := strconv.FormatFloat(float64(quarters)/4, 'f', -1, 64)
	if quarters%4 == 0 {
		text += ".0"
	}
	return text
}

// WriteLabels replaces the labels of the candidates of each request, in the order of dataset.OpenRequests.
func (s RequestSpec) WriteLabels(folder string, labels [][]bool) error {
	d, err := dataset.OpenRequests(folder, dataset.OfficialRequests(), 0, 0)
	if err != nil {
		return err
	}
	if len(labels) != len(d.List) {
		return fmt.Errorf("labels of %d requests for %d", len(labels), len(d.List))
	}
	of := map[visit][]bool{}
	for i, r := range d.List {
		if len(labels[i]) != r.Candidates {
			return fmt.Errorf("request %d: %d labels for %d candidates", i, len(labels[i]), r.Candidates)
		}
		of[visit{dataset.OfficialRequests().Trained + r.Time, int(r.User)}] = labels[i]
	}
	return s.fill(folder, of)
}
