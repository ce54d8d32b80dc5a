package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"path/filepath"
	"strconv"

	"gonum.org/v1/gonum/mathext/prng"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Items of DLRMv3's data, and how many of them are a category (recommendation/dlrm_v3/utils.py, configs.py).
const (
	RequestItems      = 1_000_000_000
	RequestCategories = 128
	itemsOfCategory   = RequestItems / RequestCategories
)

// The files of DLRMv3's data beside those of users, 0.csv and so on (streaming_synthetic_data.py).
const (
	RequestOffsets     = "offset.csv"                 // for each file of users a list: the byte at which each user begins
	RequestUsers       = "requests_per_ts.csv"        // for each time stamp a list: the users who come
	RequestUserOffsets = "requests_per_ts_offset.csv" // one list: the byte at which each time stamp begins
	RequestTotals      = "users_cumsum_per_ts.csv"    // for each time stamp a list: how many of its users are in the files up to each
	requestFolder      = "sampled_data"               // where the sampled data set lies in a folder of the whole one
	requestLine        = 64 << 20                     // bytes of a user, at most: the official ones have half a million
)

// A RequestLayout says what the files hold.
type RequestLayout struct {
	Times, Trained int // time stamps, and how many of them come before the first request
	// Candidates and History are the most that a request has; what is beyond is left out, from the end.
	Candidates, History int
}

// OfficialRequests is the layout of the official data: at most 16384 tokens with that of the user.
func OfficialRequests() RequestLayout {
	return RequestLayout{Times: 100, Trained: 90, Candidates: 2048, History: 16384 - 2048 - 1}
}

// groups is how many groups of four lists a user has: what was there before, the time stamps, and the evaluation after the training.
func (l RequestLayout) groups() int { return l.Times + 2 }

// Requests are those of DLRMv3: at each of some time stamps users come, with what they did before and candidates.
type Requests struct {
	List   []Request // in the order in which they are answered
	Counts []int     // of each time stamp

	layout  RequestLayout
	dir     string
	starts  [][]int64 // of the users of each file
	perFile int64     // users
}

// A Request is a user at a time stamp.
type Request struct {
	Time, Query         int // the time stamp, from 0, and the place among its requests: names in the reference's logs
	User                int64
	History, Candidates int // items
}

// OpenRequests opens the data of DLRMv3 in a folder, or in its folder sampled_data. The requests are those of the files that are there,
// or, if share is not 0, that share of all requests of each time stamp (--dataset-percentage of the reference). Each time stamp's are
// in the random order of the reference (main.py, build_random_exec_order). Count limits their number; 0: all. To know the lengths it
// reads all users of the requests.
func OpenRequests(dir string, l RequestLayout, share float64, count int) (_ *Requests, err error) {
	defer opening("DLRMv3's requests", &err)
	d, users, err := listRequests(dir, l, share, count)
	if err != nil {
		return nil, err
	}
	lengths := map[int64][]int32{} // of the groups of each user who comes
	for i := range d.List {
		r := &d.List[i]
		r.User = users[r.Time][r.Query]
		if lengths[r.User] == nil {
			fields, err := d.fields(r.User)
			if err != nil {
				return nil, err
			}
			lengths[r.User] = make([]int32, len(fields))
			for k, f := range fields {
				lengths[r.User][k] = int32(items(f))
			}
		}
		of := lengths[r.User]
		for _, g := range l.before(r.Time, func(g int) bool { return of[4*g] > 0 }) {
			r.History += int(of[4*g+2])
		}
		r.History, r.Candidates = min(r.History, l.History), min(int(of[4*l.at(r.Time)]), l.Candidates)
		if r.Candidates == 0 {
			return nil, fmt.Errorf("%s: user %d has no candidates at time stamp %d, at which %s has the user", d.file(r.User), r.User,
				l.Trained+r.Time, RequestUsers)
		}
	}
	return d, nil
}

// CountRequests is how many requests OpenRequests finds, which is quick.
func CountRequests(dir string, l RequestLayout, share float64) (n int, err error) {
	defer opening("DLRMv3's requests", &err)
	d, _, err := listRequests(dir, l, share, 0)
	if err != nil {
		return 0, err
	}
	return len(d.List), nil
}

// at is the group of the requests of a time stamp.
func (l RequestLayout) at(time int) int { return l.Trained + time + 2 }

// before lists the groups that are the history at a time stamp, of those that a user has: the evaluation is not.
func (l RequestLayout) before(time int, has func(group int) bool) (list []int) {
	for g := range l.at(time) {
		if g != l.Trained+1 && has(g) {
			list = append(list, g)
		}
	}
	return list
}

// items is how many items a list has.
func items(list []byte) int {
	if len(list) == 0 {
		return 0
	}
	return 1 + bytes.Count(list, []byte(","))
}

// listRequests lists the requests, without their users' lengths, and the users of each time stamp.
func listRequests(dir string, l RequestLayout, share float64, count int) (*Requests, [][]int64, error) {
	if inner := filepath.Join(dir, requestFolder); fileio.Exists(filepath.Join(inner, RequestOffsets)) {
		dir = inner
	}
	d := &Requests{dir: dir, layout: l}
	begins, err := readLists(filepath.Join(dir, RequestUserOffsets), 1)
	if err != nil {
		return nil, nil, err
	}
	if len(begins[0]) != l.Times {
		return nil, nil, fmt.Errorf("%s: %d time stamps, not %d", filepath.Join(dir, RequestUserOffsets), len(begins[0]), l.Times)
	}
	totals, err := readLists(filepath.Join(dir, RequestTotals), l.Times)
	if err != nil {
		return nil, nil, err
	}
	for files := 0; fileio.Exists(d.path(files)); files++ {
		if files == len(totals[0]) {
			break
		}
		d.starts = append(d.starts, nil)
	}
	if len(d.starts) == 0 {
		return nil, nil, fmt.Errorf("%s is missing", d.path(0))
	}
	if d.starts, err = readLists(filepath.Join(dir, RequestOffsets), len(d.starts)); err != nil {
		return nil, nil, err
	}
	d.perFile = int64(len(d.starts[0]))
	order := newPythonRandom(123) // main.py, --numpy-rand-seed
	var users [][]int64
	for time := range l.Times - l.Trained {
		of := totals[l.Trained+time]
		if len(of) < len(d.starts) {
			return nil, nil, fmt.Errorf("%s: line %d has %d numbers, not one for each file: %d", filepath.Join(dir, RequestTotals),
				l.Trained+time+1, len(of), len(d.starts))
		}
		there := int(of[len(d.starts)-1])
		n := there
		if share != 0 {
			if n = int(float64(of[len(of)-1]) * share); n > there {
				return nil, nil, fmt.Errorf("%v of the requests of time stamp %d are %d, the files of %s have %d", share, l.Trained+time, n, dir, there)
			}
		}
		list, err := d.users(begins[0][l.Trained+time], n)
		if err != nil {
			return nil, nil, fmt.Errorf("time stamp %d: %w", l.Trained+time, err)
		}
		queries := order.shuffled(n)
		if count > 0 {
			queries = queries[:min(n, count-len(d.List))]
		}
		for _, q := range queries {
			d.List = append(d.List, Request{Time: time, Query: q})
		}
		users, d.Counts = append(users, list), append(d.Counts, len(queries))
	}
	if len(d.List) < max(1, count) {
		return nil, nil, fmt.Errorf("%s has %d requests, not %d", dir, len(d.List), max(1, count))
	}
	return d, users, nil
}

// users reads the first n users of a time stamp, which begins at a byte.
func (d *Requests) users(begin int64, n int) ([]int64, error) {
	path := filepath.Join(d.dir, RequestUsers)
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := readList(bufio.NewReaderSize(io.NewSectionReader(f, begin, math.MaxInt64-begin), 1<<20), n)
	if err == nil && len(list) < n {
		err = fmt.Errorf("it has %d users, %s has %d", len(list), RequestTotals, n)
	}
	for i, user := range list {
		if err == nil && user >= d.perFile*int64(len(d.starts)) {
			err = fmt.Errorf("entry %d is user %d, the files have %d users", i, user, d.perFile*int64(len(d.starts)))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func (d *Requests) path(file int) string { return filepath.Join(d.dir, fmt.Sprintf("%d.csv", file)) }

// file is the file of a user.
func (d *Requests) file(user int64) string { return d.path(int(user / d.perFile)) }

// fields reads the lists of a user.
func (d *Requests) fields(user int64) (fields [][]byte, err error) {
	path := d.file(user)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: user %d: %w", path, user, err)
		}
	}()
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	starts := d.starts[user/d.perFile]
	if user%d.perFile >= int64(len(starts)) {
		return nil, fmt.Errorf("%s has %d users of this file", RequestOffsets, len(starts))
	}
	end := int64(-1)
	start := starts[user%d.perFile]
	if next := user%d.perFile + 1; next < int64(len(starts)) {
		end = starts[next]
	} else if info, err := f.Stat(); err == nil {
		end = info.Size()
	}
	if end <= start || end-start > requestLine {
		return nil, fmt.Errorf("it begins at byte %d and ends at %d", start, end)
	}
	line := make([]byte, end-start)
	if _, err := f.ReadAt(line, start); err != nil {
		return nil, err
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if fields, err = splitLists(bytes.TrimSuffix(line, []byte("\r"))); err == nil && len(fields) != 4*d.layout.groups() {
		err = fmt.Errorf("%d lists, not %d: four for each of %d time stamps, before them and after the training", len(fields), 4*d.layout.groups(),
			d.layout.Times)
	}
	return fields, err
}

// splitLists splits a line of lists with commas between, in quotes where they have commas themselves.
func splitLists(line []byte) (fields [][]byte, err error) {
	for {
		var field []byte
		if bytes.HasPrefix(line, []byte(`"`)) {
			end := bytes.IndexByte(line[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("list %d has no second quote", len(fields))
			}
			field, line = line[1:1+end], line[2+end:]
			if len(line) > 0 && line[0] != ',' {
				return nil, fmt.Errorf("list %d goes on behind its quote", len(fields))
			}
		} else {
			end := bytes.IndexByte(line, ',')
			if end < 0 {
				end = len(line)
			}
			field, line = line[:end], line[end:]
		}
		fields = append(fields, field)
		if len(line) == 0 {
			return fields, nil
		}
		line = line[1:]
	}
}

// A RequestRow is what the model reads of a request, and the labels.
type RequestRow struct {
	Items      []int32 // of the history and of the candidates
	Categories []uint8 // of these
	Actions    []uint8 // of the history: 1, 2, 4, 8 or 16
	Labels     []uint8 // of the candidates: 1 where the user liked it
}

// NewRequestRow makes room for a request.
func NewRequestRow(r Request) RequestRow {
	n := r.History + r.Candidates
	return RequestRow{make([]int32, n), make([]uint8, n), make([]uint8, r.History), make([]uint8, r.Candidates)}
}

// Read fills in a request; the lengths of the slices must fit. Items are rounded to the 24 bits of a float32, as the reference's lists of
// items and ratings become one tensor (datasets/synthetic_streaming.py, load_item); their categories are those of the exact numbers.
func (d *Requests) Read(request int, row RequestRow) error {
	r := d.List[request]
	fields, err := d.fields(r.User)
	if err != nil {
		return err
	}
	if err := d.layout.read(fields, r.Time, row); err != nil {
		return fmt.Errorf("%s: user %d: %w", d.file(r.User), r.User, err)
	}
	return nil
}

// read fills in the request of a user's lists at a time stamp.
func (l RequestLayout) read(fields [][]byte, time int, row RequestRow) error {
	n := 0
	add := func(group, most int, ids, ratings []byte, rated func(i int, rating float64) error) error {
		if a, b := items(ids), items(ratings); a != b {
			return fmt.Errorf("group %d: %d items and %d ratings", group, a, b)
		}
		for i := 0; len(ids) > 0 && n < most; i++ {
			var id, rating []byte
			id, ids, _ = bytes.Cut(ids, []byte(","))
			rating, ratings, _ = bytes.Cut(ratings, []byte(","))
			item, err := strconv.ParseUint(string(id), 10, 31)
			if err != nil || item >= RequestItems {
				return fmt.Errorf("group %d: item %d is %.20q, which must be a number below %d", group, i, id, RequestItems)
			}
			stars, err := strconv.ParseFloat(string(rating), 64)
			if err == nil {
				err = rated(n, stars)
			}
			if err != nil || stars-stars != 0 {
				return fmt.Errorf("group %d: rating %d is %.20q, which must be a number from 1 to 5", group, i, rating)
			}
			row.Items[n], row.Categories[n] = int32(float32(item)), uint8(item/itemsOfCategory)
			n++
		}
		return nil
	}
	history := len(row.Actions)
	for _, g := range l.before(time, func(g int) bool { return len(fields[4*g]) > 0 }) {
		err := add(g, history, fields[4*g+2], fields[4*g+3], func(i int, stars float64) error {
			if !(stars >= 1 && stars < 6) {
				return errors.New("not a rating")
			}
			row.Actions[i] = 1 << (int(stars) - 1)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if n != history {
		return fmt.Errorf("the history has %d items, not %d: the file has changed", n, history)
	}
	g := l.at(time)
	err := add(g, len(row.Items), fields[4*g], fields[4*g+1], func(i int, stars float64) error {
		row.Labels[i-history] = 0
		if stars >= 3.5 {
			row.Labels[i-history] = 1
		}
		return nil
	})
	if err == nil && n != len(row.Items) {
		err = fmt.Errorf("there are %d candidates, not %d: the file has changed", n-history, len(row.Labels))
	}
	return err
}

// At returns the request that is the n-th of a test of so many (main.py, StreamingQuerySampler): those of a time stamp, as often as all
// requests are issued, and then those of the next one. What is left repeats the last time stamp. Of 0: all come once, and then again.
func (d *Requests) At(n, of uint64) int {
	if of == 0 {
		return int(n % uint64(len(d.List)))
	}
	repeats := max(1, of/uint64(len(d.List)))
	first := uint64(0)
	for _, k := range d.Counts {
		count := uint64(k)
		last := first+count == uint64(len(d.List))
		if here := n - first*repeats; count > 0 && (last || here < count*repeats) {
			return int(first + here%count)
		}
		first += count
	}
	return 0
}

// readLists reads the first lines of a file, each a list of numbers.
func readLists(path string, lines int) (lists [][]int64, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for i := range lines {
		list, err := readList(r, 0)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("a list of numbers is missing: the file must have %d", lines)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, i+1, err)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// readList reads a line of whole numbers from 0 with commas between, and perhaps quotes around; if most is not 0, it stops behind so many.
func readList(r *bufio.Reader, most int) (list []int64, err error) {
	number, digits := int64(0), 0
	end := func() error {
		if digits == 0 {
			return fmt.Errorf("entry %d is empty", len(list))
		}
		list, number, digits = append(list, number), 0, 0
		return nil
	}
	for most == 0 || len(list) < most {
		c, err := r.ReadByte()
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case err == io.EOF || c == '\n':
			if digits > 0 || len(list) > 0 {
				err = end()
				return list, err
			}
			return nil, nil
		case c >= '0' && c <= '9':
			if digits++; digits > 18 {
				return nil, fmt.Errorf("entry %d has more than 18 digits", len(list))
			}
			number = 10*number + int64(c-'0')
		case c == ',':
			if err := end(); err != nil {
				return nil, err
			}
		case c != '"' && c != '\r':
			return nil, fmt.Errorf("entry %d has %q, which is not a digit", len(list), c)
		}
	}
	return list, nil
}

// A pythonRandom draws as Python's module random does.
type pythonRandom struct{ source *prng.MT19937 }

func newPythonRandom(seed uint32) pythonRandom {
	p := pythonRandom{prng.NewMT19937()}
	p.source.SeedFromKeys([]uint32{seed})
	return p
}

// shuffled is list(range(n)) behind random.shuffle.
func (p pythonRandom) shuffled(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := p.below(uint32(i + 1))
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// below draws as many bits as n has until they are below n.
func (p pythonRandom) below(n uint32) uint32 {
	shift := 32 - bits.Len32(n)
	for {
		if v := p.source.Uint32() >> shift; v < n {
			return v
		}
	}
}
