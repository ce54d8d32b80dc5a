package compliance

import (
	"strings"
	"testing"
)

func TestAnswersOfLanguageModels(t *testing.T) {
	for _, c := range []struct {
		name, scenario, data, extra string
		want                        bool
		says                        string
	}{
		{"a good answer", "Server", tokens(7, 8, 2), `, "token_count" : 3, "token_data" : "07000000"`, true, "First token check pass: True\nEOS check pass: True\nSample length check pass: True\n"},
		{"another first token", "Server", tokens(7, 8, 2), `, "token_count" : 3, "token_data" : "08000000"`, false, "First token check pass: False"},
		{"no first token in Offline", "Offline", tokens(7, 8), `, "token_count" : 2`, true, "First token check pass: Skipped"},
		{"two end tokens", "Offline", tokens(7, 2, 2), `, "token_count" : 3`, false, "EOS check pass: False"},
		{"end tokens only, of which the first is not looked at", "Offline", tokens(2, 2), `, "token_count" : 2`, true, "EOS check pass: True"},
		{"a wrong length", "Offline", tokens(7, 8), `, "token_count" : 3`, false, "Sample length check pass: False"},
		{"no length", "Offline", tokens(7, 8), "", false, "Sample length check pass: False"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeRun{scenario: c.scenario, metric: 1, settings: settings01, responses: []string{"4 " + c.data}, extra: c.extra}
			v, err := Verify(t.Context(), Test06, Logs{Audit: f.write(t)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed != c.want || !strings.Contains(v.texts[accuracyFile], c.says) {
				t.Errorf("passed = %v, want %v; the text is\n%s\nwant %q", v.Passed, c.want, v.texts[accuracyFile], c.says)
			}
			if want := "1 answers"; len(v.Facts) != 1 || v.Facts[0] != want {
				t.Errorf("the facts are %q, want %q", v.Facts, want)
			}
			if !c.want && !strings.Contains(v.Findings[0], "sample 4 (record 0") {
				t.Errorf("%q does not name the sample", v.Findings)
			}
		})
	}
}

func TestMeanLengthOfAnswers(t *testing.T) {
	for _, c := range []struct {
		name        string
		least, most float64
		want        bool
	}{
		{"at the least", 1.5, 3, true}, {"at the most", 1, 1.5, true}, {"below", 1.6, 3, false}, {"above", 1, 1.4, false}, {"gpt-oss-120b's", 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 " + tokens(1, 2, 3), "1 "}}
			v, err := Verify(t.Context(), Test09, Logs{Audit: f.write(t)}, Options{LeastTokens: c.least, MostTokens: c.most})
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(v.texts["verify_output_len.txt"], "TEST PASS"); v.Passed != c.want || has != c.want {
				t.Errorf("passed = %v, TEST PASS %v, want %v: %v", v.Passed, has, c.want, v.Facts)
			}
		})
	}
}
