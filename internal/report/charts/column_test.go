package charts

import (
	"encoding/json"
	"math"
	"testing"
)

func TestAColumnIsFourDigitsOfEachNumber(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name   string
		column Column
		want   string
	}{
		{"nothing", nil, "[]"},
		{"one", Column{0}, "[0]"},
		{"more digits than matter", Column{123456, 0.000123456, -98765.4}, "[123500,0.0001235,-98770]"},
		{"what nothing measured", Column{nan, inf, -inf, 1}, "[null,null,null,1]"},
		{"the largest number, whose four digits are beyond it", Column{math.MaxFloat64, -math.MaxFloat64}, "[null,null]"},
		{"the smallest", Column{1e-5}, "[0.00001]"},
	} {
		text, err := json.Marshal(c.column)
		if err != nil || string(text) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, text, err, c.want)
			continue
		}
		var back Column
		if err := json.Unmarshal(text, &back); err != nil || len(back) != len(c.column) {
			t.Errorf("%s: %v, %v", c.name, back, err)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != c.want {
			t.Errorf("%s: a second time %s, %v", c.name, again, err)
		}
	}
}

func TestAColumnOfSomethingElseIsRefused(t *testing.T) {
	for _, text := range []string{`{}`, `"1"`, `[1,"2"]`, `[1e999]`, `[`, `[[1]]`} {
		c := Column{5}
		if err := json.Unmarshal([]byte(text), &c); err == nil {
			t.Errorf("%s is read as %v", text, c)
		}
	}
}

func TestTheLargestOfAColumnIsTheFirstOfThem(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		column Column
		value  float64
		at     int
	}{
		{Column{1, 3, 2}, 3, 1}, {Column{nan, -5, nan}, -5, 1}, {Column{2, 2}, 2, 0}, {Column{nan}, nan, -1}, {nil, nan, -1}, {Column{math.Inf(-1)}, math.Inf(-1), 0},
	} {
		value, at := c.column.Max()
		if at != c.at || value != c.value && !(math.IsNaN(value) && math.IsNaN(c.value)) {
			t.Errorf("%v: %g at %d, want %g at %d", c.column, value, at, c.value, c.at)
		}
	}
}
