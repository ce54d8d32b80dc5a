package power

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Source{
		"auto": {Kind: Auto}, "rapl": {Kind: RAPL}, "nvml": {Kind: NVML},
		"ptd:meter:8888": {Kind: PTD, Address: "meter:8888", Settle: 10 * time.Second}, "ptd:[::1]:8888": {Kind: PTD, Address: "[::1]:8888", Settle: 10 * time.Second},
		"file:a.csv": {Kind: File, Path: "a.csv"}, "file:C:/a.csv": {Kind: File, Path: "C:/a.csv"},
		"ptd:meter:8888?settle=2s": {Kind: PTD, Address: "meter:8888", Settle: 2 * time.Second},
		"file:a.csv?offset=-1.5s":  {Kind: File, Path: "a.csv", Offset: -1500 * time.Millisecond},
		"file:a.csv?offset=+1.5s":  {Kind: File, Path: "a.csv", Offset: 1500 * time.Millisecond},
		"file:a+b.csv?":            {Kind: File, Path: "a+b.csv"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "unknown source of power", "battery": `unknown source of power "battery": must be auto, rapl, nvml, ptd:HOST:PORT or file:CSV`, "rapl:0": "unknown source", "ptd": "unknown source",
		"ptd:meter": `"meter" is not an address, expected ptd:HOST:PORT`, "ptd:meter:": "is not an address", "file": "unknown source", "file:": "unknown source",
		"file:a.csv?offset=soon": `offset is "soon": must be a time, for instance 1.5s`, "file:a.csv?zone=1": `unknown option "zone" of file: must be offset`, "ptd:meter:1?settle=long": `settle is "long"`,
		"ptd:meter:1?settle=-1s": "settle is -1s: must be a time", "ptd:meter:1?offset=1s": `unknown option "offset" of ptd: must be settle`,
		"file:a.csv?%zz": `"%zz": invalid URL escape`, "file:a.csv?offset": `offset is ""`,
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %+v, %v, want %q", text, s, err, want)
		}
	}
}

const noSMI = "NVML: nvidia-smi of the NVIDIA driver is not installed"

// rapl makes zones of RAPL.
func rapl(t *testing.T, zones map[string][3]string) string {
	t.Helper()
	root := t.TempDir()
	for zone, files := range zones {
		testenv.Tree(t, filepath.Join(root, "sys/class/powercap", zone), map[string]string{
			"name": files[0] + "\n", "energy_uj": files[1] + "\n", "max_energy_range_uj": files[2] + "\n",
		})
	}
	return root
}

func TestRAPL(t *testing.T) {
	root := rapl(t, map[string][3]string{
		"intel-rapl:0": {"package-0", "65000000000", "65532610987"}, "intel-rapl:1": {"package-1", "0", "65532610987"},
		"intel-rapl:0:0": {"core", "5", "65532610987"}, "intel-rapl:2": {"psys", "7", "65532610987"}, "intel-rapl-mmio:0": {"package-0", "1", "65532610987"},
	})
	list, err := openRAPL(root)
	if err != nil || len(list) != 2 || list[0].name() != "RAPL package-0" || list[1].name() != "RAPL package-1" {
		t.Fatalf("%v, %v, want the two packages", list, err)
	}
	for _, step := range []struct {
		micro string
		want  float64
	}{{"65500000000", 500}, {"1000000", 533.610987}, {"3000000", 535.610987}} {
		path := filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj")
		if err := os.WriteFile(path, []byte(step.micro), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := list[0].joules(); err != nil || !near(got, step.want) {
			t.Errorf("at %s µJ: %v J, %v, want %v", step.micro, got, err, step.want)
		}
	}
}

func TestRAPLErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		zones map[string][3]string
		want  string
	}{
		{"none", nil, "like most virtual machines"},
		{"no package", map[string][3]string{"intel-rapl:0": {"psys", "1", "2"}}, "like most virtual machines"},
		{"no number", map[string][3]string{"intel-rapl:0": {"package-0", "much", "2"}}, "energy_uj"},
	} {
		if _, err := openRAPL(rapl(t, c.zones)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// A fakeCounter takes so many watts, and fails from an instant on.
type fakeCounter struct {
	watts float64
	since time.Time
	fails time.Duration
}

func (f *fakeCounter) name() string { return "fake" }
func (f *fakeCounter) joules() (float64, error) {
	d := time.Since(f.since)
	if f.fails > 0 && d > f.fails {
		return 0, errors.New("gone")
	}
	return f.watts * d.Seconds(), nil
}

func TestCountersAreReadEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCounter{watts: 42, since: time.Now()}
		r, err := start(t.Context(), Source{Kind: Auto}, func() ([]counter, error) { return []counter{f}, nil }, "no-nvidia-smi")
		if err != nil || r.String() != "fake" {
			t.Fatalf("%v, %v", r, err)
		}
		time.Sleep(1500 * time.Millisecond)
		from := time.Now()
		time.Sleep(60 * time.Second)
		to := time.Now()
		time.Sleep(700 * time.Millisecond)
		record, err := r.Stop()
		if err != nil || len(record.Series[0].Points) != 64 || !cmp.Equal(record.Notes, []string{noSMI}) {
			t.Fatalf("%d points, %v, %+v", len(record.Series[0].Points), err, record.Notes)
		}
		if e, err := record.Between(from, to); err != nil || !near(e.Joules, 42*60) {
			t.Errorf("%+v, %v, want 2520 J", e, err)
		}
	})
}

func TestOnlyAutoMayMeasureNothing(t *testing.T) {
	none := func() ([]counter, error) { return nil, errors.New("no RAPL") }
	for kind, want := range map[string]string{RAPL: "no RAPL", NVML: noSMI} {
		if _, err := start(t.Context(), Source{Kind: kind}, none, "no-nvidia-smi"); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
	r, err := start(t.Context(), Source{Kind: Auto}, none, "no-nvidia-smi")
	if err != nil || r.String() != "none: no RAPL; "+noSMI {
		t.Fatalf("auto: %v, %v", r, err)
	}
	record, err := r.Stop()
	if err != nil || len(record.Notes) != 2 {
		t.Errorf("%+v, %v", record, err)
	}
	if e, err := record.Between(begin(), seconds(1)); err == nil {
		t.Errorf("%+v, want an error: nothing was measured", e)
	}
}

func TestCSV(t *testing.T) {
	want := []Point{{At: begin(), Watts: 10}, {At: seconds(1), Watts: 20, Joules: 15}, {At: seconds(2.5), Watts: 20, Joules: 45}}
	for name, text := range map[string]string{
		"RFC 3339":   "time,watts\n2026-01-31T12:00:00Z,10\n2026-01-31T13:00:01+01:00,20\n2026-01-31T12:00:02.5Z,20\n",
		"spaces":     "No, Timestamp, Voltage, Power (W), Watts\n1, 2026-01-31 12:00:00, 230, 1, 10\n2, 2026-01-31 12:00:01, 230, 1, 20\n3, 2026-01-31 12:00:02.500, 230, 1, 20\n",
		"unix":       "t,W\n1769860800,10\n1769860801,20\n1769860802.5,20\n",
		"unix in ms": "t,w\n1769860800000,10\n1769860801000,20\n1769860802500,20\n",
		"Windows":    "\ufefft,w\r\n1769860800,10\r\n\r\n1769860801,20\r\n1769860802.5,20\r\n",
		"quotes":     "\"date\",\"Power [W]\"\n\"2026-01-31T12:00:00\",\"10\"\n\"2026-01-31T12:00:01\",20\n2026-01-31T12:00:02.5,20",
		"PTDaemon":   "Time,01-31-2026 12:00:00.000,Watts,10,Volts,230\nTime,01-31-2026 12:00:01.000,Watts,20,Volts,230\nTime,01-31-2026 12:00:02.500,Watts,20,Volts,230\n",
	} {
		s, err := parseCSV(strings.NewReader(text), 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range s.Points {
			s.Points[i].At = s.Points[i].At.UTC()
		}
		if diff := cmp.Diff(want, s.Points); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for text, want := range map[string]string{"1000000000": "2001-09-09T01:46:40Z", "1000000000000": "2001-09-09T01:46:40Z", "9999999999": "2286-11-20T17:46:39Z", "9999999999999": "2286-11-20T17:46:39.999Z"} {
		if at, err := parseTime(text); err != nil || at.UTC().Round(time.Millisecond).Format(time.RFC3339Nano) != want {
			t.Errorf("parseTime(%s) = %v, %v, want %s", text, at.UTC(), err, want)
		}
	}
	s, err := parseCSV(strings.NewReader("t,w\n1769860800,10\n1769860801,20\n"), 90*time.Second)
	if err != nil || !s.Points[0].At.Equal(seconds(90)) {
		t.Errorf("with an offset: %v, %v", s.Points, err)
	}
}

func TestWrongCSV(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "0 lines with watts",
		"a,b\n1,2\n":                          "must be columns named time and watts",
		"t,w\n1769860800,10\n":                "1 lines with watts",
		"t,w\n1769860800,10\n1769860800,11\n": "line 3: the time 1769860800 is not after the one before",
		"t,w\nnoon,10\n":                      "line 2: \"noon\" is not a time",
		"t,w\n1769860800,-4\n":                "line 2: \"-4\" is not a power",
		"t,w\n1769860800,NaN\n":               "is not a power",
		"t,w\n1769860800\n":                   "line 2: 1 fields, expected 2",
		"t,w\n\n\n1769860800,much\n":          "line 4: \"much\" is not a power in watts",
		"t,w\n1769860800,+Inf\n":              "line 2: \"+Inf\" is not a power in watts",
		"t,w\n999999999,1\n":                  "line 2: \"999999999\" is not a time",
		"t,w\n10000000000,1\n":                "line 2: \"10000000000\" is not a time",
		"t,w\n999999999999,1\n":               "line 2: \"999999999999\" is not a time",
		"t,w\n10000000000000,1\n":             "line 2: \"10000000000000\" is not a time",
		"t,w\nNaN,1\n":                        "line 2: \"NaN\" is not a time",
		"t,w\n1769860801,1\n1769860800,1\n":   "line 3: the time 1769860800 is not after the one before",
		"Time,noon,Watts,1\n":                 "line 1: \"noon\" is not a time",
		"t,w\n\"1769860800,1\n":               "extraneous or missing",
	} {
		if _, err := parseCSV(strings.NewReader(text), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	_, missing := os.Stat("none")
	for path, want := range map[string]string{t.TempDir(): "is a folder", "none/later.csv": "the meter's file: " + missing.Error()} {
		if _, err := Start(t.Context(), Source{Kind: File, Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	later := Source{Kind: File, Path: filepath.Join(t.TempDir(), "later.csv")}
	r, err := Start(t.Context(), later)
	if err != nil || r.String() != "file "+later.Path+", which is not there yet" {
		t.Errorf("measured is %v, %v", r, err)
	}
	if err := os.WriteFile(later.Path, []byte("t,w\n1769860800,1\n"), 0o600); err != nil || r.String() != "file "+later.Path {
		t.Errorf("measured is %v, %v", r, err)
	}
	if _, err := readFile(Source{Path: "none.csv"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that never came: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("time,watts\n2026-01-31T12:00:00Z,10\n2026-01-31T12:00:01Z,20\n")
	f.Add("Time,01-31-2026 12:00:00.000,Watts,10,Volts,230\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseCSV(strings.NewReader(text), 0)
		if err != nil {
			return
		}
		for i, p := range s.Points {
			if i > 0 && (!p.At.After(s.Points[i-1].At) || p.Joules < s.Points[i-1].Joules) {
				t.Errorf("point %d of %q goes back: %+v", i, text, p)
			}
		}
	})
}

// A counter that was set back is no wrap: after one, most of its span would have been used within a
// second.
func TestRAPLCounterThatWasSetBack(t *testing.T) {
	for _, c := range []struct {
		name, last, now string
		want            string // J, or the error
	}{
		{"as it goes on", "1000000", "3000000", "2"},
		{"as it stands still", "1000000", "1000000", "0"},
		{"wrapped", "9000000", "1000000", "2"},
		{"wrapped after just half of it", "5000000", "0", "5"},
		{"set back to nothing", "1000000", "0", "intel-rapl:0 went back from 1000000 to 0 µJ of 10000000, which is not a wrap: it was set back"},
		{"farther than it can wrap", "30000000", "0", "intel-rapl:0 went back from 30000000 to 0 µJ of 10000000, which is not a wrap: it was set back"},
		{"farther on than its span", "0", "9000000", "intel-rapl:0 went back from 0 to 9000000 µJ of 10000000, which is not a wrap: it was set back"},
		{"no number", "1", "much", `energy_uj: strconv.ParseUint: parsing "much": invalid syntax`},
	} {
		root := rapl(t, map[string][3]string{"intel-rapl:0": {"package-0", c.last, "10000000"}})
		list, err := openRAPL(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj"), []byte(c.now), 0o644); err != nil {
			t.Fatal(err)
		}
		joules, err := list[0].joules()
		if got := fmt.Sprint(joules); err == nil && got != c.want || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %s J, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestFailingCounterDoesNotHideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := &fakeCounter{watts: 10, since: time.Now()}, &fakeCounter{watts: 10, since: time.Now(), fails: 2500 * time.Millisecond}
		r, err := start(t.Context(), Source{Kind: RAPL}, func() ([]counter, error) { return []counter{good, bad}, nil }, "")
		if err != nil {
			t.Fatal(err)
		}
		if r.String() != "fake, fake" {
			t.Errorf("it measures %s", r)
		}
		time.Sleep(5 * time.Second)
		record, err := r.Stop()
		if want := "fake … gone"; !testenv.Names(err, want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if a, b := len(record.Series[0].Points), len(record.Series[1].Points); a < 6 || b != 3 {
			t.Errorf("%d and %d readings, want one a second and three", a, b)
		}
	})
}

func TestRecorderEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fakeCounter{watts: 10, since: time.Now()}
		r, err := start(ctx, Source{Kind: RAPL}, func() ([]counter, error) { return []counter{f}, nil }, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		cancel()
		time.Sleep(10 * time.Second)
		record, err := r.Stop()
		if n := len(record.Series[0].Points); err != nil || n != 3 { // at the begin, after a second, and at the end
			t.Errorf("%d readings, %v, want 3", n, err)
		}
	})
}

func TestFileIsReadAfterTheTest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meter.csv")
	for _, c := range []struct {
		name, text string
		offset     time.Duration
		joules     float64
		want       string
	}{
		{"written during the test", "time,watts\n1769860800,10\n1769860801,20\n1769860802,10\n", 0, 30, ""},
		{"of a meter whose clock is behind", "time,watts\n1769860740,10\n1769860741,20\n1769860742,10\n", time.Minute, 30, ""},
		{"of another day", "time,watts\n1769774400,10\n1769774401,20\n", 0, 0, "the test ran from 2026-01-31 12:00:00.000Z to 2026-01-31 12:00:02.000Z, and power was measured from 2026-01-30"},
		{"cut", "time,watts\n1769860800,10\n17698608", 0, 0, "line 3: 1 fields, expected 2"},
		{"empty", "", 0, 0, "0 lines with watts, expected two or more"},
		{"of watts that add up to nothing", "time,watts\n1769860800,0\n1769860802,0\n", 0, 0, "it shows no energy for the 2s of the test"},
		{"with a field in quotes over two lines", "time,watts,note\n1769860800,10,\"a\nb\"\n1769860802,10,x\n", 0, 20, ""},
		{"with more columns in some lines", "time,watts\n1769860800,10,x,y\n1769860802,10\n", 0, 20, ""},
	} {
		r, err := Start(t.Context(), Source{Kind: File, Path: path, Offset: c.offset})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		e, err := energyOf(r)
		if c.want == "" && (err != nil || !near(e.Joules, c.joules)) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %+v, %v, want %v J or %q", c.name, e, err, c.joules, c.want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// energyOf stops a recorder, and returns what two seconds took.
func energyOf(r *Recorder) (*Energy, error) {
	record, err := r.Stop()
	if err != nil {
		return nil, err
	}
	return record.Between(begin(), seconds(2))
}
