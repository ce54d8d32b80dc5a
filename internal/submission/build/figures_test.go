package build

import (
	"strconv"
	"strings"
	"testing"
)

func TestAccuraciesHaveFiveFiguresRoundedHalfToEven(t *testing.T) {
	for text, want := range map[string]string{
		"98.9995": "99.000", // the example of the rules
		"76.012":  "76.012", "76": "76.000", "0.8530835": "0.85308", "0.853085": "0.85308", "0.853075": "0.85308", "0.853095": "0.85310",
		"90.87487229720105": "90.875", "7.35088e6": "", "8167644": "8167600", "8167650": "8167600", "8167750": "8167800", "99999.5": "100000", "99998.5": "99998",
		"0": "0.0000", "0.00012345650": "0.00012346", "-1.000050": "-1.0000", "-1.00015": "-1.0002", "NaN": "", "1/3": "", "": "", "0x10": "", "1_0": "",
	} {
		got, err := round(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("round(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzRound(f *testing.F) {
	f.Add("98.9995")
	f.Add("-0.000001")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := round(text)
		if err != nil {
			return
		}
		exact, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return // too large for one
		}
		rounded, err := strconv.ParseFloat(once, 64)
		if diff := rounded - exact; err != nil || diff > 1e-4*max(exact, -exact) || -diff > 1e-4*max(exact, -exact) {
			t.Errorf("round(%q) = %q, %v", text, once, err)
		}
		if again, err := round(once); err != nil || strings.TrimRight(again, "0") != strings.TrimRight(once, "0") {
			t.Errorf("round(%q) = %q, and of that %q, %v", text, once, again, err)
		}
	})
}
