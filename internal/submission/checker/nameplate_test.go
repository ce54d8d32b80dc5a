package checker

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

func TestTheCapacityOfASystemIsThatOfItsParts(t *testing.T) {
	const supplies = `"PSUs": [{"PowerCapacityWatts": 800}, {"PowerCapacityWatts": 1200.5}, {"PowerCapacityWatts": 900}]`
	for _, c := range []struct{ name, plate, want string }{
		{"the largest that are needed", `{` + supplies + `, "Min PSUs Needed": 2}`, "2100.5"},
		{"all", `{` + supplies + `, "Min PSUs Needed": 3}`, "2900.5"},
		{"more than there are", `{` + supplies + `, "Min PSUs Needed": 9}`, "2900.5"},
		{"none", `{` + supplies + `, "Min PSUs Needed": 0}`, "0"},
		{"all but one", `{` + supplies + `, "Min PSUs Needed": -1}`, "2100.5"},
		{"all but more than there are", `{` + supplies + `, "Min PSUs Needed": -9}`, "0"},
		{"null is all", `{` + supplies + `, "Min PSUs Needed": null}`, "2900.5"},
		{"true is one", `{` + supplies + `, "Min PSUs Needed": true}`, "1200.5"},
		{"false is none", `{` + supplies + `, "Min PSUs Needed": false}`, "0"},
		{"names in any letters", `{"psus": [{"PowerCapacityWatts": 5}], "MIN psus NEEDED": 1}`, "5"},
		{"of several nodes", `{"a": {"PSUs": [{"PowerCapacityWatts": 5}], "Min PSUs Needed": 1}, "b": [{"PSUs": [{"PowerCapacityWatts": 7}], "Min PSUs Needed": 1}]}`, "12"},
		{"of a rack in a rack", `{"r": {"s": {"PSUs": [{"PowerCapacityWatts": 5}], "Min PSUs Needed": 1}}}`, "5"},
		{"supplies without a count hold nothing", `{"PSUs": [{"PowerCapacityWatts": 5}]}`, "0"},
		{"a count without supplies", `{"Min PSUs Needed": 1}`, "0"},
		{"a supply without a power", `{"PSUs": [{}], "Min PSUs Needed": 1}`, "0"},
		{"no supplies", `{"PSUs": [], "Min PSUs Needed": 1}`, "0"},
		{"a word", `"hello"`, "0"},
		{"true watts", `{"PSUs": [{"PowerCapacityWatts": true}], "Min PSUs Needed": 1}`, "1"},
		{"many large ones", `{"PSUs": [{"PowerCapacityWatts": 9223372036854775807}, {"PowerCapacityWatts": 1}], "Min PSUs Needed": 2}`, "9223372036854775808"},
		{"a count in quotes", `{` + supplies + `, "Min PSUs Needed": "1"}`, "the field Min PSUs Needed is '1': want a whole number"},
		{"a count of 1.0", `{` + supplies + `, "Min PSUs Needed": 1.0}`, "the field Min PSUs Needed is 1.0: want a whole number"},
		{"supplies that are an object", `{"PSUs": {}, "Min PSUs Needed": 1}`, "PSUs is {}: want a list"},
		{"a supply that is a number", `{"PSUs": [800], "Min PSUs Needed": 1}`, "a PSU is 800: want an object"},
		{"a power in quotes", `{"PSUs": [{"PowerCapacityWatts": "800"}], "Min PSUs Needed": 1}`, "PowerCapacityWatts is '800': want a number"},
		{"a power of null", `{"PSUs": [{"PowerCapacityWatts": null}], "Min PSUs Needed": 1}`, "PowerCapacityWatts is None: want a number"},
		{"a name that is a number", `{"` + `\u0000` + `5": {}}`, "the name 5 is not a text"},
	} {
		watts, err := capacity(decoded(t, c.plate))
		got := str(watts)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestWhereASliceOfPythonEnds(t *testing.T) {
	for _, c := range []struct {
		end  python.Value
		size int
		want int
	}{{nil, 4, 4}, {int64(2), 4, 2}, {int64(9), 4, 4}, {int64(-1), 4, 3}, {int64(-9), 4, 0}, {true, 4, 1}, {false, 4, 0}, {int64(1), 0, 0}} {
		if got, err := sliceEnd(c.end, c.size); err != nil || got != c.want {
			t.Errorf("sliceEnd(%v, %d) = %d, %v, want %d", c.end, c.size, got, err, c.want)
		}
	}
}

func TestANameplateIsReadFromV61On(t *testing.T) {
	for version, want := range map[string]bool{"v5.1": false, "v6.0": false, "v6.1": true} {
		b := newBench(t, version, "resnet", "Offline")
		b.write("/closed/Org/systems/box_power.yaml", "a: [")
		found := false
		for _, f := range b.g.describe("closed", "Org", "box").findings {
			found = found || f.Rule == "system-nameplate"
		}
		if found != want {
			t.Errorf("%s: a nameplate that cannot be read is found: %v", version, found)
		}
	}
}
