package loadgen

import (
	"maps"
	"reflect"
	"strings"
	"testing"
)

// notSettings are fields of EffectiveSettings that follow from others: no log, file or record has them.
var notSettings = []string{"FixedInterval", "IssueQueryThreads"}

// TestEveryFieldHasARow: the logs, conf files, flags, records and rules know a field by its row only.
func TestEveryFieldHasARow(t *testing.T) {
	fields := func(of any) map[uintptr]string {
		v, names := reflect.ValueOf(of).Elem(), map[uintptr]string{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.Anonymous {
				names[v.FieldByIndex(f.Index).Addr().Pointer()] = f.Name
			}
		}
		return names
	}
	s, e := &TestSettings{}, &EffectiveSettings{}
	requested, effective := fields(s), fields(e)
	keys := map[string]bool{}
	take := func(row *Setting, field any, of map[uintptr]string) {
		if field == nil {
			return
		}
		if Value(field) == nil {
			t.Errorf("%s: Value does not know %T", row.Key, field)
		}
		at := reflect.ValueOf(field).Pointer()
		if of[at] == "" {
			t.Errorf("%s: its field has another row too, or is not one", row.Key)
		}
		delete(of, at)
	}
	for _, row := range Settings() {
		if name := row.Scenario + "." + row.Key; keys[name] {
			t.Errorf("%s has two rows", name)
		} else {
			keys[name] = true
		}
		take(row, row.Requested(s), requested)
		if row.Requested(s) != nil && row.Rule == 0 {
			t.Errorf("%s: how do the rules see it?", row.Key)
		}
		take(row, row.Effective(e), effective)
		if row.Needs != "" && !keys["."+row.Needs] {
			t.Errorf("%s comes before the switch that it needs, %s", row.Key, row.Needs)
		}
	}
	maps.DeleteFunc(requested, func(_ uintptr, name string) bool { return name == "ServerReplay" }) // the times of Arrivals, which has a row
	maps.DeleteFunc(effective, func(_ uintptr, name string) bool { return name == "ServerReplay" })
	for at, name := range effective {
		for _, not := range notSettings {
			if name == not {
				delete(effective, at)
			}
		}
	}
	if len(requested)+len(effective) > 0 {
		t.Errorf("without a row: %v of TestSettings, %v of EffectiveSettings", requested, effective)
	}
}

// TestKindsFitTheFields: a value of a kind is stored in a field of its type.
func TestKindsFitTheFields(t *testing.T) {
	kinds := map[string][]Kind{
		"*uint64": {KindCount, KindSmallCount}, "*int": {KindSmallCount}, "*bool": {KindSwitch}, "*loadgen.Mode": {KindMode}, "*loadgen.Scenario": {KindCount},
		"*time.Duration": {KindWholeMillis}, "*float64": {KindMillis, KindPercentile, KindProbability, KindRate}, "*loadgen.Arrivals": {KindArrivals},
	}
	for _, row := range Settings() {
		field := row.Requested(&TestSettings{})
		if field == nil {
			continue
		}
		name, fits := reflect.TypeOf(field).String(), false
		for _, k := range kinds[name] {
			fits = fits || k == row.Kind
		}
		if !fits {
			t.Errorf("%s: kind %d for a field of type %s", row.Key, row.Kind, strings.TrimPrefix(name, "*"))
		}
	}
}
