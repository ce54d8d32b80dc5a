package grading

import (
	"hash/fnv"
	"math"
)

// isFar reports whether variables are far from 0 at a point.
func isFar(point int) bool { return point == 2 || point == 3 }

// variableAt is what a variable is at a point: positive, negative, far from 0 on both sides, or complex, so that roots of products are not taken for products of roots.
func variableAt(name string, point int) *value {
	side := hash(name, 0) & 1
	bits := hash(name, byte(point))
	a, b := real64(1+float64(bits>>32)/(1<<30)), real64(1+float64(bits&math.MaxUint32)/(1<<30))
	if isFar(point) {
		a.Mul(a, real64(300))
	}
	if point == 1 || isFar(point) && side == uint64(point&1) || point >= 4 && bits&1 == 0 {
		a.Neg(a)
	}
	if point < 4 {
		return certain(a, newFloat())
	}
	if bits&2 == 0 {
		b.Neg(b)
	}
	return certain(a, b)
}

func hash(name string, salt byte) uint64 {
	h := fnv.New64a()
	h.Write(append([]byte(name), salt))
	x := h.Sum64() // in which the last bytes have changed few bits
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
