package jinja

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestArithmeticIsPythons(t *testing.T) {
	checkTexts(t, []rendering{
		{"sums and differences", "{{ 1 + 2 }} {{ 1 - 2 }} {{ 1 + 2.5 }} {{ 0.1 + 0.2 }}", "3 -1 3.5 0.30000000000000004"},
		{"products", "{{ 3 * 4 }} {{ 3 * 0.5 }} {{ -3 * 2 }}", "12 1.5 -6"},
		{"quotients are floats", "{{ 6 / 3 }} {{ 1 / 3 }} {{ -7 / 2 }} {{ 0 / -5 }}", "2.0 0.3333333333333333 -3.5 -0.0"},
		{"quotients of large whole numbers are exact", "{{ 9007199254740993 / 3 }} {{ 9223372036854775807 / 9223372036854775806 }}", "3002399751580331.0 1.0"},
		{"whole quotients go down", "{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ -7 // -2 }} {{ 6 // -2 }}", "3 -4 -4 3 -3"},
		{"what is left has the divisor's sign", "{{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ -7 % -3 }} {{ 6 % -3 }}", "1 2 -2 -1 0"},
		{"whole quotients of floats", "{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 1.0 // 0.1 }} {{ 0.3 // 0.1 }} {{ -0.5 // 3 }} {{ 1e300 // 3e-5 }}", "3.0 -4.0 9.0 2.0 -1.0 3.3333333333333333e+304"},
		{"what is left of floats", "{{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ -4.0 % 2 }} {{ 4.0 % -2 }} {{ 1.0 % 0.1 }}", "1.5 0.5 -0.5 0.0 -0.0 0.09999999999999995"},
		{"of infinity", "{{ -1.0 % 1e999 }} {{ -1.0 // 1e999 }} {{ 1e999 // 2 }} {{ 1e999 - 1e999 }}", "inf -1.0 nan nan"},
		{"powers", "{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 4 ** 0.5 }} {{ (-2) ** 3 }} {{ 0 ** 0 }} {{ 1 ** 99999 }} {{ (-1) ** 99999 }}", "1024 0.5 2.0 -8 1 1 -1"},
		{"powers of floats", "{{ 2.0 ** 3 }} {{ 0.0 ** 0 }} {{ (-2.0) ** 3 }} {{ 10.0 ** -2 }} {{ 1e999 ** -1 }}", "8.0 1.0 -8.0 0.01 0.0"},
		{"truth counts as a number", "{{ true + true }} {{ true * 2.5 }} {{ false - 1 }} {{ true / 2 }} {{ -true }} {{ +false }}", "2 2.5 -1 0.5 -1 0"},
		{"signs", "{{ - 1 }} {{ -(-1) }} {{ --1 }} {{ +-+1 }} {{ -2.5 }} {{ -0.0 }}", "-1 1 1 -1 -2.5 -0.0"},
		{"texts are joined and repeated", "{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 2 * 'x' }} [{{ 'a' * 0 }}{{ 'a' * -1 }}] {{ 'a' * true }}", "ab ababab xx [] a"},
		{"lists and tuples too", "{{ [1] + [2] }} {{ (1,) + (2, 3) }} {{ [0] * 3 }} {{ 2 * (1, 2) }} {{ [] * 9 }}", "[1, 2] (1, 2, 3) [0, 0, 0] (1, 2, 1, 2) []"},
		{"a tilde joins what values are written as", "{{ 1 ~ 'a' ~ none ~ [1] ~ 2.0 ~ nope ~ true }}", "1aNone[1]2.0True"},
		{"and binds more than plus", "{{ 1 ~ 2 == '12' }} {{ (1 ~ 2) + '3' }}", "True 123"},
	})
	checkRefusals(t, []refusal{
		{"a text and a number", "{{ 'a' + 1 }}", "+ is not for str and int"},
		{"a list and a tuple", "{{ [1] + (2,) }}", "+ is not for list and tuple"},
		{"dicts", "{{ {} + {} }}", "+ is not for dict and dict"},
		{"None", "{{ none + 1 }}", "+ is not for NoneType and int"},
		{"texts less texts", "{{ 'a' - 'a' }}", "- is not for str and str"},
		{"texts times texts", "{{ 'a' * 'b' }}", "* is not for str and str"},
		{"texts times floats", "{{ 'a' * 2.0 }}", "* is not for str and float"},
		{"dicts times numbers", "{{ {} * 2 }}", "* is not for dict and int"},
		{"what is undefined", "{{ nope + 1 }}", "'nope' is undefined"},
		{"on the other side", "{{ 1 * nope }}", "'nope' is undefined"},
		{"a sign before what is undefined", "{{ -nope }}", "'nope' is undefined"},
		{"a sign before a list", "{{ -[1] }}", "a sign is not for list"},
		{"by zero", "{{ 1 / 0 }}", "division by zero"},
		{"by zero, whole", "{{ 1 // 0 }}", "division by zero"},
		{"by zero of a float", "{{ 1.0 % 0.0 }}", "division by zero"},
		{"a whole quotient of floats by zero", "{{ 1.5 // 0 }}", "division by zero"},
		{"a power of zero below zero", "{{ 0 ** -1 }}", "zero has no power below 0"},
		{"a power of a float that is zero", "{{ 0.0 ** -2.5 }}", "zero has no power below 0"},
		{"a power that no float has", "{{ 10.0 ** 400 }}", "a power is too large for a float"},
		{"None as a power", "{{ 2 ** none }}", "** is not for int and NoneType"},
	})
	const complexes = "{{ (-2.0) ** 0.5 }}" // of which Python makes complex numbers
	if _, err := render(complexes, nil); err == nil || err.Error() != "line 1: a number below 0 has no power of a fraction here" {
		t.Errorf("%s: %v", complexes, err)
	}
}

func TestLogicGivesOneOfItsValues(t *testing.T) {
	checkTexts(t, []rendering{
		{"or gives the first that counts as true, or the last", "{{ 0 or 'a' }}{{ 'b' or 1 / 0 }}{{ '' or [] }}{{ none or 0 }}", "ab[]0"},
		{"and gives the first that does not, or the last", "{{ 0 and 1 / 0 }}{{ 1 and 'a' }}{{ 'x' and '' }}|", "0a|"},
		{"not gives truth", "{{ not 0 }}{{ not 'a' }}{{ not not 'a' }}{{ not nope }}", "TrueFalseTrueTrue"},
		{"what is not needed is not looked at", "{{ true or nope.a }}{{ false and nope.a }}", "TrueFalse"},
		{"what counts as true", "{% for v in [true, 1, -1, 0.1, 'a', ' ', '0', [0], (0,), {0: 0}, range(1), namespace()] %}{{ 'yes' if v else 'no' }} {% endfor %}", "yes yes yes yes yes yes yes yes yes yes yes yes "},
		{"and what does not", "{% for v in [false, 0, 0.0, -0.0, '', [], (), {}, none, nope, range(0)] %}{{ 'yes' if v else 'no' }} {% endfor %}", "no no no no no no no no no no no "},
		{"functions count as true", "{{ 'yes' if range else 'no' }}{{ 'yes' if ''.upper else 'no' }}", "yesyes"},
		{"if and else", "{{ 1 if true else 2 }}{{ 1 if false else 2 }}{{ 1 if 0 else 2 if 0 else 3 }}", "123"},
		{"only one of them is looked at", "{{ 1 if true else 1 / 0 }}{{ 1 / 0 if false else 2 }}", "12"},
		{"if without else is undefined", "[{{ 1 if false }}]{{ (1 if false) is defined }}{{ (1 if false) | default(7) }}", "[]False7"},
		{"if binds least", "{{ 1 + 1 if true else 3 }}{{ 'a' ~ 'b' if false else 'c' ~ 'd' }}", "2cd"},
		{"two ifs behind each other", "[{{ 1 if true if false else 2 }}]", "[2]"},
	})
	checkRefusals(t, []refusal{
		{"what an if without else has not", "{{ (1 if false).a }}", "an if without else has no value"},
		{"else without if", "{{ 1 else 2 }}", `want the end of the expression, not "else"`},
		{"if without a test", "{{ 1 if }}", "want a value, not the end of the tag"},
		{"not without a value", "{{ not }}", "want a value, not the end of the tag"},
		{"and without its right", "{{ 1 and }}", "want a value, not the end of the tag"},
		{"two operators", "{{ 1 * / 2 }}", `want a value, not "/"`},
	})
}

func TestComparisons(t *testing.T) {
	checkTexts(t, []rendering{
		{"numbers by value", "{{ 1 == 1.0 }}{{ true == 1 }}{{ 0 == false }}{{ 1 == '1' }}{{ 0 == '' }}", "TrueTrueTrueFalseFalse"},
		{"large numbers by their exact value", "{{ 9007199254740993 == 9007199254740992.0 }}{{ 9007199254740993 > 9007199254740992.0 }}{{ 9223372036854775807 < 9223372036854775808.0 }}", "FalseTrueTrue"},
		{"what is no number equals nothing", "{% set t = 'nan' %}{% set x = t | float %}{{ x == x }}{{ x != x }}{{ x < 1 }}{{ x > 1 }}{{ x <= 1 }}{{ x >= 1 }}", "FalseTrueFalseFalseFalseFalse"},
		{"texts by their characters", "{{ 'a' == 'a' }}{{ 'a' == 'A' }}{{ 'Z' < 'a' }}{{ 'a' < 'ab' }}{{ '' < 'a' }}{{ 'ä' > 'z' }}{{ '￿' < '𝄞' }}", "TrueFalseTrueTrueTrueTrueTrue"},
		{"lists by their elements", "{{ [1, 2] == [1.0, 2] }}{{ [1] == [1, 1] }}{{ [1, 2] < [1, 3] }}{{ [1] < [1, 0] }}{{ [] < [0] }}{{ [2] > [1, 9] }}", "TrueFalseTrueTrueTrueTrue"},
		{"lists are no tuples", "{{ [1] == (1,) }}{{ (1,) == (1,) }}{{ (1, 2) >= (1, 2) }}", "FalseTrueTrue"},
		{"dicts in any order", "{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }}{{ {'a': 1} == {'a': 2} }}{{ {'a': 1} == {'b': 1} }}{{ {} == {'a': 1} }}{{ {1: 2} == {1.0: 2} }}", "TrueFalseFalseFalseTrue"},
		{"None", "{{ none == none }}{{ none == false }}{{ none != 0 }}", "TrueFalseTrue"},
		{"what is undefined equals what is undefined", "{{ nope == other }}{{ nope == none }}{{ nope == '' }}{{ nope != other }}", "TrueFalseFalseFalse"},
		{"namespaces too", "{% set a = namespace(x=1) %}{% set b = namespace(x=1) %}{{ a == a }}{{ a == b }}{{ a != b }}{{ a in [a] }}", "TrueFalseTrueTrue"},
		{"several in a row hold together", "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1.0 == true }}{{ 3 > 2 != 5 }}{{ 1 < 2 in [2] }}", "TrueFalseTrueTrueTrue"},
		{"the second does not matter where the first fails", "{{ 2 < 1 < 1 / 0 }}", "False"},
		{"in texts", "{{ 'b' in 'abc' }}{{ '' in '' }}{{ 'ac' in 'abc' }}{{ 'd' not in 'abc' }}", "TrueTrueFalseTrue"},
		{"in lists", "{{ 1 in [1.0] }}{{ '1' in [1] }}{{ [1] in [[1]] }}{{ 2 not in (1, 2) }}{{ none in [none] }}", "TrueFalseTrueFalseTrue"},
		{"in dicts are keys", "{{ 'a' in {'a': 1} }}{{ 1 in {'a': 1} }}{{ 1.0 in {1: 2} }}{{ (1, 2) in {(1, 2): 3} }}", "TrueFalseTrueTrue"},
		{"in ranges", "{{ 2 in range(3) }}{{ 3 in range(3) }}", "TrueFalse"},
		{"in what is undefined is nothing", "{{ 1 in nope }}{{ 1 not in nope }}", "FalseTrue"},
	})
	checkRefusals(t, []refusal{
		{"the order of texts and numbers", "{{ 'a' < 1 }}", "str and int have no order"},
		{"of dicts", "{{ {} < {} }}", "dict and dict have no order"},
		{"of None", "{{ none >= none }}", "NoneType and NoneType have no order"},
		{"of lists with such", "{{ [1, 'a'] < [1, 2] }}", "str and int have no order"},
		{"of lists and tuples", "{{ [1] < (1,) }}", "list and tuple have no order"},
		{"of what is undefined", "{{ nope < 1 }}", "'nope' is undefined"},
		{"a number in a text", "{{ 1 in 'a1' }}", "in is not for int and str"},
		{"something in a number", "{{ 1 in 1 }}", "in is not for int and int"},
		{"a list as a key", "{{ [1] in {} }}", "want a key that is a text, a number or a tuple of those"},
	})
}

func TestWhatBindsMore(t *testing.T) {
	checkTexts(t, []rendering{
		{"products before sums", "{{ 1 + 2 * 3 }} {{ 10 - 4 / 2 }} {{ 7 - 7 % 4 }}", "7 8.0 4"},
		{"from the left", "{{ 10 - 3 - 2 }} {{ 24 / 4 / 2 }} {{ 7 // 2 * 2 }} {{ 2 ** 3 ** 2 }}", "5 3.0 6 64"},
		{"powers before products and behind signs", "{{ 2 * 3 ** 2 }} {{ -2 ** 2 }} {{ 2 ** -1 }}", "18 4 0.5"},
		{"filters before operators", "{{ 'a' ~ 'b' | upper }} {{ -3 | abs }} {{ 2 + 3 | string | length }} {{ 2 * '3' | int }}", "aB 3 3 6"},
		{"tests before operators", "{{ 1 + 1 is odd }} {{ not 1 is odd }} {{ 2 is odd or 1 is odd }}", "2 False True"},
		{"comparisons before not", "{{ not 1 == 2 }} {{ not 1 in [1] }}", "True False"},
		{"not before and, and before or", "{{ not false and false }} {{ true or true and false }} {{ false and false or true }}", "False True True"},
		{"attributes and items before all", "{{ -[1, 2][1] }} {{ 'ab'[0] ~ 'cd'[1] }} {{ 2 ** [3][0] }}", "-2 ad 8"},
		{"parentheses", "{{ (1 + 2) * 3 }} {{ ('a' ~ 'b') | upper }} {{ -(2 ** 2) }} {{ (not 1) == 2 }}", "9 AB -4 False"},
		{"commas make tuples", "{{ 1, 2 }} {{ 1, }} {{ (1,) }} {{ () }} {{ (1) }} {{ 1, 'a' if true else 2 }}", "(1, 2) (1,) (1,) () 1 (1, 'a')"},
	})
}

// sums writes random sums of whole numbers with as few parentheses as it can, and reckons them with big numbers.
type sums struct{ random *rand.Rand }

// Levels of operators: + and - bind less than * // %, which bind less than signs.
func (s sums) expression(depth, level int) (string, *big.Int) {
	if depth == 0 || s.random.IntN(5) == 0 {
		n := s.random.Int64N(200)
		return fmt.Sprint(n), big.NewInt(n)
	}
	if s.random.IntN(6) == 0 {
		text, v := s.expression(depth-1, 2)
		return "-" + text, v.Neg(v)
	}
	op, of := "+", 0
	if k := s.random.IntN(5); k > 0 {
		op, of = []string{"", "-", "*", "//", "%"}[k], min(1, k/2)
	}
	left, a := s.expression(depth-1, of)
	right, b := s.expression(depth-1, of+1)
	if b.Sign() == 0 && of == 1 && op != "*" {
		right, b = "7", big.NewInt(7)
	}
	v := new(big.Int)
	switch op {
	case "+":
		v.Add(a, b)
	case "-":
		v.Sub(a, b)
	case "*":
		v.Mul(a, b)
	default:
		quotient, rest := new(big.Int).DivMod(a, b, new(big.Int)) // the rest of which is never below zero
		if rest.Sign() != 0 && b.Sign() < 0 {
			quotient.Sub(quotient, big.NewInt(1))
			rest.Add(rest, b)
		}
		if v = quotient; op == "%" {
			v = rest
		}
	}
	text := left + " " + op + " " + right
	if of < level {
		text = "(" + text + ")"
	}
	return text, v
}

func TestRandomSumsAreThoseOfBigNumbers(t *testing.T) {
	s := sums{rand.New(rand.NewPCG(7, 1))}
	overflows := 0
	for range 2000 {
		text, want := s.expression(1+s.random.IntN(6), 0)
		got, err := render("{{ "+text+" }}", nil)
		if err != nil && strings.Contains(err.Error(), "more than 64 bits") {
			overflows++ // on the way perhaps
			continue
		}
		if err != nil || got != want.String() {
			t.Fatalf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
	if overflows > 100 {
		t.Errorf("%d of 2000 sums are beyond 64 bits", overflows)
	}
}

// At the borders of 64 bits a result is exact, or an error: never another number.
func TestWholeNumbersDoNotWrapAround(t *testing.T) {
	borders := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 / 2, -1 << 32, -1<<31 - 1, -3, -2, -1, 0, 1, 2, 3, 1<<31 + 1, 1 << 32, math.MaxInt64 / 2, math.MaxInt64/2 + 1, math.MaxInt64 - 1, math.MaxInt64}
	big1 := map[string]func(a, b *big.Int) *big.Int{
		"+": func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
		"-": func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
		"*": func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
		"//": func(a, b *big.Int) *big.Int {
			quotient, rest := new(big.Int).QuoRem(a, b, new(big.Int))
			if rest.Sign() != 0 && rest.Sign() != b.Sign() {
				quotient.Sub(quotient, big.NewInt(1))
			}
			return quotient
		},
	}
	for op, exact := range big1 {
		for _, a := range borders {
			for _, b := range borders {
				if op == "//" && b == 0 {
					continue
				}
				want := exact(big.NewInt(a), big.NewInt(b))
				got, err := calculate(op, a, b)
				if want.IsInt64() && (err != nil || got != any(want.Int64())) || !want.IsInt64() && err == nil {
					t.Errorf("%d %s %d is %v, %v, want %s", a, op, b, got, err, want)
				}
			}
		}
	}
}

func TestPowersAreProducts(t *testing.T) {
	for a := int64(-12); a <= 12; a++ {
		for b := range int64(70) {
			want := new(big.Int).Exp(big.NewInt(a), big.NewInt(b), nil)
			got, err := calculate("**", a, b)
			if want.IsInt64() && (err != nil || got != any(want.Int64())) || !want.IsInt64() && err == nil {
				t.Errorf("%d ** %d is %v, %v, want %s", a, b, got, err, want)
			}
		}
	}
}

// Python promises of any two numbers: x == (x // y) * y + x % y, and that the rest is between zero and the divisor.
func TestQuotientsAndRestsBelongTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	for range 2000 {
		x, y := random.Int64()-random.Int64(), random.Int64N(1<<random.IntN(62)+1)-random.Int64N(1000)
		if y == 0 {
			continue
		}
		quotient, err1 := calculate("//", x, y)
		rest, err2 := calculate("%", x, y)
		if err1 != nil || err2 != nil {
			t.Fatalf("%d by %d: %v, %v", x, y, err1, err2)
		}
		r := rest.(int64)
		if quotient.(int64)*y+r != x || r != 0 && (r < 0) != (y < 0) || r >= max(y, -y) || r <= -max(y, -y) {
			t.Errorf("%d by %d is %d, rest %d", x, y, quotient, r)
		}
		f, g := random.NormFloat64()*1000, random.NormFloat64()
		q, left := dividedFloats(f, g)
		if q != math.Floor(q) || math.Abs(q*g+left-f) > 1e-9*math.Abs(f) || left != 0 && (left < 0) != (g < 0) || math.Abs(left) > math.Abs(g) {
			t.Errorf("%v by %v is %v, rest %v", f, g, q, left)
		}
	}
}

// Whole numbers and floats are compared by their exact values, whichever stands first.
func TestMixedNumbersHaveTheirExactOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 1))
	for range 3000 {
		f := math.Ldexp(random.Float64()-0.5, random.IntN(66))
		if random.IntN(2) == 0 {
			f = math.Trunc(f)
		}
		n := int64(max(-9.2e18, min(9.2e18, f))) + random.Int64N(3) - 1
		want := new(big.Float).SetInt64(n).Cmp(big.NewFloat(f))
		got, err1 := order(n, f)
		back, err2 := order(f, n)
		if err1 != nil || err2 != nil || got != want || back != -want || equal(n, f) != (want == 0) {
			t.Fatalf("%d and %v: %d and %d, want %d", n, f, got, back, want)
		}
	}
}
