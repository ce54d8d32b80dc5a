package englishtext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/pytext"
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
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (letter(s[i-1]) && digit(s[i]) || digit(s[i-1]) && letter(s[i])) {
			b.WriteByte(' ')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

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
		for i := range at {
			if at[i] >= 0 {
				at[i] += from
			}
		}
		if boundary(s, at[1]) && (!both || boundary(s, at[0])) {
			return at
		}
		from = at[0] + 1
		for from < len(s) && s[from]&0xc0 == 0x80 {
			from++
		}
	}
	return nil
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
