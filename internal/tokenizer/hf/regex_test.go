package hf

import (
	"testing"
	"time"

	"github.com/dlclark/regexp2"
)

func mustCompile(t testing.TB, pattern string) *regexp2.Regexp {
	t.Helper()
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		t.Fatal(err)
	}
	re.MatchTimeout = patience
	return re
}

// engineOf matches a pattern by the engine, even if it is known.
func engineOf(t testing.TB, pattern string) matcher {
	t.Helper()
	translated, err := translate(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return regexMatcher{mustCompile(t, translated)}
}

// tokenRegex is a pattern that takes forever, with less patience than usual.
func tokenRegex(t testing.TB) *regexp2.Regexp {
	re := mustCompile(t, "(a+)+$")
	re.MatchTimeout = 20 * time.Millisecond
	return re
}
