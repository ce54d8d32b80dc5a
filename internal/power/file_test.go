package power

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAMetersFileIsReadWhenTheTestIsOver(t *testing.T) {
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
		{"cut", "time,watts\n1769860800,10\n17698608", 0, 0, "line 3: 1 fields, want 2"},
		{"empty", "", 0, 0, "0 lines with watts, want two or more"},
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

func TestAMetersFileThatIsNoneIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meter.csv")
	r, err := Start(t.Context(), Source{Kind: File, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stop(); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "the meter's file: ") {
		t.Errorf("a file that never came: %v", err)
	}
	if _, err := Start(t.Context(), Source{Kind: File, Path: filepath.Dir(path)}); err == nil || !strings.HasPrefix(err.Error(), "the meter's file: ") {
		t.Errorf("a folder: %v", err)
	}
}

func TestPowersAreNumbersFromZeroOn(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, " 12.5 ": 12.5, "1e3": 1000, "-0": math.Copysign(0, -1)} {
		if w, err := parseWatts(text); err != nil || w != want {
			t.Errorf("parseWatts(%q) = %v, %v, want %v", text, w, err, want)
		}
	}
	for _, text := range []string{"", "-1", "NaN", "inf", "-inf", "1,5", "12 W", "1e999"} {
		if w, err := parseWatts(text); err == nil || err.Error() != fmt.Sprintf("%q is not a power in watts", text) {
			t.Errorf("parseWatts(%q) = %v, %v", text, w, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"auto", "ptd:a:1?settle=1s", "file:x?offset=-1s", "file:?offset=1s", "ptd:[::1]:8888", "file:a%3Fb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if s.Kind == File && s.Path == "" || s.Kind == PTD && (s.Address == "" || s.Settle < 0) {
			t.Errorf("Parse(%q) = %+v", text, s)
		}
	})
}

func ExampleParse() {
	for _, text := range []string{"auto", "ptd:meter:8888?settle=2s", "file:meter.csv?offset=-1.5s", "battery"} {
		s, err := Parse(text)
		fmt.Println(s.Kind, s.Address, s.Path, s.Settle, s.Offset, err)
	}
	// Output:
	// auto   0s 0s <nil>
	// ptd meter:8888  2s 0s <nil>
	// file  meter.csv 0s -1.5s <nil>
	// battery   0s 0s unknown source of power "battery", want auto, rapl, nvml, ptd:HOST:PORT or file:CSV
}

func ExampleRecord_Between() {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	s := Series{Name: "meter"}
	for i, watts := range []float64{100, 200, 100} {
		s.addWatts(at.Add(time.Duration(i)*time.Second), watts)
	}
	energy, err := (&Record{Series: []Series{s}}).Between(at, at.Add(2*time.Second))
	fmt.Println(energy.Joules, energy.MeanWatts, energy.PeakWatts, err)
	_, err = (&Record{Series: []Series{s}}).Between(at, at.Add(time.Hour))
	fmt.Println(err)
	// Output:
	// 300 150 200 <nil>
	// meter: the test ran from 2026-01-31 12:00:00.000Z to 2026-01-31 13:00:00.000Z, and power was measured from 2026-01-31 12:00:00.000Z to 2026-01-31 12:00:02.000Z
}
