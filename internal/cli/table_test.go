package cli

import "testing"

func TestNumbersHaveFourDigitsOrAllBeforeThePoint(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1.5: "1.5", 4.98765: "4.988", 780.64: "780.6", 9999.4: "9999", 9999.5: "10000", 19514.6: "19515", 1234567: "1234567", -20000.4: "-20000", 0.000123456: "0.0001235",
	} {
		if got := Digits(v); got != want {
			t.Errorf("Digits(%v) = %s, want %s", v, got, want)
		}
	}
}
