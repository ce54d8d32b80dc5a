package power

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSourcesAreReadFromTheirNames(t *testing.T) {
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
		"": "unknown source of power", "battery": `unknown source of power "battery", want auto, rapl, nvml, ptd:HOST:PORT or file:CSV`, "rapl:0": "unknown source", "ptd": "unknown source",
		"ptd:meter": `"meter" is not an address, want ptd:HOST:PORT`, "ptd:meter:": "is not an address", "file": "unknown source", "file:": "unknown source",
		"file:a.csv?offset=soon": `offset is "soon", want a time such as 1.5s`, "file:a.csv?zone=1": `unknown option "zone" of file, want offset`, "ptd:meter:1?settle=long": `settle is "long"`,
		"ptd:meter:1?settle=-1s": "settle is -1s, want a time", "ptd:meter:1?offset=1s": `unknown option "offset" of ptd, want settle`, "file:a.csv?offset=1s&offset=2s": "offset comes 2 times, want it once",
		"file:a.csv?%zz": `"%zz": invalid URL escape`, "file:a.csv?offset": `offset is ""`,
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %+v, %v, want %q", text, s, err, want)
		}
	}
}

func begin() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

func seconds(s float64) time.Time { return begin().Add(time.Duration(s * 1e9)) }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*max(1, math.Abs(b)) }

func TestTheEnergyOfAWindowIsInProportionBetweenReadings(t *testing.T) {
	counted, told := Series{Name: "counter"}, Series{Name: "meter"}
	for i := range 11 {
		counted.addJoules(seconds(float64(i)), 10*float64(i)) // 10 W
		told.addWatts(seconds(float64(i)), 5)
	}
	r := Record{Series: []Series{counted, told}}
	e, err := r.Between(seconds(2.5), seconds(7.25))
	if err != nil || !near(e.Joules, 4.75*15) || !near(e.MeanWatts, 15) || !near(e.PeakWatts, 15) || len(e.Parts) != 2 || len(e.Parts[0].Watts) != 5 {
		t.Errorf("%+v, %v, want 71.25 J, 15 W", e, err)
	}
}

func TestAPeakIsSeen(t *testing.T) {
	s := Series{Name: "meter"}
	for i, w := range []float64{10, 10, 80, 10, 10} {
		s.addWatts(seconds(float64(i)), w)
	}
	e, err := (&Record{Series: []Series{s}}).Between(seconds(0), seconds(4))
	if err != nil || e.PeakWatts != 80 || !near(e.Joules, 10+45+45+10) {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestAWindowThatWasNotMeasuredIsAnErrorAndNotZero(t *testing.T) {
	whole := Series{Name: "m"}
	for i := range 30 {
		whole.addWatts(seconds(float64(i)), 1)
	}
	hole := Series{Name: "m"}
	for _, at := range []float64{0, 1, 2, 20, 21, 29} {
		hole.addWatts(seconds(at), 1)
	}
	for _, c := range []struct {
		name       string
		s          []Series
		begin, end float64
		want       string
	}{
		{"nothing", nil, 0, 10, "no power was measured"},
		{"no points", []Series{{Name: "m"}}, 0, 10, "nothing was measured"},
		{"before", []Series{whole}, -10, 10, "the test ran from 2026-01-31 11:59:50.000Z to 2026-01-31 12:00:10.000Z, and power was measured from 2026-01-31 12:00:00.000Z"},
		{"after", []Series{whole}, 20, 60, "power was measured from"},
		{"another day", []Series{whole}, 86400, 86500, "power was measured from"},
		{"a hole", []Series{hole}, 0, 29, "nothing was measured for 18s"},
		{"a test without length", []Series{whole}, 5, 5, "no length"},
	} {
		r := Record{Series: c.s}
		if e, err := r.Between(seconds(c.begin), seconds(c.end)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", c.name, e, err, c.want)
		}
	}
}

func TestALongCurveIsThinned(t *testing.T) {
	s := Series{Name: "m"}
	for i := range 4000 {
		s.addWatts(seconds(float64(i)), float64(i%2)*2)
	}
	e, err := (&Record{Series: []Series{s}}).Between(seconds(0), seconds(3999))
	if err != nil || len(e.Parts[0].Watts) > mostWatts || len(e.Parts[0].Watts) < mostWatts/2 {
		t.Fatalf("%d values, %v", len(e.Parts[0].Watts), err)
	}
	for _, w := range e.Parts[0].Watts {
		if w.Watts < 0.8 || w.Watts > 1.2 {
			t.Errorf("%v W, want about the mean of 1", w)
		}
	}
}

// rapl makes zones of RAPL.
func rapl(t *testing.T, zones map[string][3]string) string {
	t.Helper()
	root := t.TempDir()
	for zone, files := range zones {
		dir := filepath.Join(root, "sys/class/powercap", zone)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"name", "energy_uj", "max_energy_range_uj"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(files[i]+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestRAPLCountsPackagesAndTheirWraps(t *testing.T) {
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

func TestRAPLThatCannotBeReadSaysWhatHelps(t *testing.T) {
	for _, c := range []struct {
		name  string
		zones map[string][3]string
		want  string
	}{
		{"none", nil, "as most virtual ones do"},
		{"no package", map[string][3]string{"intel-rapl:0": {"psys", "1", "2"}}, "as most virtual ones do"},
		{"no number", map[string][3]string{"intel-rapl:0": {"package-0", "much", "2"}}, "energy_uj"},
	} {
		if _, err := openRAPL(rapl(t, c.zones)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := raplError(&fs.PathError{Op: "open", Path: "energy_uj", Err: fs.ErrPermission}); !strings.Contains(err.Error(), "sudo chmod a+r /sys/class/powercap") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without permission: %v", err)
	}
}

// A fakeCounter takes so many watts, and fails from an instant on.
type fakeCounter struct {
	watts  float64
	since  time.Time
	fails  time.Duration
	closed bool
}

func (f *fakeCounter) name() string { return "fake" }
func (f *fakeCounter) joules() (float64, error) {
	d := time.Since(f.since)
	if f.fails > 0 && d > f.fails {
		return 0, errors.New("gone")
	}
	return f.watts * d.Seconds(), nil
}
func (f *fakeCounter) close() error { f.closed = true; return nil }

func TestCountersAreReadEverySecondUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCounter{watts: 42, since: time.Now()}
		find := finders{RAPL: func() ([]counter, error) { return []counter{f}, nil }, NVML: func() ([]counter, error) { return nil, errors.New("no card") }}
		r, err := start(t.Context(), Source{Kind: Auto}, find)
		if err != nil || r.String() != "fake" {
			t.Fatalf("%v, %v", r, err)
		}
		time.Sleep(1500 * time.Millisecond)
		from := time.Now()
		time.Sleep(60 * time.Second)
		to := time.Now()
		time.Sleep(700 * time.Millisecond)
		record, err := r.Stop()
		if err != nil || !f.closed || len(record.Series[0].Points) != 64 || !cmp.Equal(record.Notes, []string{"no card"}) {
			t.Fatalf("%d points, %v, %+v", len(record.Series[0].Points), err, record.Notes)
		}
		if e, err := record.Between(from, to); err != nil || !near(e.Joules, 42*60) {
			t.Errorf("%+v, %v, want 2520 J", e, err)
		}
	})
}

func TestACounterThatFailsInTheMiddleIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeCounter{watts: 42, since: time.Now(), fails: 3 * time.Second}
		r, err := start(t.Context(), Source{Kind: RAPL}, finders{RAPL: func() ([]counter, error) { return []counter{f}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if _, err := r.Stop(); err == nil || !strings.Contains(err.Error(), "reading the energy of fake: gone") {
			t.Errorf("%v", err)
		}
	})
}

func TestWhatIsAskedForMustBeThereAndWhatIsFoundNeedNot(t *testing.T) {
	none := finders{RAPL: func() ([]counter, error) { return nil, errors.New("no RAPL") }, NVML: func() ([]counter, error) { return nil, errors.New("no card") }}
	if _, err := start(t.Context(), Source{Kind: RAPL}, none); err == nil || err.Error() != "no RAPL" {
		t.Errorf("asked for: %v", err)
	}
	r, err := start(t.Context(), Source{Kind: Auto}, none)
	if err != nil || r.String() != "nothing: no RAPL; no card" {
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

func TestAMetersFileIsReadByItsColumns(t *testing.T) {
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

// A typing mistake in the name of a meter's file is seen before the traffic, not after it.
func TestAMetersFileThatIsNotThereYetIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meter.csv")
	r, err := Start(t.Context(), Source{Kind: File, Path: path})
	if err != nil || r.String() != "file "+path+", which is not there yet" {
		t.Fatalf("before the meter wrote: %v, %v", r, err)
	}
	if err := os.WriteFile(path, []byte("time,watts\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r.String() != "file "+path {
		t.Errorf("with its first line: %v", r)
	}
}

func TestAWrongMetersFileIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "0 lines with watts",
		"a,b\n1,2\n":                          "want columns named time and watts",
		"t,w\n1769860800,10\n":                "1 lines with watts",
		"t,w\n1769860800,10\n1769860800,11\n": "line 3: the time 1769860800 is not after the one before",
		"t,w\nnoon,10\n":                      "line 2: \"noon\" is not a time",
		"t,w\n1769860800,-4\n":                "line 2: \"-4\" is not a power",
		"t,w\n1769860800,NaN\n":               "is not a power",
		"t,w\n1769860800\n":                   "line 2: 1 fields, want 2",
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
	if err := checkFile(t.TempDir()); err == nil {
		t.Error("a folder is taken for a file")
	}
	if err := checkFile("later.csv"); err != nil {
		t.Errorf("a file that is not there yet: %v", err)
	}
	if err := checkFile("none/later.csv"); err == nil || err.Error() != "the meter's file: stat none: no such file or directory" {
		t.Errorf("a file in a folder that is not there: %v", err)
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

func FuzzSamples(f *testing.F) {
	f.Add("Time,01-31-2026 12:00:00.000,Watts,10,Volts,230,Amps,1,PF,0.9,Mark,x")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := recordOf([]string{line}, begin())
		if err == nil && len(r.Samples) != 1 {
			t.Errorf("%q gives %d lines", line, len(r.Samples))
		}
	})
}

func TestShortTestsTakeThePowerOfTheNearestReading(t *testing.T) {
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	meter, counter, still := Series{Name: "meter"}, Series{Name: "counter"}, Series{Name: "still"}
	meter.addWatts(at.Add(time.Second), 100)
	for i := range 3 {
		counter.addJoules(at.Add(time.Duration(i+1)*time.Second), 50*float64(i))
		still.addJoules(at.Add(time.Duration(i+1)*time.Second), 7)
	}
	for _, c := range []struct {
		s        Series
		from, to time.Duration
		want     float64
	}{
		{meter, 0, 20 * time.Millisecond, 2}, {meter, 1500 * time.Millisecond, 2 * time.Second, 50}, {meter, 0, 2 * time.Second, 200},
		{counter, 0, 500 * time.Millisecond, 25}, {counter, 3 * time.Second, 4 * time.Second, 50}, {counter, 1500 * time.Millisecond, 2 * time.Second, 25},
	} {
		e, err := (&Record{Series: []Series{c.s}}).Between(at.Add(c.from), at.Add(c.to))
		if err != nil || !near(e.Joules, c.want) {
			t.Errorf("%s from %v to %v: %+v, %v, want %v J", c.s.Name, c.from, c.to, e, err, c.want)
		}
	}
	if e, err := (&Record{Series: []Series{still}}).Between(at, at.Add(2*time.Second)); err == nil || !strings.Contains(err.Error(), "it shows no energy for the 2s of the test") {
		t.Errorf("a counter that stands still: %+v, %v", e, err)
	}
}
