package checker

import "testing"

// The right column is what yaml.safe_load of Python says.
func TestTabsAreRefusedWherePythonRefusesThem(t *testing.T) {
	for text, want := range map[string]string{
		"a: b\n":                             "",
		"a:\tb\n":                            "line 1: a tab stands where Python's yaml wants spaces",
		"a: b\t\n":                           "line 1: a tab stands where Python's yaml wants spaces",
		"a: b\n\tc: d\n":                     "line 2: a tab stands where Python's yaml wants spaces",
		"a: b\tc\n":                          "line 1: a tab stands where Python's yaml wants spaces",
		"a: {b:\tc}\n":                       "line 1: a tab stands where Python's yaml wants spaces",
		"a: b #\tc\n":                        "",
		"#\ta\nb: c\n":                       "",
		"a: b#\tc\n":                         "line 1: a tab stands where Python's yaml wants spaces",
		"a: \"b\tc\"\n":                      "",
		"a: \"b\\\"\tc\"\n":                  "",
		"a: \"b\"\tc\n":                      "line 1: a tab stands where Python's yaml wants spaces",
		"a: 'b''\tc'\n":                      "",
		"a: 'b\n\tc'\n":                      "",
		"a: it's\n":                          "",
		"a: >-  # c\n  b\tc\n":               "",
		"a:\n  - |\n    b\tc\n  -\td\n":      "line 4: a tab stands where Python's yaml wants spaces",
		"a: |\n  b\nc: d\t\n":                "line 3: a tab stands where Python's yaml wants spaces",
		"a:\n  |\n  b\tc\n":                  "",
		"a: b\r\nc: |\r\n  d\te\r\nf: g\r\n": "",
	} {
		got := ""
		if err := noStrayTabs(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
