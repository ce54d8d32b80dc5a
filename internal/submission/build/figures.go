package build

import (
	"fmt"
	"math/big"
	"strings"
)

// figures is how many significant figures the rules want of an accuracy
// (inference_policies, §"Accuracy": five, round half to even).
const figures = 5

// round writes a decimal number with five significant figures. It rounds the digits that
// are written, not the nearest binary fraction: 98.9995 becomes 99.000.
func round(text string) (string, error) {
	exact, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "/_xXpPeE") || len(text) > 400 {
		return "", fmt.Errorf("%q is not a decimal number", text)
	}
	places := figures - magnitude(exact)
	shown := halfEven(exact, places)
	if magnitude(shown) > magnitude(exact) { // 99999.5 has become 100000
		places--
	}
	return shown.FloatString(max(0, places)), nil
}

// magnitude is the number of digits before the point; of numbers below 0.1, minus the number
// of zeros behind it.
func magnitude(x *big.Rat) int {
	if x.Sign() == 0 {
		return 1
	}
	abs, ten := new(big.Rat).Abs(x), big.NewRat(10, 1)
	n := 0
	for one := big.NewRat(1, 1); abs.Cmp(one) >= 0; n++ {
		abs.Quo(abs, ten)
	}
	for tenth := big.NewRat(1, 10); abs.Cmp(tenth) < 0; n-- {
		abs.Mul(abs, ten)
	}
	return n
}

// halfEven rounds to a number of places behind the point, which may be negative.
func halfEven(x *big.Rat, places int) *big.Rat {
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil))
	if places > 0 {
		unit.Inv(unit)
	}
	units := new(big.Rat).Quo(x, unit)
	whole, rest := new(big.Int).DivMod(units.Num(), units.Denom(), new(big.Int)) // towards minus infinity
	switch twice := new(big.Int).Lsh(rest, 1); twice.Cmp(units.Denom()) {
	case 1:
		whole.Add(whole, big.NewInt(1))
	case 0:
		whole.Add(whole, big.NewInt(int64(whole.Bit(0))))
	}
	return unit.Mul(unit, new(big.Rat).SetInt(whole))
}
