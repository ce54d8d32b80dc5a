package config

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A referenceCase has the settings of LoadGen 6.0.17 with a user.conf and an audit.config.
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

func TestGoldenSettings(t *testing.T) {
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

// An oddity is a file in an unusual form, with the settings of LoadGen.
type oddity struct {
	Text, Scenario string
	Accepted       bool
	Values         []string // of oddFields, for the model m
}

// oddFields are what testdata/oddities.cc prints, times in milliseconds.
func oddFields(s loadgen.TestSettings) []any {
	return []any{
		s.MinQueryCount, s.OfflineExpectedQPS, s.ServerMaxAsyncQueries, s.ServerTargetLatencyPercentile, s.SingleStreamExpectedLatencyNS / 1e6,
		uint64(s.MinDuration.Milliseconds()),
	}
}

func readOddities(t *testing.T) []oddity {
	t.Helper()
	data, err := os.ReadFile("testdata/oddities.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []oddity
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Lines that LoadGen misreads silently are errors here, for one of these reasons.
var misread = []string{
	"unknown key", "unknown scenario", "expected model.scenario.key", "expected an = between spaces", "has no value", "is not an octal number", "expected a whole number",
	"must be above 0", "expected a percentile", "does not fit into 64 bits", "more than a run can last", "expected at most", "must not be negative", "expected a finite number",
	"is too large", " says ", // a key with two values
}

// A file that LoadGen accepts has the same settings here, or is refused for something that LoadGen misreads. One that
// LoadGen refuses, and then runs without, is refused or at least warned of.
func TestGoldenOddFiles(t *testing.T) {
	read := 0
	for _, o := range readOddities(t) {
		conf, err := ParseConf("user.conf", []byte(o.Text), ParseOptions{})
		switch {
		case err != nil && o.Accepted:
			checkMisread(t, o.Text, err)
		case err == nil && !o.Accepted:
			if len(conf.Warnings) == 0 {
				t.Errorf("%q is refused by LoadGen, and not warned of here", o.Text)
			}
		case err == nil && strings.HasPrefix(o.Text, byteOrderMark):
			if len(conf.Warnings) == 0 {
				t.Errorf("%q begins with a byte order mark, which is not warned of", o.Text)
			}
		case err == nil:
			read++
			checkOddity(t, o, conf)
		}
	}
	if read < 80 {
		t.Errorf("only %d of the files are read", read)
	}
}

// checkMisread looks at each of the errors that an accepted file gives.
func checkMisread(t *testing.T, text string, err error) {
	t.Helper()
	for line := range strings.Lines(err.Error()) {
		known := false
		for _, reason := range misread {
			known = known || strings.Contains(line, reason)
		}
		if !known {
			t.Errorf("%q is accepted by LoadGen, and refused here: %s", text, line)
		}
	}
}

func checkOddity(t *testing.T, o oddity, conf *Conf) {
	t.Helper()
	scenario, err := loadgen.ParseScenario(o.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(Request{Model: Model{Name: "m"}, Scenario: scenario, MLPerfConf: conf})
	if err != nil {
		checkMisread(t, o.Text, err) // a rate of 0, which only matters here
		return
	}
	for i, got := range oddFields(r.Settings) {
		if !equalsC(reflect.ValueOf(got), o.Values[i]) {
			t.Errorf("%q: value %d is %v, want %s", o.Text, i, got, o.Values[i])
		}
	}
}

func TestGoldenConfs(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	var official map[string]map[string]string
	if err := json.Unmarshal(data, &official); err != nil {
		t.Fatal(err)
	}
	if len(official) != len(Versions()) {
		t.Fatalf("%d official files for %d rule sets", len(official), len(Versions()))
	}
	for version, want := range official {
		rules := mustRules(t, version)
		got := map[string]string{}
		for _, e := range rules.Conf.entries {
			got[e.Name()] = e.Value
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rules %s (-official +ours):\n%s", version, diff)
		}
		if len(rules.Conf.Warnings) > 0 {
			t.Errorf("rules %s: %q", version, rules.Conf.Warnings)
		}
	}
}

func TestSeedsOfTheChecker(t *testing.T) {
	// tools/submission, MODEL_CONFIG: seeds and test05_seeds.
	want := map[string][2]Seeds{
		"v0.5": {{3133965575612453542, 665484352860916858, 3622009729038561421}, {195, 235, 634}},
		"v0.7": {{12786827339337101903, 12640797754436136668, 3135815929913719677}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v1.0": {{7322528924094909334, 1570999273408051088, 3507442325620259414}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v1.1": {{1624344308455410291, 517984244576520566, 10051496985653635065}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v2.0": {{6655344265603136530, 15863379492028895792, 12662793979680847247}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v2.1": {{14284205019438841327, 4163916728725999944, 299063814864929621}, {313588358309856706, 471397156132239067, 413914573387865862}},
		"v3.0": {{10003631887983097364, 17183018601990103738, 12134888396634371638}, {14646058500348515648, 1207248993894122914, 11879132697760422006}},
		"v3.1": {{148687905518835231, 520418551913322573, 811580660758947900}, {793197339507417767, 255610748586851044, 352213341366340113}},
		"v4.0": {{13281865557512327830, 198141574272810017, 7575108116881280410}, {2376919268182438552, 11176391829184272374, 3911940905271271337}},
		"v4.1": {{3066443479025735752, 10688027786191513374, 14962580496156340209}, {16799458546791641818, 5453809927556429288, 5435552105434836064}},
		"v5.0": {{6023615788873153749, 15036839855038426416, 9933818062894767841}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
		"v5.1": {{1780908523862526354, 14771362308971278857, 18209322760996052031}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
		"v6.0": {{2465351861681999779, 14276810075590677512, 3936089224930324775}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
		"v6.1": {{2085463073848966840, 2747215439041700203, 16159082839903944936}, {7975553102935885558, 11403566307062068064, 15816800565822761601}},
	}
	for _, version := range Versions() {
		for _, scenario := range loadgen.Scenarios() {
			s := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: scenario, Rules: mustRules(t, version)}).Settings
			got := [2]Seeds{
				{s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed},
				{s.Test05QSLRNGSeed, s.Test05SampleIndexRNGSeed, s.Test05ScheduleRNGSeed},
			}
			if got != want[version] {
				t.Errorf("seeds of %s in %v = %v, want %v", version, scenario, got, want[version])
			}
		}
	}
	if got := NewestSeeds(); got != want[Newest][0] {
		t.Errorf("NewestSeeds() = %v, want those of %s, %v", got, Newest, want[Newest][0])
	}
}
