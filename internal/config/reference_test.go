package config

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A referenceCase is what LoadGen 6.0.17 made of a user.conf and an audit.config.
type referenceCase struct {
	Model, Scenario string
	User, Audit     string            // texts of the files; empty: no file
	Want            map[string]string // fields of TestSettings, floats in hexadecimal
}

func readReferenceCases(t *testing.T, file string) []referenceCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []referenceCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestSettingsEqualTheReference(t *testing.T) {
	for i, c := range readReferenceCases(t, "testdata/settings.json") {
		checkReferenceCase(t, fmt.Sprintf("case %d", i), c)
	}
}

func checkReferenceCase(t *testing.T, name string, c referenceCase) {
	t.Helper()
	scenario, err := loadgen.ParseScenario(c.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	q := Request{Model: Model{Name: c.Model}, Scenario: scenario}
	if c.User != "" {
		q.UserConf = mustParse(t, "user.conf", c.User)
	}
	if c.Audit != "" {
		q.AuditConf = mustParse(t, "audit.config", c.Audit)
	}
	got, err := Resolve(q)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	fields := reflect.ValueOf(got.Settings)
	for field, want := range c.Want {
		if value := fields.FieldByName(field); !equalsC(value, want) {
			t.Errorf("%s, %s in %s: %s = %v, want %s\nuser.conf:\n%s\naudit.config:\n%s",
				name, c.Model, c.Scenario, field, value, want, c.User, c.Audit)
		}
	}
}

func mustParse(t testing.TB, name, text string) *Conf {
	t.Helper()
	c, err := ParseConf(name, []byte(text), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustResolve(t testing.TB, q Request) *Resolved {
	t.Helper()
	r, err := Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustRules(t testing.TB, version string) *RuleSet {
	t.Helper()
	r, err := Rules(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// equalsC compares a field with what C printed.
func equalsC(v reflect.Value, want string) bool {
	switch v.Kind() {
	case reflect.Float64:
		f, err := strconv.ParseFloat(want, 64)
		return err == nil && v.Float() == f
	case reflect.Bool:
		return fmt.Sprint(v.Bool()) == strings.NewReplacer("0", "false", "1", "true").Replace(want)
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10) == want
	default:
		return strconv.FormatUint(uintOf(v), 10) == want
	}
}

func uintOf(v reflect.Value) uint64 {
	if v.CanUint() {
		return v.Uint()
	}
	return uint64(v.Int())
}

func TestEqualsCComparesEveryKindOfField(t *testing.T) {
	for _, c := range []struct {
		value any
		same  string
		other string
	}{
		{0.25, "0x1p-2", "0x1.8p-2"},
		{true, "1", "0"},
		{5 * time.Nanosecond, "5", "6"},
		{uint64(1 << 63), "9223372036854775808", "0"},
		{loadgen.PerformanceOnly, "2", "1"},
	} {
		if v := reflect.ValueOf(c.value); !equalsC(v, c.same) || equalsC(v, c.other) {
			t.Errorf("equalsC(%v) does not tell %s from %s", c.value, c.same, c.other)
		}
	}
}
