package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A writer pickles values in any of the ways that the instructions leave open (Lib/pickletools.py), drawn at random.
type writer struct {
	rng  *rand.Rand
	data []byte
	kept int
}

func (w *writer) add(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			w.data = append(w.data, p...)
		case byte:
			w.data = append(w.data, p)
		}
	}
}

func (w *writer) number(n uint64, size int) {
	w.data = append(w.data, binary.LittleEndian.AppendUint64(nil, n)[:size]...)
}

// choose writes one of several forms.
func (w *writer) choose(forms ...func()) { forms[w.rng.IntN(len(forms))]() }

// value writes a value, and now and then keeps it, or what it does not need: a frame, a mark that is taken away.
func (w *writer) value(v any) {
	if w.rng.IntN(10) == 0 {
		w.add("\x95")
		w.number(uint64(w.rng.IntN(1000)), 8)
	}
	if w.rng.IntN(10) == 0 {
		w.add("N0")
	}
	switch v := v.(type) {
	case nil:
		w.add("N")
	case bool:
		w.truth(v)
	case int64:
		w.integer(v)
	case float64:
		w.float(v)
	case string:
		w.text(v)
	case []byte:
		w.bytes(v)
	case Tuple:
		w.tuple(v)
	case []any:
		w.list(v)
	case map[string]any:
		w.dict(v)
	}
	w.keep()
}

// keep keeps the value on the stack in one of four ways.
func (w *writer) keep() {
	switch w.rng.IntN(6) {
	case 0:
		w.add("q", byte(w.kept%256))
	case 1:
		w.add("r")
		w.number(uint64(w.kept), 4)
	case 2:
		w.add("\x94") // with the next number, whatever that is
	default:
		return
	}
	w.kept++
}

func (w *writer) truth(v bool) {
	code, digits := "\x89", "00"
	if v {
		code, digits = "\x88", "01"
	}
	w.choose(func() { w.add(code) }, func() { w.add("I", digits, "\n") })
}

func (w *writer) integer(v int64) {
	forms := []func(){
		func() { w.add("I", strconv.FormatInt(v, 10), "\n") },
		func() { w.add("L", strconv.FormatInt(v, 10), "L\n") },
		func() { w.add("\x8a\x08"); w.number(uint64(v), 8) },
	}
	if v == 0 {
		forms = append(forms, func() { w.add("\x8a\x00") })
	}
	if v >= -128 && v < 128 {
		forms = append(forms, func() { w.add("\x8a\x01"); w.number(uint64(v), 1) })
	}
	if v >= 0 && v < 1<<8 {
		forms = append(forms, func() { w.add("K"); w.number(uint64(v), 1) })
	}
	if v >= 0 && v < 1<<16 {
		forms = append(forms, func() { w.add("M"); w.number(uint64(v), 2) })
	}
	if v == int64(int32(v)) {
		forms = append(forms, func() { w.add("J"); w.number(uint64(v), 4) })
	}
	w.choose(forms...)
}

func (w *writer) float(v float64) {
	w.choose(
		func() { w.add("G"); w.data = binary.BigEndian.AppendUint64(w.data, math.Float64bits(v)) },
		func() { w.add("F", strconv.FormatFloat(v, 'g', -1, 64), "\n") },
	)
}

func (w *writer) text(v string) {
	w.choose(
		func() { w.add("X"); w.number(uint64(len(v)), 4); w.add(v) },
		func() { w.add("\x8d"); w.number(uint64(len(v)), 8); w.add(v) },
		func() {
			if len(v) > 255 {
				w.add("X")
				w.number(uint64(len(v)), 4)
			} else {
				w.add("\x8c", byte(len(v)))
			}
			w.add(v)
		},
	)
}

func (w *writer) bytes(v []byte) {
	w.choose(
		func() { w.add("B"); w.number(uint64(len(v)), 4); w.add(string(v)) },
		func() { w.add("\x8e"); w.number(uint64(len(v)), 8); w.add(string(v)) },
		func() { w.add("\x96"); w.number(uint64(len(v)), 8); w.add(string(v)) },
		func() { w.add("C", byte(len(v)), string(v)) },
	)
}

func (w *writer) tuple(v Tuple) {
	marked := func() {
		w.add("(")
		for _, item := range v {
			w.value(item)
		}
		w.add("t")
	}
	if len(v) > 3 {
		marked()
		return
	}
	w.choose(marked, func() {
		for _, item := range v {
			w.value(item)
		}
		w.add([]string{")", "\x85", "\x86", "\x87"}[len(v)])
	})
}

func (w *writer) list(v []any) {
	w.choose(
		func() { // all at once, behind a mark
			w.add("](")
			for _, item := range v {
				w.value(item)
			}
			w.add("e")
		},
		func() { // one by one
			w.add("]")
			for _, item := range v {
				w.value(item)
				w.add("a")
			}
		},
		func() {
			w.add("(")
			for _, item := range v {
				w.value(item)
			}
			w.add("l")
		},
	)
}

func (w *writer) dict(v map[string]any) {
	w.choose(
		func() {
			w.add("}(")
			for key, item := range v {
				w.text(key)
				w.value(item)
			}
			w.add("u")
		},
		func() {
			w.add("}")
			for key, item := range v {
				w.text(key)
				w.value(item)
				w.add("s")
			}
		},
		func() {
			w.add("(")
			for key, item := range v {
				w.text(key)
				w.value(item)
			}
			w.add("d")
		},
	)
}

// drawn is a random value.
func drawn(rng *rand.Rand, depth int) any {
	kinds := 9
	if depth == 0 {
		kinds = 6
	}
	items := func() (list []any) {
		list = []any{}
		for range rng.IntN(5) {
			list = append(list, drawn(rng, depth-1))
		}
		return list
	}
	switch rng.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return int64(rng.Uint64()) >> rng.IntN(64)
	case 3:
		return math.Ldexp(rng.NormFloat64(), rng.IntN(200)-100)
	case 4:
		return fmt.Sprint("é", rng.IntN(1000), "\n")[:rng.IntN(3)*2]
	case 5:
		return []byte(fmt.Sprint(rng.IntN(1000)))
	case 6:
		return Tuple(items())
	case 7:
		return items()
	}
	out := map[string]any{}
	for range rng.IntN(5) {
		out[fmt.Sprint("key ", rng.IntN(100))] = drawn(rng, depth-1)
	}
	return out
}

func TestAValueMayBeWrittenInManyWays(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	for range 400 {
		want := drawn(rng, 4)
		for range 3 {
			w := &writer{rng: rng}
			if rng.IntN(2) == 0 {
				w.add("\x80", byte(2+rng.IntN(4)))
			}
			w.value(want)
			w.add(".", "what follows is not looked at"[:rng.IntN(5)])
			got, err := Read(w.data)
			if err != nil {
				t.Fatalf("%q: %v, want %v", w.data, err, want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q (-want +got):\n%s", w.data, diff)
			}
		}
	}
}

// What was kept comes again in any of the ways to ask for it.
func TestKeptValuesComeAgain(t *testing.T) {
	for _, recall := range []string{"h\x05", "j\x05\x00\x00\x00"} {
		for _, keep := range []string{"q\x05", "r\x05\x00\x00\x00"} {
			got, err := Read([]byte("(K\x07" + keep + "K\x08" + recall + "t."))
			if diff := cmp.Diff(Tuple{int64(7), int64(8), int64(7)}, got); diff != "" || err != nil {
				t.Errorf("kept by %q and asked for by %q: %v (-want +got):\n%s", keep, recall, err, diff)
			}
		}
	}
	got, err := Read([]byte("(K\x07\x94K\x08\x94h\x01h\x00t.")) // counted from 0
	if diff := cmp.Diff(Tuple{int64(7), int64(8), int64(8), int64(7)}, got); diff != "" || err != nil {
		t.Errorf("kept without a number: %v (-want +got):\n%s", err, diff)
	}
}
