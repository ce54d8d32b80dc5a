package hf

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPatternsCutAsTheLibraryDoes(t *testing.T) {
	data, err := os.ReadFile("testdata/patterns.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts    []string
		Patterns []struct {
			Pattern string
			Parts   [][]string
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, p := range golden.Patterns {
		m, err := newRegexMatcher(p.Pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, text := range golden.Texts {
			got := slices.DeleteFunc(words(t, m, text), func(part string) bool { return part == "" })
			if !slices.Equal(got, p.Parts[i]) {
				t.Errorf("by %q, %q has the parts %q, want %q", p.Pattern, text, got, p.Parts[i])
			}
		}
	}
}

func TestAPatternThatWouldCutOtherwiseIsRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`a\h`: `\h is not known`, `[\h]`: `\h is not known`, `\Ra`: `\R is not known`, `a\`: "ends with a backslash", `[\`: "ends with a backslash",
		`\p{L`: "no closing brace", `[a`: "no closing bracket", `[`: "no closing bracket", `[[a]`: "no closing bracket", `[a&&]`: "no members", `[&&a]`: "no members",
		`[a&&&&b]`: "no members", `[[:alpha:]]`: "names in sets", `(?x) a`: "no option but i and m", `(?s).`: "no option but i and m", `(?~a)`: "no option but i and m",
		strings.Repeat("[", 16385): "16385 bytes, want at most 16384", strings.Repeat("[", 16384): "no closing bracket",
		`(?`: "unrecognized grouping", `(?i`: "no option but i and m", `(a`: "missing closing )", `a)`: "unexpected )", `a**`: "invalid nested repetition", `\p{Nobody}`: "Nobody",
	} {
		_, err := newRegexMatcher(pattern)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pattern ") {
			t.Errorf("%q: error %v, want one that says %q", pattern, err, want)
		}
	}
}

// Whatever the pattern, it is refused or cuts a text into parts that are the text.
func FuzzTranslate(f *testing.F) {
	for _, p := range []string{`\w+|[^\w\s]+`, `[a-c&&[^b\W]]`, `(?m:a{2,3}+)`, `^a++$`, `[]&&[a]`, `{,2}`, `(?>(`, llama3Pattern} {
		f.Add(p, "ab 12\né")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		m, err := newRegexMatcher(pattern)
		if err != nil || len(text) > 100 || len(pattern) > 100 {
			return
		}
		if re, ok := m.(regexMatcher); ok {
			re.MatchTimeout = patience / 50
		}
		joined := ""
		if m.divide(text, func(part string, _ bool) { joined += part }) == nil && joined != string([]rune(text)) {
			t.Errorf("by %q, %q has parts that are %q", pattern, text, joined)
		}
	})
}
