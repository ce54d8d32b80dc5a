package englishtext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

var (
	andAHalf   = regexp.MustCompile(`and[` + space + `]+a[` + space + `]+half`)
	ordinalEnd = regexp.MustCompile(`([0-9])[` + space + `]+(st|nd|rd|th|s)`)
	centsAfter = regexp.MustCompile(`([€£$])([0-9]+) (?:and )?¢([0-9]{1,2})`)
	onlyCents  = regexp.MustCompile(`[€£$]0.([0-9]{1,2})`)
	aOne       = regexp.MustCompile(`1(s?)`)
)

// digits writes numbers in digits.
func digits(s string) string {
	if strings.Contains(s, "half") {
		s = halves(s)
	} else if strings.TrimFunc(s, pytext.IsSpace) == "" {
		return ""
	}
	s = replaceBounded(ordinalEnd, apart(s), "0123456789", false, func(m []string) string { return m[1] + m[2] })
	s = strings.Join(writeNumbers(pytext.Fields(s)), " ")
	s = replaceBounded(centsAfter, s, "¢", false, func(m []string) string {
		cents, _ := strconv.Atoi(m[3])
		return fmt.Sprintf("%s%s.%02d", m[1], m[2], cents)
	})
	s = replaceBounded(onlyCents, s, "€£$", false, func(m []string) string {
		cents, _ := strconv.Atoi(m[1])
		return fmt.Sprintf("¢%d", cents)
	})
	return replaceBounded(aOne, s, "1", true, func(m []string) string { return "one" + m[1] })
}

// apart puts a blank between letters and digits.
func apart(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && meet(s[i-1], s[i]) {
			b.WriteByte(' ')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// meet reports whether one is a letter and the other a digit.
func meet(a, b byte) bool { return isLetter(a) && isDigit(b) || isDigit(a) && isLetter(b) }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// halves writes "and a half" after a number as "point five".
func halves(s string) string {
	var parts []string
	for {
		at := findBounded(andAHalf, s, 0, true)
		if at == nil {
			break
		}
		if part := s[:at[0]]; strings.TrimFunc(part, pytext.IsSpace) != "" {
			words := pytext.Fields(part)
			end := "and a half"
			if last := words[len(words)-1]; decimals(last) || multipliers[last] != nil {
				end = "point five"
			}
			parts = append(parts, part, end)
		}
		s = s[at[1]:]
	}
	if strings.TrimFunc(s, pytext.IsSpace) != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// findBounded finds the first match from a place on that ends where a word does, and begins where one does
// too if both is true. Go's own \b knows only ASCII.
func findBounded(re *regexp.Regexp, s string, from int, both bool) []int {
	for from <= len(s) {
		at := re.FindStringSubmatchIndex(s[from:])
		if at == nil {
			return nil
		}
		move(at, from)
		if boundary(s, at[1]) && (!both || boundary(s, at[0])) {
			return at
		}
		_, n := utf8.DecodeRuneInString(s[at[0]:])
		from = at[0] + max(n, 1)
	}
	return nil
}

// move adds to the places of a match; those of groups that match nothing are -1.
func move(places []int, by int) {
	for i := range places {
		if places[i] >= 0 {
			places[i] += by
		}
	}
}

// replaceBounded replaces what findBounded finds, if one of the characters is there without
// which it finds nothing.
func replaceBounded(re *regexp.Regexp, s, needs string, both bool, with func(m []string) string) string {
	if !strings.ContainsAny(s, needs) {
		return s
	}
	var b strings.Builder
	done := 0
	for {
		at := findBounded(re, s, done, both)
		if at == nil {
			b.WriteString(s[done:])
			return b.String()
		}
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		b.WriteString(s[done:at[0]])
		b.WriteString(with(groups))
		done = at[1]
	}
}
