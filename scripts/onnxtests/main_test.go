package main

import "testing"

func TestJudge(t *testing.T) {
	const known = "different a\nrefused b\n"
	for _, c := range []struct {
		name  string
		list  []result
		worse bool
	}{
		{"as known", []result{{"a", different, ""}, {"b", refused, ""}, {"c", equal, ""}}, false},
		{"better", []result{{"a", equal, ""}, {"b", equal, ""}}, false},
		{"one is refused", []result{{"c", refused, ""}}, true},
		{"another way to fail", []result{{"b", broken, ""}}, true},
		{"refused instead of different", []result{{"a", refused, ""}}, true},
	} {
		if err := judge(c.list, known); (err != nil) != c.worse {
			t.Errorf("%s: %v, want an error: %v", c.name, err, c.worse)
		}
	}
}
