package pickle

// A slice is every step-th number from start to stop.
type slice struct{ start, stop, step int64 }

// newSlice takes start, stop and step, which None leaves at 1.
func newSlice(args Tuple) (any, error) {
	if len(args) != 3 {
		return nil, errFrame
	}
	step := args[2]
	if step == nil {
		step = int64(1)
	}
	var n [3]int64
	for i, arg := range []any{args[0], args[1], step} {
		v, ok := arg.(int64)
		if !ok || v != int64(int32(v)) {
			return nil, errFrame
		}
		n[i] = v
	}
	if n[2] == 0 {
		return nil, errFrame
	}
	return &slice{n[0], n[1], n[2]}, nil
}

// len counts the numbers, none of which has more than 32 bits.
func (s slice) len() int {
	if s.step < 0 {
		return slice{-s.start, -s.stop, -s.step}.len()
	}
	if s.stop <= s.start {
		return 0
	}
	return int((s.stop-s.start-1)/s.step) + 1
}

// each visits the numbers until one is an error.
func (s slice) each(visit func(int64) error) error {
	for i := range s.len() {
		if err := visit(s.start + int64(i)*s.step); err != nil {
			return err
		}
	}
	return nil
}
