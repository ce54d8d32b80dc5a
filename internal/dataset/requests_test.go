package dataset

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy/npytest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The data in testdata/dlrmv3 are of the official generator (streaming_synthetic_data.py) with 12 users in two files, ten time stamps and
// 48 candidates; tensors.npz has what the official data set makes of the first four requests.
var smallRequests = RequestLayout{Times: 10, Trained: 7, Candidates: 48, History: 16384 - 48 - 1}

const goldenRequests = "testdata/dlrmv3"

type requestGolden struct {
	Requests map[string]struct{ Users []int64 }
	UIHKeys  []string `json:"uih_keys"`
	CandKeys []string `json:"cand_keys"`
}

func openSmall(t *testing.T, dir string) *Requests {
	t.Helper()
	d, err := OpenRequests(dir, smallRequests, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// parts cuts the values of a keyed tensor.
func parts(tensors map[string]tensor.Tensor, sample int, kind string, keys []string) map[string][]int64 {
	numbers := func(what string) []int64 {
		return tensor.Data[int64](tensors[fmt.Sprintf("s%d/%s_%s", sample, kind, what)])
	}
	values, list := numbers("values"), map[string][]int64{}
	for i, n := range numbers("lengths") {
		list[keys[i]], values = values[:n], values[n:]
	}
	return list
}

func widened[T int32 | uint8](list []T) []int64 {
	wide := make([]int64, len(list))
	for i, v := range list {
		wide[i] = int64(v)
	}
	return wide
}

func TestRequestsAreThoseOfTheOfficialDataset(t *testing.T) {
	want := testenv.JSON[requestGolden](t, goldenRequests+"/expected.json")
	d := openSmall(t, goldenRequests+"/data")
	users := map[string][]int64{}
	for _, r := range d.List {
		key := fmt.Sprint(smallRequests.Trained + r.Time)
		if users[key] == nil {
			users[key] = make([]int64, d.Counts[r.Time])
		}
		users[key][r.Query] = r.User
	}
	for key, w := range want.Requests {
		if !slices.Equal(users[key], w.Users) {
			t.Errorf("time stamp %s has users %v, want %v", key, users[key], w.Users)
		}
	}
	tensors := npytest.Archive(t, goldenRequests+"/tensors.npz")
	for sample := range 4 { // all of the first time stamp
		i := slices.IndexFunc(d.List, func(r Request) bool { return r.Time == 0 && r.Query == sample })
		row := NewRequestRow(d.List[i])
		testenv.Must(t, d.Read(i, row))
		uih, candidates := parts(tensors, sample, "uih", want.UIHKeys), parts(tensors, sample, "cand", want.CandKeys)
		for what, pair := range map[string][2][]int64{
			"user":       {uih["user_id"], {d.List[i].User}},
			"items":      {slices.Concat(uih["item_id"], candidates["item_candidate_id"]), widened(row.Items)},
			"categories": {slices.Concat(uih["item_category_id"], candidates["item_candidate_category_id"]), widened(row.Categories)},
			"actions":    {uih["item_weights"], widened(row.Actions)},
			"labels":     {candidates["item_action_weights"], widened(row.Labels)},
		} {
			if !slices.Equal(pair[0], pair[1]) {
				t.Errorf("sample %d: %s are %v, want %v", sample, what, pair[1], pair[0])
			}
		}
	}
}

// Python 3.11: random.seed(123); l = list(range(n)); random.shuffle(l), for 7, 8 and 8.
func TestRequestsAreInTheOrderOfTheReference(t *testing.T) {
	want := [][]int{{5, 4, 1, 3, 6, 2, 0}, {6, 7, 1, 2, 5, 4, 3, 0}, {6, 0, 3, 5, 4, 7, 1, 2}}
	d := openSmall(t, goldenRequests+"/data")
	got := make([][]int, 3)
	for _, r := range d.List {
		got[r.Time] = append(got[r.Time], r.Query)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the order differs (-want +got):\n%s", diff)
	}
	first, err := OpenRequests(goldenRequests+"/data", smallRequests, 0, 9)
	if err != nil || !slices.Equal(first.List, d.List[:9]) || !slices.Equal(first.Counts, []int{7, 2, 0}) {
		t.Errorf("the first nine are %v of %v, %v", first.List, first.Counts, err)
	}
}

// main.py, StreamingQuerySampler.get_samples: time stamps follow each other, and a test with more queries than requests repeats each.
func TestTimeStampsFollowEachOther(t *testing.T) {
	d := &Requests{List: make([]Request, 5), Counts: []int{2, 0, 3, 0}}
	for of, want := range map[uint64][]int{
		0:  {0, 1, 2, 3, 4, 0, 1},
		3:  {0, 1, 2},
		5:  {0, 1, 2, 3, 4},
		9:  {0, 1, 2, 3, 4, 2, 3, 4, 2},
		11: {0, 1, 0, 1, 2, 3, 4, 2, 3, 4, 2, 3},
	} {
		for n, w := range want {
			if got := d.At(uint64(n), of); got != w {
				t.Errorf("of %d queries the %d-th is request %d, want %d", of, n, got, w)
			}
		}
	}
}

// Of the sampled data set the lists of all files are there, and one file.
func TestRequestsOfTheSampledFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "whole")
	testenv.Must(t, os.CopyFS(filepath.Join(dir, requestFolder), os.DirFS(goldenRequests+"/data")), os.Remove(filepath.Join(dir, requestFolder, "1.csv")))
	d := openSmall(t, dir)
	if !slices.Equal(d.Counts, []int{5, 5, 4}) {
		t.Errorf("the requests of one file are %v, want 5, 5 and 4", d.Counts)
	}
	if n, err := CountRequests(dir, smallRequests, 0.5); n != 3+4+4 || err != nil {
		t.Errorf("half of 7, 8 and 8 requests are %d, %v", n, err)
	}
	if _, err := CountRequests(dir, smallRequests, 0.9); err == nil || !strings.Contains(err.Error(), "0.9 of the requests of time stamp 7 are 6, the files of") {
		t.Errorf("requests of a file that is missing: %v", err)
	}
}

// Damage is found with the file and the entry.
func TestBadRequests(t *testing.T) {
	for _, c := range []struct{ file, from, to, want string }{
		{"offset.csv", `"0,5717,`, `"0,x717,`, "offset.csv: line 1: entry 1 has 'x', which is not a digit"},
		{"offset.csv", `"0,5717,`, `"0,,`, "offset.csv: line 1: entry 1 is empty"},
		{"offset.csv", `"0,5717,`, `"9999,5717,`, "0.csv: user 0: it begins at byte 9999 and ends at 5717"},
		{"offset.csv", `"0,5717,`, `"3,5717,`, "0.csv: user 0: "},
		{"requests_per_ts.csv", `"0,1,2,3,4,7,9"`, `"0,1,2,3,4,7,99"`, "requests_per_ts.csv: entry 6 is user 99, the files have 12 users"},
		{"users_cumsum_per_ts.csv", `"4,8"`, `"4"`, "users_cumsum_per_ts.csv: line 10 has 1 numbers"},
		{"users_cumsum_per_ts.csv", `"4,8"`, `"4,9"`, "requests_per_ts.csv: it has 8 users, users_cumsum_per_ts.csv has 9"},
		{"requests_per_ts_offset.csv", `"0,18,`, `"0,0,18,`, "requests_per_ts_offset.csv: 11 time stamps, not 10"},
		{"0.csv", `"391204159,391262725,`, `"39120415x,391262725,`, "0.csv: user 0: group 0: item 0 is \"39120415x\", which must be a number below 1000000000"},
		{"0.csv", `"391204159,391262725,`, `"3912041591391262725,`, "0.csv: user 0: group 0: "},
		{"0.csv", `"4.1767766952966365,4.1767766952966365,3.4`, `"7.1767766952966365,4.1767766952966365,3.4`, "0.csv: user 0: group 0: rating 0 is \"7.17677669529663"},
		{"0.csv", `,,,,,"119449005`, `,,,,"119449005`, "lists, not 48: four for each of 10 time stamps"},
	} {
		dir := t.TempDir()
		testenv.Must(t, os.CopyFS(dir, os.DirFS(goldenRequests+"/data")))
		path := filepath.Join(dir, c.file)
		text := string(testenv.Read(t, path))
		if !strings.Contains(text, c.from) {
			t.Fatalf("%s has no %s", c.file, c.from)
		}
		testenv.Must(t, os.WriteFile(path, []byte(strings.Replace(text, c.from, c.to, 1)), 0o644))
		d, err := OpenRequests(dir, smallRequests, 0, 0)
		for i := 0; err == nil && i < len(d.List); i++ {
			err = d.Read(i, NewRequestRow(d.List[i]))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want %s", c.file, c.to, err, c.want)
		}
	}
}

func FuzzRequestLine(f *testing.F) {
	f.Add(`"1,2","3.5,4","5,6,7","1,2,3",,,,,9,4,8,3`)
	f.Add(`"1`)
	f.Add(`"1"2,,`)
	l := RequestLayout{Times: 1, Trained: 0, Candidates: 3, History: 3}
	f.Fuzz(func(t *testing.T, line string) {
		fields, err := splitLists([]byte(line))
		if err != nil {
			return
		}
		joined := 0
		for _, field := range fields {
			joined += len(field) + 1
		}
		if joined > len(line)+1 {
			t.Errorf("%d bytes of lists in %d", joined, len(line))
		}
		if len(fields) != 4*l.groups() {
			return
		}
		history, candidates := min(l.History, items(fields[2])), min(l.Candidates, items(fields[8]))
		if len(fields[0]) == 0 {
			history = 0
		}
		row := NewRequestRow(Request{History: history, Candidates: candidates})
		if err := l.read(fields, 0, row); err != nil {
			return
		}
		for i, category := range row.Categories {
			if category >= RequestCategories || row.Items[i] < 0 || row.Items[i] > RequestItems {
				t.Errorf("item %d is %d of category %d", i, row.Items[i], category)
			}
		}
	})
}

func FuzzNumberList(f *testing.F) {
	f.Add("\"0,18,37\"\r\n1")
	f.Add(",")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := readList(bufio.NewReader(strings.NewReader(text)), 0)
		if err != nil {
			return
		}
		again, err := readList(bufio.NewReader(strings.NewReader(strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ","), "[]"))), 0)
		if err != nil || !slices.Equal(list, again) {
			t.Errorf("%q is %v, and that %v, %v", text, list, again, err)
		}
	})
}
