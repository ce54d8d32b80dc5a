package checker

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// decoded is a value of Python from JSON.
func decoded(t testing.TB, text string) python.Value {
	t.Helper()
	v, err := python.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func object1(t testing.TB, text string) *python.Dict {
	t.Helper()
	d, ok := decoded(t, text).(*python.Dict)
	if !ok {
		t.Fatalf("%s is no object", text)
	}
	return d
}

// wantText compares an error with a text; "" is none.
func wantText(t *testing.T, what string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// asked is the usual talk with the daemon of an analyzer: what was said, and the answer.
var asked = []command{
	{"Identify", "YokogawaWT310E,version=1.11.1-a"}, {"Watts", "ok"}, {"RR", "Ranges,0,5.0,0,300.0"},
	{"SR,A,Auto", "Range A changed"}, {"SR,V,Auto", "Range V changed"}, {"Go,1000,0,r", "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"},
	{"Stop", "Stopping untimed measurement"}, {"SR,A,5.0", "Range A changed"}, {"SR,V,300.0", "Range V changed"},
	{"Go,1000,0,t", "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"},
	{"Stop", "Stopping untimed measurement"}, {"SR,A,5.0", "Range A changed"}, {"SR,V,300.0", "Range V changed"}, {"Stop", "Error: no measurement to stop"}, {"SR,A,5.0", "Range A changed"},
}

// talk is the usual one with some words changed: "3 text" and "3= text" change what was said and
// what was answered at a place, "-3" leaves it out.
func talk(changes ...string) []command {
	list := append([]command{}, asked...)
	for _, c := range changes {
		place, text, _ := strings.Cut(c, " ")
		var i int
		fmt.Sscan(strings.Trim(place, "=-"), &i)
		switch {
		case strings.HasPrefix(place, "-"):
			list = append(list[:i:i], list[i+1:]...)
		case strings.HasSuffix(place, "="):
			list[i].reply = text
		default:
			list[i].cmd = text
		}
	}
	return list
}

func TestTheTalkWithTheDaemonIsInOrder(t *testing.T) {
	for _, check := range []func([]command) error{identity, replies, rangesRestored} {
		wantText(t, "the usual talk", check(asked), "")
	}
	for _, c := range []struct {
		name  string
		check func([]command) error
		list  []command
		want  string
	}{
		{"nobody asked who it is", identity, talk("0 identify"), "the daemon did not answer Identify"},
		{"no answer", identity, talk("0="), "the daemon did not answer Identify"},
		{"no version", identity, talk("0= YokogawaWT310E"), `version "" of the daemon is not supported, want 1.11.1`},
		{"a later version", identity, talk("0= YokogawaWT310E,version=1.12.0-a"), `version "1.12.0" of the daemon is not supported, want 1.11.1`},
		{"a version without the end of one", identity, talk("0= YokogawaWT310E,version=1.11.1"), `version "" of the daemon is not supported, want 1.11.1`},
		{"another analyzer", identity, talk("0= Clamp,version=1.11.1-a"), `the analyzer "Clamp" is not supported, want one of ` + strings.Join(devices, ", ")},
		{"the first answer counts", identity, talk("1 Identify", "1= Clamp"), ""},
		{"a range of amperes that was not set", replies, talk("3= Error"), "the daemon answered SR,A,Auto with 'Error', want 'Range A changed'"},
		{"a range of volts that was not set", replies, talk("8= Error"), "the daemon answered SR,V,300.0 with 'Error', want 'Range V changed'"},
		{"a measurement that did not start", replies, talk("9= busy"), "the daemon answered Go,1000,0,t with 'busy', want 'Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples'"},
		{"a measurement every half second", replies, talk("9 Go,500,0,t", "9= anything"), ""},
		{"a measurement that did not stop", replies, talk("6= Error"), "the daemon answered Stop with 'Error', want 'Stopping untimed measurement'"},
		{"a third that ran", replies, talk("13= Stopping untimed measurement"), "the daemon answered Stop with 'Stopping untimed measurement', want 'Error: no measurement to stop'"},
		{"two words", rangesRestored, asked[:2], "ptd_messages has fewer than three commands"},
		{"no ranges", rangesRestored, talk("2= Ranges"), `"Ranges" has no ranges`},
		{"ranges in words", rangesRestored, talk("2= Ranges,0,five,0,300.0"), `"Ranges,0,five,0,300.0" has no ranges`},
		{"ranges cut behind the amperes", rangesRestored, talk("2= Ranges,0,5.0,0"), `"Ranges,0,5.0,0" has no ranges`},
		{"automatic ranges", rangesRestored, talk("2= Ranges,1,5.0,1,300.0", "11 SR,A,Auto", "12 SR,V,Auto"), ""},
		{"automatic by a range of -1", rangesRestored, talk("2= Ranges,0,-1,0,0", "11 SR,A,Auto", "12 SR,V,Auto"), ""},
		{"volts that stay", rangesRestored, talk("12 x"), "too few commands SR,V"},
		{"other amperes at the end", rangesRestored, talk("11 SR,A,7", "14 SR,A,8"), "the range of amperes was set to SR,A,7 and SR,A,8, want SR,A,5.0 as at first"},
		{"amperes that were set back later", rangesRestored, talk("11 SR,A,7"), ""},
		{"other volts at the end", rangesRestored, talk("12 SR,V,7"), "the range of volts was set to SR,V,7, want SR,V,300.0 as at first"},
	} {
		wantText(t, c.name, c.check(c.list), c.want)
	}
}

func TestCommandsAreObjectsWithReplies(t *testing.T) {
	for text, want := range map[string]string{
		`{"m": []}`:                               "",
		`{"m": [{"cmd": "a", "reply": null}]}`:    "",
		`{"m": [{"cmd": "time"}]}`:                "", // what time it is, each side says itself
		`{}`:                                      "m of [m] is missing",
		`{"m": {}}`:                               "[m] is {}, want a list",
		`{"m": ["a"]}`:                            "m 0: cmd of [cmd] is missing",
		`{"m": [{"cmd": 5, "reply": "x"}]}`:       "m 0: [cmd] is 5, want a text",
		`{"m": [{"cmd": "time"}, {"cmd": "a"}]}`:  "m 1: reply of [reply] is missing",
		`{"m": [{"reply": "a"}]}`:                 "m 0: cmd of [cmd] is missing",
		`{"m": [{"cmd": "a", "reply": [1, {}]}]}`: "",
	} {
		_, err := commandsAt(object1(t, text), "m")
		wantText(t, text, err, want)
	}
}

func TestBothSidesSayTheSame(t *testing.T) {
	side := func(cmds ...string) *python.Dict {
		text := []string{}
		for _, c := range cmds {
			cmd, reply, _ := strings.Cut(c, "|")
			text = append(text, fmt.Sprintf(`{"cmd": %q, "reply": %s}`, cmd, reply))
		}
		return object1(t, `{"messages": [`+strings.Join(text, ", ")+`]}`)
	}
	const hello = `mlcommons/power client v3|"mlcommons/power server v3"`
	for _, c := range []struct {
		name           string
		client, server []string
		want           string
	}{
		{"a greeting", []string{hello}, []string{hello}, ""},
		{"the time is each side's own", []string{hello, `time|1`}, []string{hello, `time|2`}, ""},
		{"one message less", []string{hello, `a|1`}, []string{hello}, "the client has 2 messages and the server 1"},
		{"none", nil, nil, "the client has 0 messages and the server 0"},
		{"another word", []string{hello, `a|1`}, []string{hello, `b|1`}, "message 1 is not the same on both sides: a, 1 and b, 1"},
		{"another answer", []string{hello, `a|"x"`}, []string{hello, `a|null`}, "message 1 is not the same on both sides: a, 'x' and a, None"},
		{"another kind of number", []string{hello, `a|1`}, []string{hello, `a|1.0`}, ""},
		{"other versions", []string{`mlcommons/power client v3|"mlcommons/power server v4"`}, []string{`mlcommons/power client v3|"mlcommons/power server v4"`},
			`versions are not the same: "mlcommons/power client v3" and "mlcommons/power server v4"`},
		{"no version", []string{`hello|"you"`}, []string{`hello|"you"`}, `versions are not the same: "hello" and "you"`},
		{"an answer that is a list", []string{`mlcommons/power client v3|[]`}, []string{`mlcommons/power client v3|[]`}, "message 0 is not the same on both sides: mlcommons/power client v3, [] and mlcommons/power client v3, []"},
		{"more behind the version", []string{`mlcommons/power client v3 beta|"mlcommons/power server v3"`}, []string{`mlcommons/power client v3 beta|"mlcommons/power server v3"`},
			`versions are not the same: "mlcommons/power client v3 beta" and "mlcommons/power server v3"`},
	} {
		s := &session{client: side(c.client...), server: side(c.server...)}
		wantText(t, c.name, s.messages(), c.want)
	}
}

func TestIdentifiersAreThoseOfTheSession(t *testing.T) {
	const id = "12345678-90ab-cdef-1234-567890abcdef"
	for text, want := range map[string]string{
		id: "", strings.ToUpper(id): "", "{" + id + "}": "", "urn:uuid:" + id: "", strings.ReplaceAll(id, "-", ""): "",
		"1234": `"1234" is not a UUID`, "": `"" is not a UUID`, id + "0": `"` + id + `0" is not a UUID`, strings.Replace(id, "a", "g", 1): `"` + strings.Replace(id, "a", "g", 1) + `" is not a UUID`,
	} {
		plain, err := uuid(text)
		if wantText(t, text, err, want); want == "" && plain != strings.ReplaceAll(id, "-", "") {
			t.Errorf("uuid(%q) = %s", text, plain)
		}
	}
	side := func(client, server string) *python.Dict {
		return object1(t, fmt.Sprintf(`{"uuid": {"client": %q, "server": %s}, "session_name": "s"}`, client, server))
	}
	other := strings.Replace(id, "1", "2", 1)
	for _, c := range []struct {
		name           string
		client, server *python.Dict
		want           string
	}{
		{"the same", side(id, `"`+id+`"`), side(strings.ToUpper(id), `"{`+id+`}"`), ""},
		{"another client", side(id, `"`+id+`"`), side(other, `"`+id+`"`), "the UUID of the client is not that of server.json"},
		{"another server", side(id, `"`+other+`"`), side(id, `"`+id+`"`), "the UUID of the server is not that of server.json"},
		{"a number", side(id, "5"), side(id, `"`+id+`"`), "[uuid server] is 5, want a text"},
		{"none", object1(t, `{"uuid": []}`), side(id, `"`+id+`"`), "client of [uuid client] is missing"},
	} {
		wantText(t, c.name, (&session{client: c.client, server: c.server}).sameIDs(), c.want)
	}
	s := &session{client: object1(t, `{"session_name": "a"}`), server: object1(t, `{"session_name": "b"}`)}
	wantText(t, "two names", s.sameName(), "the session is called 'a' by the client and 'b' by the server")
	s.server = s.client
	wantText(t, "one name", s.sameName(), "")
	for text, want := range map[string]string{`{}`: "", `{"debug": false}`: "", `{"debug": true}`: "the server ran in debug mode", `{"debug": 0}`: "the server ran in debug mode", `{"debug": null}`: "the server ran in debug mode"} {
		s.server = object1(t, text)
		wantText(t, text, s.noDebug(), want)
	}
}

func TestAnalyzersAreThoseThatAreSupported(t *testing.T) {
	for text, want := range map[string]string{
		`{"ptd_config": []}`: "",
		`{"ptd_config": [{"device_type": 49}, {"device_type": 8}]}`: "",
		`{"ptd_config": [{"device_type": 49.0}]}`:                   "",
		`{}`:                                    "ptd_config of [ptd_config] is missing",
		`{"ptd_config": 5}`:                     "[ptd_config] is 5, want a list",
		`{"ptd_config": [{}]}`:                  "device_type of [device_type] is missing",
		`{"ptd_config": [{"device_type": 50}]}`: "the device type 50 is not supported",
		`{"ptd_config": [{"device_type": "49"}]}`:                                                      "the device type 49 is not supported",
		`{"ptd_config": [{"device_type": 77, "command": ["-c", "1,2"], "channel": [1, 2]}]}`:           "",
		`{"ptd_config": [{"device_type": 77, "command": ["-c", "1,2"], "channel": "12"}]}`:             "",
		`{"ptd_config": [{"device_type": 77, "command": ["-c", "1,2"], "channel": [1]}]}`:              `a WT330_multichannel measures with the channels "1,2" and uses [1], want two`,
		`{"ptd_config": [{"device_type": 77, "command": ["-c", "1"], "channel": [1, 2]}]}`:             `a WT330_multichannel measures with the channels "1" and uses [1, 2], want two`,
		`{"ptd_config": [{"device_type": 77, "command": [], "channel": [1, 2]}]}`:                      `a WT330_multichannel measures with the channels "" and uses [1, 2], want two`,
		`{"ptd_config": [{"device_type": 77, "command": ["x", "-c"], "channel": [1, 2]}]}`:             "2 of [2] is missing",
		`{"ptd_config": [{"device_type": 77, "command": ["-c", 12], "channel": [1, 2]}]}`:              "[1] is 12, want a text",
		`{"ptd_config": [{"device_type": 77, "command": ["-c", "1,2"]}]}`:                              "channel of [channel] is missing",
		`{"ptd_config": [{"device_type": 77, "channel": [1, 2]}]}`:                                     "command of [command] is missing",
		`{"ptd_config": [{"device_type": 77, "command": ["-c", "1,2"], "channel": {"a": 1, "b": 2}}]}`: "",
	} {
		wantText(t, text, (&session{server: object1(t, text)}).analyzers(), want)
	}
}

func TestSourcesAreThoseOfARelease(t *testing.T) {
	const changed = "sources are not those of a release of mlcommons/power-dev"
	release := func(change func(map[string]string)) *python.Dict {
		d, sources := &python.Dict{}, &python.Dict{}
		sums := map[string]string{}
		for name, sum := range powerRelease(t) {
			sums[name] = sum
		}
		change(sums)
		for name, sum := range sums {
			sources.Set(name, sum)
		}
		d.Set("sources", sources)
		return d
	}
	for name, c := range map[string]struct {
		d    *python.Dict
		want string
	}{
		"unchanged":       {release(func(map[string]string) {}), ""},
		"one changed":     {release(func(s map[string]string) { s["server.py"] = "0" }), changed},
		"one less":        {release(func(s map[string]string) { delete(s, "server.py") }), changed},
		"one more":        {release(func(s map[string]string) { s["more.py"] = "0" }), changed},
		"one of them odd": {release(func(s map[string]string) { s["more.py"] = s["server.py"]; delete(s, "server.py") }), changed},
		"none":            {object1(t, `{}`), changed},
		"a list":          {object1(t, `{"sources": []}`), changed},
	} {
		wantText(t, name, sources(c.d), c.want)
	}
}

func TestClocksOfBothSidesAgree(t *testing.T) {
	for _, c := range []struct{ client, server, want string }{
		{`[[1.0, 2], [5, 6]]`, `[[1.8, 2], [4.2, 6]]`, ""},
		{`[[1, 2]]`, `[[1.81, 2]]`, "phase 1 of testing began 810 ms apart for client and server, want at most 800 ms"},
		{`[[1, 2], [9, 2]]`, `[[1, 2], [7, 2]]`, "phase 2 of testing began 2000 ms apart for client and server, want at most 800 ms"},
		{`[[1, 2]]`, `[[1, 2], [3, 4]]`, "testing has 1 phases for the client and 2 for the server"},
		{`[["1", 2]]`, `[[1, 2]]`, "[0] is 1, want a number"},
		{`[[]]`, `[[1, 2]]`, "0 of [0] is missing"},
		{`{}`, `[]`, "[phases testing] is {}, want a list"},
		{`[[NaN]]`, `[[1]]`, "phase 1 of testing began NaN ms apart for client and server, want at most 800 ms"},
		{`[]`, `[]`, ""},
	} {
		s := &session{client: object1(t, `{"phases": {"testing": `+c.client+`}}`), server: object1(t, `{"phases": {"testing": `+c.server+`}}`)}
		_, err := s.sameClock("testing")
		wantText(t, c.client+" "+c.server, err, c.want)
	}
}

func TestARunLiesInItsPhase(t *testing.T) {
	const outside = "LoadGen's run was not in the phase ranging"
	phases := []float64{0, 100, 200, 300}
	for _, c := range []struct {
		name       string
		phases     []float64
		begin, end float64
		want       string
	}{
		{"within", phases, 101, 199, ""},
		{"at its begin", phases, 100, 199, outside},
		{"at its end", phases, 101, 200, outside},
		{"an hour later, as in summer", phases, 3701, 3799, ""},
		{"an hour later, at its end", phases, 3701, 3800, outside},
		{"one time an hour later, the other not", phases, 101, 3799, ""}, // as the official checker has it
		{"an hour before", phases, 101 - 3600, 199 - 3600, outside},
		{"two phases", phases[:2], 101, 199, "ranging has 2 phases, want 3 or more"},
		{"no time", phases, math.NaN(), 199, outside},
	} {
		wantText(t, c.name, inPhase(c.phases, "ranging", c.begin, c.end), c.want)
	}
}

func TestNumbersAreRoundedAsPythonRoundsThem(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   float64
	}{{2.5, 0, 2}, {3.5, 0, 4}, {-4.994, 2, -4.99}, {-4.996, 2, -5}, {2.675, 2, 2.67}, {0.125, 2, 0.12}, {100, 5, 100}, {1e22, 2, 1e22}} {
		if got := round(c.v, c.digits); got != c.want {
			t.Errorf("round(%v, %d) = %v, want %v", c.v, c.digits, got, c.want)
		}
	}
}

func TestSamplesOfPowerAreReadLineByLine(t *testing.T) {
	begin := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	end := begin.Add(time.Minute)
	const line = "Time,01-02-2026 10:00:30.000,Watts,100.5,Volts,230,Amps,0.4,PF,0.9,Mark,x"
	for _, c := range []struct {
		name, line string
		inside     bool
		watts      float64
		want       string
	}{
		{"a sample", line, true, 100.5, ""},
		{"before the run", strings.Replace(line, "10:00:30.000", "09:59:59.999", 1), false, 0, ""},
		{"at its begin", strings.Replace(line, "10:00:30.000", "10:00:00.000", 1), false, 0, ""},
		{"at its end", strings.Replace(line, "10:00:30.000", "10:01:00.000", 1), false, 0, ""},
		{"in words, before the run", "Time,01-02-2026 09:00:00.000,Watts,many", false, 0, ""},
		{"in words", strings.Replace(line, "100.5", "many", 1), true, 0, `"many" is not a number`},
		{"nan", strings.Replace(line, "100.5", "nan", 1), true, math.NaN(), ""},
		{"cut", "Time,01-02-2026 10:00:30.000,Watts,100.5,Volts", false, 0, "5 fields, want 10 or more"},
		{"without a time", "Time", false, 0, "no time"},
		{"at no time", "Time,noon,Watts,1", false, 0, `"noon" is not a time as MM-DD-YYYY HH:MM:SS.mmm`},
	} {
		s, inside, err := parseSample(c.line, begin, end)
		if c.want == "" && (inside != c.inside || inside && s.watts != c.watts && !math.IsNaN(c.watts)) {
			t.Errorf("%s: %+v, inside %v, want %v and %v W", c.name, s, inside, c.inside, c.watts)
		}
		wantText(t, c.name, err, c.want)
	}
	for _, c := range []struct {
		watts []float64
		mean  float64
		n     int
	}{{nil, 0, 0}, {[]float64{0, -5}, 0, 0}, {[]float64{100, 0, 200}, 150, 2}, {[]float64{math.NaN(), 7}, 7, 1}} {
		var samples []powerSample
		for _, w := range c.watts {
			samples = append(samples, powerSample{w, 1})
		}
		if mean, n := meanPower(samples); mean != c.mean || n != c.n {
			t.Errorf("meanPower(%v) = %v, %d, want %v, %d", c.watts, mean, n, c.mean, c.n)
		}
	}
}

// powerRelease is the newest release's sources.
func powerRelease(t testing.TB) map[string]string {
	t.Helper()
	all := rounds.PowerSources()
	if len(all) == 0 {
		t.Fatal("there is no release")
	}
	return all[len(all)-1]
}
