package grading

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a number, the name of a variable or a function, or an operator.
type token struct {
	kind tokenKind
	text string
}

type tokenKind int

const (
	operator tokenKind = iota
	number
	variable
	function // or constant
)

var (
	run         = `[0-9](?:_?[0-9])*`
	numberToken = regexp.MustCompile(`^(?:0x(?:_?[0-9a-f])+|0b(?:_?[01])+|0o(?:_?[0-7])+|(?:(?:` + run + `)?\.` + run + `|` + run + `\.?)(?:e[-+]?` + run + `)?j?)`)
)

// wrongExponent is that of a number without digits, which Python takes for a mistake from 3.12 on, and for a letter before.
var wrongExponent = regexp.MustCompile(`^e[-+]`)

// functions are the names that SymPy knows, of those that worthComputing lets through, and that are read here.
var functions = map[string]bool{"sqrt": true, "ln": true, "csc": true, "pi": true}

// foreign are the other names that SymPy or Python know: no answer is meant so.
var foreign = map[string]bool{
	"nan": true, "oo": true, "zoo": true, "gff": true, "rf": true, "ff": true, "re": true, "im": true, "frac": true, "li": true, "jn": true, "yn": true, "hn1": true, "hn2": true,
	"fft": true, "ntt": true, "fu": true, "eye": true, "all": true, "id": true, "as": true, "if": true, "in": true, "is": true, "or": true,
}

// letters are names of Greek letters, which are not read as a product. Those with more than two letters are not computed.
var letters = map[string]bool{"mu": true, "nu": true, "xi": true}

// tokens reads an expression as Python does, and as SymPy's parser goes on: letters side by side are multiplied, and so are numbers and parentheses without a sign between them.
func tokens(text string) ([]token, bool) {
	var all []token
	for text = strings.TrimLeft(text, " \t\f\n"); text != ""; text = strings.TrimLeft(text, " \t\f\n") {
		next, n := tokensOf(text)
		if n == 0 || len(all) > longest {
			return nil, false
		}
		if len(all) > 0 && multiplied(all[len(all)-1], next[0]) {
			all = append(all, token{operator, "*"})
		}
		all, text = append(all, next...), text[n:]
	}
	return all, true
}

// tokensOf are the tokens of what comes next, and how long that is; 0: it is not read.
func tokensOf(text string) ([]token, int) {
	for _, op := range []string{"**", floor, doubleFactorial, "(", ")", "+", "-", "*", "/", factorial} {
		if strings.HasPrefix(text, op) {
			return []token{{operator, op}}, len(op)
		}
	}
	if n := numberToken.FindString(text); n != "" {
		return numberTokens(n, text[len(n):])
	}
	end := strings.IndexFunc(text+" ", func(r rune) bool { return !continuesName(r) })
	first, _ := utf8.DecodeRuneInString(text)
	if unicode.IsDigit(first) || unicode.IsMark(first) || foreign[text[:end]] {
		return nil, 0
	}
	return nameTokens(text[:end], strings.HasPrefix(text[end:], factorial)), end
}

// continuesName reports whether a character may stand in a name of Python.
func continuesName(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Pc)
}

// numberTokens are those of a number, and of the imaginary unit behind it, before a rest; 0: Python takes both for one number that is wrong.
func numberTokens(text, rest string) ([]token, int) {
	if strings.HasPrefix(rest, "_") || wrongExponent.MatchString(rest) || text == "0" && rest != "" && strings.Contains("xbo", rest[:1]) {
		return nil, 0
	}
	plain, imaginary := strings.CutSuffix(text, "j")
	if imaginary {
		return []token{{number, plain}, {operator, "*"}, {function, "j"}}, len(text)
	}
	return []token{{number, plain}}, len(text)
}

// nameTokens are those of a name: a product of its letters and numbers, if it is not known. What a factorial is taken of stays together.
func nameTokens(name string, factorial bool) []token {
	switch {
	case functions[name]:
		return []token{{function, name}}
	case letters[name], strings.Contains(name, "_"):
		return []token{{variable, name}}
	}
	var all []token
	for name != "" {
		t := token{variable, name}
		switch rest := strings.TrimLeftFunc(name, unicode.IsDigit); {
		case rest != name:
			t, name = token{number, name[:len(name)-len(rest)]}, rest
		default:
			_, n := utf8.DecodeRuneInString(name)
			t.text, name = name[:n], name[n:]
		}
		if all != nil {
			all = append(all, token{operator, "*"})
		}
		all = append(all, t)
	}
	if factorial && len(all) > 1 {
		all = append(append([]token{{operator, "("}}, all...), token{operator, ")"})
	}
	return all
}

// multiplied reports whether there is a multiplication between two tokens.
func multiplied(a, b token) bool {
	ends := a.kind != operator && !takes(a) || a.text == ")" || a.text == "!" || a.text == "!!"
	begins := b.kind != operator || b.text == "("
	return ends && begins
}

// takes reports whether a function has to have an argument.
func takes(t token) bool { return t.kind == function && t.text != "pi" && t.text != "j" }
