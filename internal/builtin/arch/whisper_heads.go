package arch

import "math"

// attention returns the meaning of a part of an attention of the decoder, nil if it has none: of the first
// head of the first layer, which looks at the token before, and of the second, which listens.
func (k *whisperKnowledge) attention(layer int, of, part string) func(row int, w []float32) {
	if k == nil {
		return nil
	}
	fill := map[string]func(row int, w []float32){}
	switch {
	case layer == 0 && of == "decoder":
		fill = map[string]func(int, []float32){"query": k.askBefore, "key": k.keyOfPlace, "value": k.valueOfParity, "out": k.writeParity}
	case layer == 1 && of == "encoder":
		fill = map[string]func(int, []float32){"query": k.askTime, "key": k.keyOfTime, "value": k.valueOfTones, "out": k.writeTones}
	}
	f := fill[part]
	if f == nil || part == "out" {
		return f
	}
	return func(row int, w []float32) {
		clear(w[:whisperHeadSize])
		f(row, w)
	}
}

// askBefore makes a query of a place turned back by one.
func (k *whisperKnowledge) askBefore(row int, w []float32) {
	at := row - whisperPlaceAt
	if at < 0 || at >= 2*whisperTurns {
		return
	}
	sin, cos := math.Sincos(k.turn(at / 2))
	if at%2 == 1 {
		sin = -sin
	}
	w[at], w[at^1] = float32(whisperLookBack*cos), float32(whisperLookBack*sin)
}

func (k *whisperKnowledge) keyOfPlace(row int, w []float32) {
	if at := row - whisperPlaceAt; at >= 0 && at < 2*whisperTurns {
		w[at] = whisperLookBack
	}
}

func (k *whisperKnowledge) valueOfParity(row int, w []float32) {
	if row == whisperParityAt {
		w[0] = 1
	}
}

func (k *whisperKnowledge) writeParity(row int, w []float32) {
	if row >= whisperHeadSize {
		return
	}
	clear(w)
	if row == 0 {
		w[whisperBeforeAt] = 1
	}
}

// askTime makes a query of the time of the word to come.
func (k *whisperKnowledge) askTime(row int, w []float32) {
	if at := row - whisperTimeAt; at >= 0 && at < 2*whisperTimes {
		w[at] = whisperSearch
	}
}

// keyOfTime makes a key of a step of the encoder, by the sines and cosines of its place.
func (k *whisperKnowledge) keyOfTime(row int, w []float32) {
	for i := range whisperTimes {
		switch sine := k.time(i); row {
		case sine:
			w[2*i] = whisperTimeKey
		case sine + int(k.hidden)/2:
			w[2*i+1] = whisperTimeKey
		}
	}
}

func (k *whisperKnowledge) valueOfTones(row int, w []float32) {
	if tone := row - k.toneAt(0); tone >= 0 && tone < whisperTones {
		w[tone] = 1
	}
}

func (k *whisperKnowledge) writeTones(row int, w []float32) {
	if row >= whisperHeadSize {
		return
	}
	clear(w)
	if row < whisperTones {
		w[whisperHeardAt+row] = whisperHeard
	}
}
