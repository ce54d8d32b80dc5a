package testenv

import (
	"regexp"
	"strings"
)

// Names reports whether an error names these facts, divided by " … ", in this order and as whole words and numbers: the offender, its
// place, what was found and what it must be. The sentence around them is free. No facts: there must be no error.
func Names(err error, facts string) bool {
	if err == nil || facts == "" {
		return err == nil && facts == ""
	}
	return Tells(err.Error(), facts)
}

// Tells reports whether a text has the facts, as Names does.
func Tells(text, facts string) bool {
	for fact := range strings.SplitSeq(facts, " … ") {
		at := strings.Index(text, fact)
		for at >= 0 && (joined(text[:at], fact) || joined(fact, text[at+len(fact):])) {
			next := strings.Index(text[at+1:], fact)
			if next < 0 {
				return false
			}
			at += 1 + next
		}
		if at < 0 {
			return false
		}
		text = text[at+len(fact):]
	}
	return true
}

var (
	wordEnds   = regexp.MustCompile(`(\pL|\pN|\pN\.)$`)
	wordBegins = regexp.MustCompile(`^(\pL|\pN|\.\pN)`)
)

// joined reports whether two texts that follow each other divide a word or a number.
func joined(a, b string) bool {
	return wordEnds.MatchString(a) && wordBegins.MatchString(b)
}
