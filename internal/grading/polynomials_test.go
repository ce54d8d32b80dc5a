package grading

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// A plain polynomial in x and y has a coefficient for each pair of exponents: the second reckoning that expressions are compared with.
type plain map[[2]int]*big.Rat

func (p plain) plus(q plain, times int64) plain {
	sum := plain{}
	for k, v := range p {
		sum[k] = new(big.Rat).Set(v)
	}
	for k, v := range q {
		if sum[k] == nil {
			sum[k] = new(big.Rat)
		}
		sum[k].Add(sum[k], new(big.Rat).Mul(v, big.NewRat(times, 1)))
	}
	return sum
}

func (p plain) times(q plain) plain {
	product := plain{}
	for a, v := range p {
		for b, w := range q {
			k := [2]int{a[0] + b[0], a[1] + b[1]}
			if product[k] == nil {
				product[k] = new(big.Rat)
			}
			product[k].Add(product[k], new(big.Rat).Mul(v, w))
		}
	}
	return product
}

func (p plain) isZero() bool {
	for _, v := range p {
		if v.Sign() != 0 {
			return false
		}
	}
	return true
}

// text writes a polynomial with all its terms, in the order of their exponents.
func (p plain) text() string {
	var terms []string
	for i := range 9 {
		for j := range 9 {
			if v := p[[2]int{i, j}]; v != nil && v.Sign() != 0 {
				terms = append(terms, fmt.Sprintf("(%s)*%s*%s", v.RatString(), power1("x", i), power1("y", j)))
			}
		}
	}
	if terms == nil {
		return "0*x"
	}
	return strings.Join(terms, "+")
}

func power1(name string, n int) string {
	if n == 0 {
		return "1"
	}
	return strings.TrimSuffix(strings.Repeat(name+"*", n), "*")
}

// randomPolynomial is an expression and what it is.
func randomPolynomial(random *rand.Rand, depth int) (string, plain) {
	if depth == 0 || random.IntN(4) == 0 {
		switch random.IntN(4) {
		case 0:
			return "x", plain{{1, 0}: big.NewRat(1, 1)}
		case 1:
			return "y", plain{{0, 1}: big.NewRat(1, 1)}
		case 2:
			n, d := random.Int64N(20)-10, random.Int64N(9)+1
			return fmt.Sprintf("(%d/%d)", n, d), plain{{0, 0}: big.NewRat(n, d)}
		}
		n := random.Int64N(30)
		return fmt.Sprint(n), plain{{0, 0}: big.NewRat(n, 1)}
	}
	a, p := randomPolynomial(random, depth-1)
	b, q := randomPolynomial(random, depth-1)
	switch random.IntN(5) {
	case 0:
		return a + "+" + b, p.plus(q, 1)
	case 1:
		return a + "-(" + b + ")", p.plus(q, -1)
	case 2:
		return "(" + a + ")^2", p.times(p)
	case 3:
		return "-(" + a + ")", plain{}.plus(p, -1)
	}
	return "(" + a + ")(" + b + ")", p.times(q)
}

// An expression is the same as what it is multiplied out, and not the same as that and a little.
func TestPolynomialsAreComparedAsTheyAreMultipliedOut(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 1))
	for range 400 {
		text, p := randomPolynomial(random, 3)
		if !sameExpression(text, p.text()) {
			t.Fatalf("%s is not %s", text, p.text())
		}
		little := big.NewRat(1, 1+random.Int64N(1_000_000))
		other := p.plus(plain{{random.IntN(3), random.IntN(3)}: little}, 1)
		if sameExpression(text, other.text()) {
			t.Fatalf("%s is taken for %s", text, other.text())
		}
	}
}

// With a decimal fraction that is exact, as a quarter is, the other way to compare says the same.
func TestDecimalFractionsThatAreExactAreComparedAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 1))
	for range 200 {
		text, p := randomPolynomial(random, 2)
		quarter := plain{{0, 0}: big.NewRat(1, 4)}
		if strings.Contains(text, "/") {
			continue // thirds are rounded where they meet a decimal fraction
		}
		if !sameExpression("0.25+("+text+")", p.plus(quarter, 1).text()) {
			t.Fatalf("0.25+(%s) is not %s", text, p.plus(quarter, 1).text())
		}
		if sameExpression("0.25+("+text+")", p.text()) {
			t.Fatalf("0.25+(%s) is taken for %s", text, p.text())
		}
	}
}

// Quotients of polynomials are the same if they are multiplied crosswise.
func TestQuotientsAreComparedCrosswise(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 1))
	for range 150 {
		a, _ := randomPolynomial(random, 2)
		b, q := randomPolynomial(random, 2)
		c, r := randomPolynomial(random, 1)
		if q.isZero() || r.isZero() {
			continue
		}
		if left, right := "("+a+")/("+b+")", "(("+a+")*("+c+"))/(("+b+")*("+c+"))"; !sameExpression(left, right) {
			t.Fatalf("%s is not %s", left, right)
		}
	}
}

func TestNumbersOfPythonHaveTheirValues(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "7": "7", "123456789012345678901234567890": "123456789012345678901234567890", "1.5": "3/2", ".5": "1/2", "5.": "5", "1e3": "1000", "1.5e-1": "3/20", "2e+2": "200",
		"0x1f": "31", "0b101": "5", "0o17": "15", "1_000": "1000", "0x_f": "15", "٣": "3", "00": "0", "0.1": "1/10", "1e999": "1" + strings.Repeat("0", 999),
	} {
		if got := rational(text); got == nil || got.RatString() != want {
			t.Errorf("rational(%q) = %v, want %s", text, got, want)
		}
	}
	for _, text := range []string{"007", "1e1000", "1e-1000"} {
		if got := rational(text); got != nil {
			t.Errorf("rational(%q) = %v, want none", text, got)
		}
	}
	for text, want := range map[string]int{"1.5": 2, "0.0015": 2, "1.500": 4, "15e3": 2, "0.": 0, "1.0000000000000000000": 20} {
		if got := significant(text); got != want {
			t.Errorf("%s has %d digits, want %d", text, got, want)
		}
	}
}

// Of a number the prime factors give the number again, if none of them is too large to be found.
func TestPrimeFactorsGiveTheNumberAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(27, 1))
	for range 15 {
		n := big.NewInt(random.Int64N(1<<30) + 1)
		product := big.NewInt(1)
		for text, times := range primes(new(big.Int).Set(n)) {
			prime, _ := new(big.Int).SetString(text, 10)
			if !prime.ProbablyPrime(10) {
				t.Errorf("%s, a factor of %s, is no prime", prime, n)
			}
			product.Mul(product, new(big.Int).Exp(prime, big.NewInt(times), nil))
		}
		if product.Cmp(n) != 0 {
			t.Errorf("the factors of %s give %s", n, product)
		}
	}
}

// A root that is raised again is the number, for complex numbers of any size.
func TestRootsRaisedAgainAreTheNumber(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 1))
	for range 100 {
		v := certain(newFloat().SetMantExp(real64(random.Float64()-0.5), random.IntN(4000)-2000), newFloat().SetMantExp(real64(random.Float64()-0.5), random.IntN(4000)-2000))
		n := random.Int64N(11) + 2
		root := v.root(n)
		if root == nil {
			t.Fatalf("%v has no root", v.complex128())
		}
		back := root.raised(n).plus(v.negated())
		if !back.isZero() && back.exponent() > v.exponent()-exact {
			t.Errorf("the root number %d of %v, raised again, differs by 2^%g of 2^%g", n, v.complex128(), back.exponent(), v.exponent())
		}
	}
}

func TestFactorialsAreProducts(t *testing.T) {
	for n := range int64(40) {
		want, double := big.NewInt(1), big.NewInt(1)
		for k := n; k > 0; k-- {
			want.Mul(want, big.NewInt(k))
			if (n-k)%2 == 0 {
				double.Mul(double, big.NewInt(k))
			}
		}
		if got := product(n, factorial); got.Cmp(want) != 0 {
			t.Errorf("%d! = %s, want %s", n, got, want)
		}
		if got := product(n, doubleFactorial); got.Cmp(double) != 0 {
			t.Errorf("%d!! = %s, want %s", n, got, double)
		}
	}
}
