package bfcl

import (
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// parseArguments are the named arguments of a call in Python: literals with their values, other expressions as a text. Arguments without a
// name do not count. What is not Python is the argument _raw. Raises is set where the scorer cannot write a value as JSON: a set, bytes.
func parseArguments(text string) (arguments *dict, raises bool) {
	arguments = &dict{}
	if text == "" {
		return arguments, false
	}
	p := &parser{text: text}
	if err := p.arguments(func(name string, x expression) {
		if name == "" {
			return
		}
		if x.is {
			raises = raises || x.literal == errUnwritable
			arguments.set(name, x.literal)
		} else {
			arguments.set(name, x.text)
		}
	}); err == nil && p.skip() == 0 {
		return arguments, raises
	}
	arguments = &dict{}
	arguments.set("_raw", text)
	return arguments, false
}

// An expression is one of Python's, as it is unparsed, and its value if it is a literal.
type expression struct {
	text    string
	literal value
	is      bool // a literal
	rank    int  // of the operation, as in operators; rankAtom: none
}

// errUnwritable is the value of literals that JSON has not.
var errUnwritable = errors.New("the value is none of JSON")

// keywords are the words that cannot be names.
var keywords = []string{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
	"except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
	"while", "with", "yield"}

var errSyntax = errors.New("not an expression")

// A parser reads expressions.
type parser struct {
	text  string
	at    int
	depth int
}

// skip skips white space, and returns the byte that follows; 0: the end.
func (p *parser) skip() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\f\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take takes a mark if it follows.
func (p *parser) take(mark string) bool {
	p.skip()
	if !strings.HasPrefix(p.text[p.at:], mark) {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(mark); letter(r) {
		next, _ := utf8.DecodeRuneInString(p.text[p.at+len(mark):])
		if pytext.IsWord(next) && p.at+len(mark) < len(p.text) {
			return false
		}
	}
	p.at += len(mark)
	return true
}

// name takes a name if one follows; empty: none.
func (p *parser) name() string {
	p.skip()
	first, _ := utf8.DecodeRuneInString(p.text[p.at:])
	if first != '_' && !unicode.IsLetter(first) {
		return ""
	}
	rest := strings.TrimLeftFunc(p.text[p.at:], func(r rune) bool {
		return r == '_' || unicode.IsLetter(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
	})
	name := p.text[p.at : len(p.text)-len(rest)]
	if slices.Contains(keywords, name) {
		return ""
	}
	p.at += len(name)
	return name
}

// arguments reads the arguments of a call, up to its end.
func (p *parser) arguments(each func(name string, x expression)) error {
	named := false
	for p.skip() != 0 && p.text[p.at] != ')' {
		if p.take("**") || p.take("*") { // those of a list or a dictionary have no names here
			if _, err := p.expression(0); err != nil {
				return err
			}
			if !p.take(",") {
				break
			}
			continue
		}
		start := p.at
		name := p.name()
		if c := p.skip(); name == "" || c != '=' || strings.HasPrefix(p.text[p.at:], "==") {
			p.at, name = start, ""
		} else {
			p.at++
		}
		if name == "" && named {
			return errSyntax
		}
		named = named || name != ""
		x, err := p.expression(0)
		if err != nil {
			return err
		}
		each(name, x)
		if !p.take(",") {
			break
		}
	}
	return nil
}

// operators are those between two expressions by how tightly they bind.
var operators = [][]string{
	{"or"}, {"and"}, nil, {"not in", "in", "is not", "is", "<=", ">=", "==", "!=", "<", ">"}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"},
	{"//", "*", "/", "%", "@"}, nil, {"**"},
}

// Ranks of what has one expression.
const (
	rankNot   = 2
	rankSign  = 10
	rankPower = 11
	rankAtom  = 12
)

// expression reads operations that bind at least so tightly.
func (p *parser) expression(rank int) (expression, error) {
	if p.depth++; p.depth > maxDepth {
		return expression{}, errTooDeep
	}
	defer func() { p.depth-- }()
	left, err := p.prefixed(rank)
	for err == nil {
		op, opRank := p.operator(rank)
		if op == "" {
			return left, nil
		}
		right, next := expression{}, opRank+1
		if opRank == rankPower {
			next = rankSign // a ** -b, and from the right
		}
		if right, err = p.expression(next); err != nil {
			return left, err
		}
		left = expression{text: left.within(opRank) + " " + op + " " + right.within(opRank+1), rank: opRank}
	}
	return left, err
}

// within is the text of an expression in an operation.
func (x expression) within(rank int) string {
	if x.rank < rank && !x.is {
		return "(" + x.text + ")"
	}
	return x.text
}

// operator takes an operator that binds at least so tightly; empty: none follows.
func (p *parser) operator(rank int) (string, int) {
	start := p.at
	for r := len(operators) - 1; r >= rank; r-- {
		for _, op := range operators[r] {
			words := strings.Fields(op)
			found := p.take(words[0]) && (len(words) == 1 || p.take(words[1]))
			if found && !(strings.HasPrefix(p.text[p.at:], "=") && letterless(op)) && !(op == "*" && strings.HasPrefix(p.text[p.at:], "*")) {
				return op, r
			}
			p.at = start
		}
	}
	return "", 0
}

func letterless(op string) bool {
	return !letter(rune(op[0])) && !strings.HasSuffix(op, "=") && op != "<" && op != ">"
}

// prefixed reads an expression that may have a sign or a not before it.
func (p *parser) prefixed(rank int) (expression, error) {
	if rank <= rankNot && p.take("not") {
		x, err := p.expression(rankNot)
		return expression{text: "not " + x.within(rankNot), rank: rankNot}, err
	}
	for _, sign := range []string{"-", "+", "~"} {
		if !p.take(sign) {
			continue
		}
		x, err := p.expression(rankSign)
		out := expression{text: sign + x.within(rankSign), rank: rankSign}
		if sign == "~" || err != nil {
			return out, err
		}
		switch v := x.literal.(type) { // literal_eval takes signs before numbers
		case *big.Int:
			out.literal, out.is = v, true
			if sign == "-" {
				out.literal = new(big.Int).Neg(v)
			}
		case float64:
			out.literal, out.is = v, true
			if sign == "-" {
				out.literal = -v
			}
		}
		return out, nil
	}
	return p.trailed()
}

// trailed reads an atom with what follows it: attributes, indices, arguments.
func (p *parser) trailed() (expression, error) {
	x, err := p.atom()
	for err == nil {
		switch p.skip() {
		case '.':
			p.at++
			name := p.name()
			if name == "" {
				return x, errSyntax
			}
			x = expression{text: x.within(rankAtom) + "." + name, rank: rankAtom}
		case '(':
			p.at++
			var list []string
			err = p.arguments(func(name string, x expression) {
				if name != "" {
					name += "="
				}
				list = append(list, name+x.text)
			})
			if err == nil && !p.take(")") {
				err = errSyntax
			}
			x = expression{text: x.within(rankAtom) + "(" + strings.Join(list, ", ") + ")", rank: rankAtom}
		case '[':
			p.at++
			var index expression
			if index, err = p.expression(0); err == nil && !p.take("]") {
				err = errSyntax
			}
			x = expression{text: x.within(rankAtom) + "[" + index.text + "]", rank: rankAtom}
		default:
			return x, nil
		}
	}
	return x, err
}

// atom reads a name, a literal, or what is in brackets.
func (p *parser) atom() (expression, error) {
	c := p.skip()
	switch {
	case c == '(':
		p.at++
		items, commas, err := p.items(")")
		if err == nil && len(items) == 1 && commas == 0 {
			return items[0], nil
		}
		return sequence("(", items, ")"), err
	case c == '[':
		p.at++
		items, _, err := p.items("]")
		return sequence("[", items, "]"), err
	case c == '{':
		p.at++
		return p.braces()
	case c == '.' || '0' <= c && c <= '9':
		return p.number()
	case c == '\'' || c == '"' || p.stringPrefix() >= 0:
		return p.strings()
	}
	for word, v := range map[string]value{"True": true, "False": false, "None": nil} {
		if p.take(word) {
			return expression{text: word, literal: v, is: true, rank: rankAtom}, nil
		}
	}
	name := p.name()
	if name == "" {
		return expression{}, errSyntax
	}
	return expression{text: name, rank: rankAtom}, nil
}

// items reads expressions between commas up to a bracket, and how many commas there are.
func (p *parser) items(end string) (items []expression, commas int, err error) {
	for !p.take(end) {
		if len(items) > commas {
			return nil, 0, errSyntax
		}
		x, err := p.expression(0)
		if err != nil {
			return nil, 0, err
		}
		if items = append(items, x); p.take(",") {
			commas++
		}
	}
	return items, commas, nil
}

// sequence is a list or a tuple, which is a list in JSON.
func sequence(open string, items []expression, end string) expression {
	out, texts := expression{is: true, rank: rankAtom}, []string(nil)
	values := list{}
	for _, x := range items {
		texts, values, out.is = append(texts, x.text), append(values, x.literal), out.is && x.is
		if x.literal == errUnwritable {
			out.literal = errUnwritable
		}
	}
	if out.literal == nil {
		out.literal = values
	}
	out.text = open + strings.Join(texts, ", ") + end
	return out
}

// braces reads a dictionary, or a set.
func (p *parser) braces() (expression, error) {
	object, texts, out := &dict{}, []string(nil), expression{is: true, rank: rankAtom}
	for first := true; !p.take("}"); first = false {
		if !first && !p.take(",") {
			return out, errSyntax
		}
		if p.take("}") {
			break
		}
		key, err := p.expression(0)
		if err != nil {
			return out, err
		}
		if !p.take(":") { // of a set
			out.is, out.literal, texts = out.is && key.is, errUnwritable, append(texts, key.text)
			continue
		}
		v, err := p.expression(0)
		if err != nil {
			return out, err
		}
		texts, out.is = append(texts, key.text+": "+v.text), out.is && key.is && v.is
		name, ok := keyText(key.literal)
		if !ok || v.literal == errUnwritable {
			out.literal = errUnwritable
		}
		object.set(name, v.literal)
	}
	if out.literal == nil {
		out.literal = object
	}
	out.text = "{" + strings.Join(texts, ", ") + "}"
	return out, nil
}

// keyText is a key of a dictionary as JSON has it.
func keyText(v value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case *big.Int:
		return v.String(), true
	case float64:
		return pytext.Float(v), true
	case bool:
		return strconv.FormatBool(v), true
	case nil:
		return "null", true
	}
	return "", false
}

// number reads a number. Complex ones are none of JSON.
func (p *parser) number() (expression, error) {
	end := p.at
	for end < len(p.text) {
		c := p.text[end]
		sign := (c == '+' || c == '-') && (p.text[end-1]|0x20) == 'e' && end > p.at && !strings.HasPrefix(strings.ToLower(p.text[p.at:]), "0x")
		if r, _ := utf8.DecodeRuneInString(p.text[end:]); c != '.' && !sign && !pytext.IsWord(r) {
			break
		}
		end++
	}
	text := p.text[p.at:end]
	p.at = end
	out := expression{text: text, is: true, rank: rankAtom}
	if digits, complex := strings.CutSuffix(strings.ToLower(text), "j"); complex && validFloat(digits) {
		out.literal = errUnwritable
		return out, nil
	}
	zeros := strings.Trim(text, "0_") != "" && len(text) > 1 && text[0] == '0' && strings.IndexByte("0123456789_", text[1]) >= 0
	if n, ok := new(big.Int).SetString(text, 0); ok && !zeros && text[0] != '.' { // 012 is not octal in Python
		out.literal, out.text = n, n.String()
		return out, nil
	}
	if zeros && !strings.ContainsAny(text, ".eE") || !validFloat(text) {
		return out, errSyntax
	}
	v, _ := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64) // an infinity where it is out of range
	out.literal, out.text = v, pytext.Float(v)
	return out, nil
}

// validFloat reports whether a text is a decimal number, perhaps with an exponent.
func validFloat(text string) bool {
	mantissa, exponent, has := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, point := strings.Cut(mantissa, ".")
	digits := func(s string, empty bool) bool {
		return s == "" && empty || s != "" && s[0] != '_' && s[len(s)-1] != '_' && !strings.Contains(s, "__") && strings.Trim(s, "0123456789_") == ""
	}
	exponent = strings.TrimLeft(exponent, "+-")
	return digits(whole, point) && digits(fraction, true) && whole+fraction != "" && (!has || digits(exponent, false))
}

// stringPrefix is the length of the letters before a text in quotes; -1: none follows. Formatted texts are expressions that are not read.
func (p *parser) stringPrefix() int {
	for n := range 3 {
		if p.at+n >= len(p.text) {
			return -1
		}
		if c := p.text[p.at+n]; c == '\'' || c == '"' {
			prefix := strings.ToLower(p.text[p.at : p.at+n])
			if slices.Contains([]string{"", "r", "u", "b", "br", "rb"}, prefix) {
				return n
			}
			return -1
		}
	}
	return -1
}

// strings reads texts in quotes that follow each other, which are one.
func (p *parser) strings() (expression, error) {
	text, bytes, plain := "", false, false
	for p.skip() != 0 {
		n := p.stringPrefix()
		if n < 0 {
			break
		}
		prefix := strings.ToLower(p.text[p.at : p.at+n])
		p.at += n
		part, err := p.quoted(strings.Contains(prefix, "r"))
		if err != nil {
			return expression{}, err
		}
		isBytes := strings.Contains(prefix, "b")
		bytes, plain = bytes || isBytes, plain || !isBytes
		text += part
	}
	if bytes && plain {
		return expression{}, errSyntax
	}
	out := expression{text: quote(text), literal: text, is: true, rank: rankAtom}
	if bytes {
		out.literal = errUnwritable
	}
	return out, nil
}

// quote is repr of a text, roughly: for the texts of expressions, whose quotes are compared as one kind.
func quote(text string) string {
	q := "'"
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		q = `"`
	}
	return q + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, q, `\`+q).Replace(text) + q
}

// quoted reads a text in quotes, one or three.
func (p *parser) quoted(raw bool) (string, error) {
	mark := p.text[p.at : p.at+1]
	if long := strings.Repeat(mark, 3); strings.HasPrefix(p.text[p.at:], long) {
		mark = long
	}
	p.at += len(mark)
	var b strings.Builder
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case strings.HasPrefix(rest, mark):
			p.at += len(mark)
			return b.String(), nil
		case rest[0] == '\n' && len(mark) == 1:
			return "", errSyntax
		case rest[0] == '\\' && raw && len(rest) > 1:
			_, size := utf8.DecodeRuneInString(rest[1:])
			b.WriteString(rest[:1+size])
			p.at += 1 + size
		case rest[0] == '\\':
			text, size, ok := escaped(rest)
			if !ok {
				return "", errSyntax
			}
			b.WriteString(text)
			p.at += size
		default:
			b.WriteByte(rest[0])
			p.at++
		}
	}
	return "", errSyntax
}

// escapes are the characters that follow a backslash, with what they mean.
var escapes = map[byte]string{'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// escaped reads an escape: its text, and its length. Unknown ones stay as they are. Names of characters are not known.
func escaped(text string) (string, int, bool) {
	if len(text) < 2 {
		return "", 0, false
	}
	c := text[1]
	if s, ok := escapes[c]; ok {
		return s, 2, true
	}
	if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; n > 0 {
		if len(text) < 2+n {
			return "", 0, false
		}
		v, err := strconv.ParseUint(text[2:2+n], 16, 32)
		return string(rune(v)), 2 + n, err == nil && v <= unicode.MaxRune
	}
	if c == 'N' {
		return "", 0, false
	}
	n := 1
	for n < min(4, len(text)) && '0' <= text[n] && text[n] <= '7' {
		n++
	}
	if n > 1 {
		v, err := strconv.ParseUint(text[1:n], 8, 32)
		return string(rune(v)), n, err == nil
	}
	_, size := utf8.DecodeRuneInString(text[1:])
	return text[:1+size], 1 + size, true
}
