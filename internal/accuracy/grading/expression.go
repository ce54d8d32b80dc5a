package grading

import (
	"hash/fnv"
	"math"
	"math/cmplx"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	hardPowers = regexp.MustCompile(`\^[0-9]+\^|\^[0-9][0-9]+|\^[{(]`)
	digits     = `[0-9](?:_?[0-9])*`
	// tokens are numbers, names and operators of Python.
	tokens = regexp.MustCompile(`^(?:(?:` + digits + `\.?(?:` + digits + `)?|\.` + digits + `)(?:e[-+]?[0-9]+)?|[\pL_][\pL\p{Nd}_]*|\*\*|[-+*/()])`)
	octal  = regexp.MustCompile(`^0+[1-9][0-9]*$`)
)

// sameExpression reports whether two expressions have the same values at twelve points. The grader asks SymPy whether their difference is 0,
// unless it has more than two unknown letters, or powers that take SymPy long.
func sameExpression(said, wanted string) bool {
	difference, letters := "("+wanted+")-("+said+")", map[rune]bool{}
	for _, r := range strings.NewReplacer("sqrt", "", "frac", "").Replace(difference) {
		if unicode.IsLetter(r) {
			letters[r] = true
		}
	}
	if len(letters) > 2 || hardPowers.MatchString(difference) {
		return false
	}
	a, b := tokensOf(said), tokensOf(wanted)
	for point := range byte(12) {
		v, ok := valueOf(a, point)
		w, ok2 := valueOf(b, point)
		if !ok || !ok2 || cmplx.Abs(v-w) > 1e-13*max(cmplx.Abs(v), cmplx.Abs(w)) {
			return false
		}
	}
	return true
}

// tokensOf reads an expression as Python does and splits names as SymPy's parser does: a product of letters and numbers, unless SymPy knows
// them. Nil: not an expression.
func tokensOf(text string) (all []string) {
	text = strings.ReplaceAll(text, "^", "**")
	for text = strings.TrimLeft(text, " \t\f\n"); text != ""; text = strings.TrimLeft(text, " \t\f\n") {
		t := tokens.FindString(text)
		if t == "" || octal.MatchString(t) {
			return nil
		}
		text = text[len(t):]
		first := []rune(t)[0]
		switch {
		case t == "pi", t == "sqrt", t == "ln", strings.Contains(t, "_"), !unicode.IsLetter(first):
			all = append(all, t)
			continue
		}
		for number := ""; t != ""; {
			rest := strings.TrimLeftFunc(t, unicode.IsDigit)
			if number = t[:len(t)-len(rest)]; number == "" {
				number = string([]rune(t)[0])
				rest = t[len(number):]
			}
			all, t = append(all, number), rest
		}
	}
	return all
}

// A calculator computes the value of an expression at a point.
type calculator struct {
	rest  []string
	point byte
	depth int
}

// valueOf is the value of an expression at a point. False: not an expression, or no finite value.
func valueOf(tokens []string, point byte) (complex128, bool) {
	c := calculator{rest: tokens, point: point}
	v := c.sum()
	return v, len(c.rest) == 0 && !cmplx.IsNaN(v) && !cmplx.IsInf(v)
}

// next consumes the next token if it is one of the wanted ones, and returns it.
func (c *calculator) next(wanted ...string) string {
	if len(c.rest) > 0 {
		for _, t := range wanted {
			if c.rest[0] == t {
				c.rest = c.rest[1:]
				return t
			}
		}
	}
	return ""
}

func (c *calculator) sum() complex128 {
	for v := c.product(); ; {
		switch c.next("+", "-") {
		case "+":
			v += c.product()
		case "-":
			v -= c.product()
		default:
			return v
		}
	}
}

// product also multiplies factors that stand side by side.
func (c *calculator) product() complex128 {
	for v := c.factor(); ; {
		switch c.next("*", "/") {
		case "*":
			v *= c.factor()
		case "/":
			v /= c.factor()
		default:
			if len(c.rest) == 0 || strings.Contains("+-*/)**", c.rest[0]) {
				return v
			}
			v *= c.factor()
		}
	}
}

// factor computes a power with its sign.
func (c *calculator) factor() complex128 {
	if c.depth++; c.depth > maxDepth {
		c.rest = nil
		return cmplx.NaN()
	}
	defer func() { c.depth-- }()
	switch c.next("+", "-") {
	case "+":
		return c.factor()
	case "-":
		return -c.factor()
	}
	before := c.rest
	base := c.operand()
	if c.next("**") == "" {
		return base
	}
	isName := func(token string) bool { return token[0] == '_' || unicode.IsLetter([]rune(token)[0]) }
	if len(c.rest) > 0 && strings.Contains(c.rest[0], ".") && slices.ContainsFunc(before[:len(before)-len(c.rest)], isName) {
		return cmplx.NaN() // for SymPy x**1.0 is not x
	}
	return cmplx.Pow(principal(base), c.factor())
}

// principal drops an imaginary part that is due to rounding, or a zero below the real axis, so that roots are those above it.
func principal(v complex128) complex128 {
	if math.Abs(imag(v)) < 1e-13*math.Abs(real(v)) {
		return complex(real(v), 0)
	}
	return complex(real(v), imag(v)+0)
}

// operand computes a number, a variable, a function value, or an expression in parentheses. NaN: none of these.
func (c *calculator) operand() complex128 {
	if len(c.rest) == 0 {
		return cmplx.NaN()
	}
	if c.rest[0] == "(" {
		return c.group()
	}
	t := c.rest[0]
	c.rest = c.rest[1:]
	switch first := rune(t[0]); {
	case t == "sqrt":
		return cmplx.Sqrt(principal(c.group()))
	case t == "ln":
		return cmplx.Log(principal(c.group()))
	case t == "pi":
		return math.Pi
	case first >= '0' && first <= '9', first == '.':
		v, err := strconv.ParseFloat(strings.ReplaceAll(t, "_", ""), 64)
		if err != nil || strings.Contains(t, ".") && len(strings.Trim(t, ".0")) > 12 {
			return cmplx.NaN() // so many digits could also come from rounding
		}
		return complex(v, 0)
	case strings.Contains("+-*/)**", t):
		return cmplx.NaN()
	}
	return variableAt(t, c.point)
}

func (c *calculator) group() complex128 {
	if c.next("(") == "" {
		return cmplx.NaN()
	}
	v := c.sum()
	if c.next(")") == "" {
		return cmplx.NaN()
	}
	return v
}

// variableAt is a variable at a point: real at the first four, positive and negative, then complex, so that the root of a product is not taken for a
// product of roots.
func variableAt(name string, point byte) complex128 {
	h := fnv.New64a()
	h.Write(append([]byte(name), point))
	bits := h.Sum64()
	bits = (bits ^ bits>>33) * 0xff51afd7ed558ccd // the last byte changes few bits of the hash
	bits ^= bits >> 33
	size, angle := 0.5+float64(bits>>32)/(1<<32), 2*math.Pi*float64(bits&math.MaxUint32)/(1<<32)
	switch {
	case point == 0:
		return complex(size, 0)
	case point < 4:
		return complex(math.Copysign(size, math.Cos(angle)), 0)
	}
	return cmplx.Rect(size, angle)
}
