package checker

import (
	"errors"
	"strings"
	"testing"
)

func TestTimesAreCutOffLines(t *testing.T) {
	for line, want := range map[string]string{
		"01-02-2026 10:00:00.123: x":  ": x",
		"01-02-2026 10:00:00,123: x":  ": x", // a point stands for every character
		"٠1-02-2026 10:00:00.12３: x":  ": x", // digits of any script
		"01-02-2026 10:00:00.123":     "",
		"1-02-2026 10:00:00.123: x":   "none",
		"01-02-2026  10:00:00.123: x": "none",
		"01-02-2026 10:00:00.12":      "none",
		"":                            "none",
		"x01-02-2026 10:00:00.123":    "none",
	} {
		stamp, rest, found := cutStamp(line)
		if found != (want != "none") || found && (rest != want || stamp+rest != line) || !found && (stamp != "" || rest != line) {
			t.Errorf("cutStamp(%q) = %q, %q, %v, want %q", line, stamp, rest, found, want)
		}
	}
}

const (
	checked = "01-02-2026 09:00:00.000: Uncertainty checking for YokogawaWT310E is activated"
	ranging = "01-02-2026 10:00:00.000: Go with mark 's_ranging'"
	ranged  = "01-02-2026 10:10:00.000: Completed test"
)

// at10 is a line of the daemon, so many minutes behind ten o'clock.
func at10(minute, text string) string { return "01-02-2026 10:" + minute + ":00.000: " + text }

func TestTheDaemonsLogTellsWhenItRanged(t *testing.T) {
	const mark = ": Go with mark 's_ranging'"
	none := "the time of ranging is not in the log"
	for _, c := range []struct {
		name, want string
		lines      []string
	}{
		{"both lines", "", []string{checked, ranging, ranged}},
		{"spaces behind", "", []string{ranging + " \t", ranged + " "}},
		{"a test that was completed before", "", []string{ranged, ranging, ranged}},
		{"lines without a time between", "", []string{ranging, "x", ranged}},
		{"no begin", none, []string{ranged}},
		{"no end", none, []string{ranging}},
		{"another session", none, []string{strings.Replace(ranging, "'s_", "'t_", 1), ranged}},
		{"more behind the mark", none, []string{ranging + "x", ranged}},
		{"a time that is none", `line 2: "13-02-2026 10:00:00.000" is not a time as MM-DD-YYYY HH:MM:SS.mmm`, []string{ranging, "13-02-2026 10:00:00.000: x", ranged}},
		{"a time that is none, behind all", "", []string{ranging, ranged, "13-02-2026 10:00:00.000: x"}},
		{"nothing", none, nil},
	} {
		r := &daemonRun{}
		err := r.findRanging(c.lines, mark)
		if c.want == "" && r.stopRanging-r.startRanging != 600 {
			t.Errorf("%s: ranging took %v s, want 600", c.name, r.stopRanging-r.startRanging)
		}
		wantText(t, c.name, err, c.want)
	}
}

func TestUncertaintyIsCheckedBeforeRanging(t *testing.T) {
	const late = "line 1: the check of uncertainty was activated after ranging began"
	for _, c := range []struct{ name, line, want string }{
		{"before", checked, ""},
		{"not at all", "x", "the check of uncertainty was not activated"},
		{"as ranging began", strings.Replace(checked, "09:00", "10:00", 1), late},
		{"at no time", checked[25:], late},
		{"of another maker", strings.Replace(checked, "Yokogawa", "Clamp", 1), "the check of uncertainty was not activated"},
		{"of a device with a space", strings.Replace(checked, "WT310E", "WT 310E", 1), "the check of uncertainty was not activated"},
	} {
		r := &daemonRun{}
		if err := r.findRanging([]string{ranging, ranged}, ": Go with mark 's_ranging'"); err != nil {
			t.Fatal(err)
		}
		wantText(t, c.name, r.uncertaintyChecked([]string{c.line}), c.want)
	}
}

func TestComplaintsOfTheDaemonAreWeighed(t *testing.T) {
	const uncertainty = "Uncertainty 1.25%, which is above 1.00% limit for the last sample!"
	r := &daemonRun{}
	if err := r.findRanging([]string{ranging, ranged}, ": Go with mark 's_ranging'"); err != nil {
		t.Fatal(err)
	}
	r.startLoad, r.stopLoad = r.stopRanging+300, r.stopRanging+300+2400 // 10:15 to 10:55
	ok, stop := "", errStop.Error()
	for _, c := range []struct {
		name, want string
		lines      []string
	}{
		{"nothing", ok, []string{checked, ranging, ranged}},
		{"uncertain in the middle of the run", "line 1: during the test: " + uncertainty, []string{at10("35", "WARNING: "+uncertainty)}},
		{"uncertain within 800 s of its begin", ok, []string{at10("28", "WARNING: "+uncertainty)}},
		{"uncertain within 800 s of its end", ok, []string{at10("42", "WARNING: "+uncertainty)}},
		{"another warning ends the check", stop, []string{at10("35", "WARNING: warm"), at10("35", "ERROR: cold")}},
		{"another warning early does not", "line 2: an error outside of ranging: cold", []string{at10("16", "WARNING: warm"), at10("35", "ERROR: cold")}},
		{"an empty warning is none", "line 2: an error outside of ranging: cold", []string{at10("35", "WARNING:"), at10("35", "ERROR: cold")}},
		{"an error of USB ends the check", stop, []string{at10("35", "ERROR: USB."), at10("35", "ERROR: cold")}},
		{"an error that ranging may have", ok, []string{at10("05", "ERROR: Bad watts reading nan from x")}},
		{"the same in the run", "line 1: an error outside of ranging: Bad watts reading nan from x", []string{at10("35", "ERROR: Bad watts reading nan from x")}},
		{"another error in ranging ends the check", stop, []string{at10("05", "ERROR: odd"), at10("35", "ERROR: cold")}},
		{"an error as ranging begins", "line 1: an error outside of ranging: x", []string{at10("00", "ERROR: x")}},
		{"an error as it ends", "line 1: an error outside of ranging: x", []string{at10("10", "ERROR: x")}},
		{"an error at no time", `line 1: "ERROR: x" has no time`, []string{"ERROR: x"}},
		{"a warning at no time", `line 2: "WARNING: x" has no time`, []string{"fine", "WARNING: x"}},
		{"a long error is cut", "line 1: an error outside of ranging: " + strings.Repeat("x", 119) + "…", []string{at10("35", "ERROR: "+strings.Repeat("x", 200))}},
	} {
		wantText(t, c.name, r.complaints(c.lines), c.want)
	}
	if !errors.Is(r.complaints([]string{at10("35", "WARNING: warm")}), errStop) {
		t.Error("a warning is not taken for one")
	}
}

func TestWhatFollowsAMark(t *testing.T) {
	for _, c := range []struct {
		line, text string
		found      bool
	}{
		{at10("00", "ERROR: x "), "x", true}, {at10("00", "ERROR:x"), "x", true}, {at10("00", "ERROR:"), "", false}, {at10("00", "fine"), "", false},
		{at10("00", "ERROR: a ERROR: b"), "a ERROR: b", true}, {at10("00", "ERROR: \u00a0"), "", true},
	} {
		text, at, found, err := after(c.line, "ERROR:")
		if err != nil || text != c.text || found != c.found || found != (at > 0) {
			t.Errorf("after(%q) = %q, %v, %v, %v, want %q, %v", c.line, text, at, found, err, c.text, c.found)
		}
	}
}
