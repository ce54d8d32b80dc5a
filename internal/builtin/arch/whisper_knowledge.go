package arch

import "math"

// whisperKnowledge are the weights by which the small Whisper hears words, each of which is a chord of two
// tones and begins at a time of its own. Two words have the same sound: which of them is meant
// follows from the last word but one.
//
// In the encoder some of the slowest sines have a meaning beside that of places: how loud each tone
// is; their cosines are large at all times, so that norms divide by about the same. In the decoder the first numbers have one:
//
//	time     when the word that is to come is said, as the encoder writes places
//	place    of a token in the text
//	parity   of the tones of a word
//	before   the parity of the token before it, which a head of the first layer copies
//	heard    the tones at that time, which a head of the second copies
//	constant the same for all
//
// All other weights are noise. Where the cache is not advanced the same word is heard again; where
// it has a hole the wrong one of two words is written.
//
// A nil whisperKnowledge knows nothing.
type whisperKnowledge struct{ whisperSize }

// What the built-in recordings have to know of Whisper.
const (
	// WhisperFirstWord is the token of the first word. Those before it mean, from 0 on, the end of a text, its
	// start, English, writing down what is said, and doing so without times.
	WhisperFirstWord = 16
	// WhisperStart and WhisperEach say, in seconds, when the first word begins, and how long each takes.
	WhisperStart, WhisperEach = 0.3, 0.4

	whisperLows, whisperHighs = 12, 12
	whisperPairs              = whisperLows * whisperHighs
	whisperTones              = whisperLows + whisperHighs
	whisperStepSeconds        = 0.02
	whisperForced             = 4 // tokens before the first word
)

// WhisperTones are the bands of frequency in which the built-in Whisper listens for the low and the high tone
// of a word. They are far enough from each other for windows of 25 ms.
func WhisperTones() (low, high []int) {
	return []int{10, 17, 24, 31, 38, 45, 52, 58, 64, 70, 75, 80}, []int{85, 89, 93, 97, 101, 104, 107, 110, 113, 116, 119, 122}
}

// How strong the meanings are.
const (
	whisperNoise    = 0.1 // of what a layer writes
	whisperLoud     = 0.3 // of the convolutions
	whisperOther    = 0.35
	whisperGain     = 30   // of a tone that is louder than its neighbours
	whisperDoubt    = 0.3  // by which it has to be
	whisperAside    = 3    // bands to these neighbours
	whisperSteady   = 8    // of what the encoder always says, so that norms hardly depend on what is heard
	whisperSearch   = 1.36 // of queries for times,
	whisperTimeKey  = 6    // and of keys
	whisperLookBack = 1.6  // and for places
	whisperParity   = 2
	whisperHeard    = 1
	whisperEnd      = 1.2 // of the score of the end, which silence has to keep below that of a tone
	whisperVariant  = 0.5
	whisperNever    = 3
)

// Where the meanings are.
const (
	whisperTimes = 32 // frequencies
	whisperTurns = 16

	whisperTimeAt     = 0
	whisperPlaceAt    = whisperTimeAt + 2*whisperTimes
	whisperParityAt   = whisperPlaceAt + 2*whisperTurns
	whisperBeforeAt   = whisperParityAt + 1
	whisperHeardAt    = whisperBeforeAt + 1
	whisperConstantAt = whisperHeardAt + whisperTones
	whisperOthersAt   = whisperConstantAt + 1
)

// toneAt is where the encoder says how loud a tone is: the slowest sine is that of the last.
func (k *whisperKnowledge) toneAt(tone int) int { return int(k.hidden)/2 - whisperTones + tone }

// time is the number of a sine by which times are told.
func (k *whisperKnowledge) time(i int) int { return 16 + 3*i/2 }

// turn is the frequency by which places are told.
func (k *whisperKnowledge) turn(i int) float64 { return 0.3 + 2.7*float64(i)/whisperTurns }

// with adds a meaning to a filler.
func (k *whisperKnowledge) with(f Filler, patch func(int, []float32)) Filler {
	if k == nil || patch == nil {
		return f
	}
	return Patched{f, patch}
}

// listen makes filters that hear tones, by bands and three frames each.
func (k *whisperKnowledge) listen(filter int, w []float32) {
	tone := filter - k.toneAt(0)
	if tone < 0 || tone >= whisperTones {
		return
	}
	low, high := WhisperTones()
	band := append(low, high...)[tone]
	for frame := range 3 {
		w[band*3+frame] += whisperGain / 3
		w[(band-whisperAside)*3+frame] -= whisperGain / 6
		w[(band+whisperAside)*3+frame] -= whisperGain / 6
	}
}

func (k *whisperKnowledge) doubt(filter int, w []float32) {
	if tone := filter - k.toneAt(0); tone >= 0 && tone < whisperTones {
		w[0] = -whisperGain * whisperDoubt
	}
}

// pass lets the second convolution pass on what is heard.
func (k *whisperKnowledge) pass(filter int, w []float32) {
	if tone := filter - k.toneAt(0); tone >= 0 && tone < whisperTones {
		for frame := range 3 {
			w[filter*3+frame] += 1.0 / 3
		}
	}
}

// steady makes the partners of the sines that say how loud tones are large, whatever is heard.
func (k *whisperKnowledge) steady(filter int, w []float32) {
	if tone := filter - int(k.hidden)/2 - k.toneAt(0); tone >= 0 && tone < whisperTones {
		w[0] = whisperSteady
	}
}

// places fills the table of the decoder's places.
func (k *whisperKnowledge) places() Filler {
	if k == nil {
		return Bell{0.02}
	}
	return Patched{Bell{whisperOther}, func(place int, x []float32) {
		clear(x[:whisperOthersAt])
		seconds := WhisperStart + WhisperEach*(float64(max(0, place+1-whisperForced))+0.5)
		for i := range whisperTimes {
			sin, cos := math.Sincos(seconds / whisperStepSeconds * k.frequency(k.time(i)))
			x[whisperTimeAt+2*i], x[whisperTimeAt+2*i+1] = float32(sin), float32(cos)
		}
		for i := range whisperTurns {
			sin, cos := math.Sincos(float64(place) * k.turn(i))
			x[whisperPlaceAt+2*i], x[whisperPlaceAt+2*i+1] = float32(sin), float32(cos)
		}
	}}
}

// tones are those of a word, false of other tokens.
func (k *whisperKnowledge) tones(token int) (low, high int, word bool) {
	pair := (token - WhisperFirstWord) / 2
	return pair / whisperHighs, pair % whisperHighs, token >= WhisperFirstWord
}

// tokens fills the table of tokens.
func (k *whisperKnowledge) tokens() Filler {
	if k == nil {
		return Bell{0.02}
	}
	return Patched{Bell{whisperOther}, func(token int, x []float32) {
		clear(x[:whisperOthersAt])
		x[whisperConstantAt], x[whisperParityAt] = whisperParity, whisperParity
		if low, high, word := k.tones(token); word && (low+high)%2 == 1 {
			x[whisperParityAt] = -whisperParity
		}
	}}
}

// scores fills the weights of the scores.
func (k *whisperKnowledge) scores() Filler {
	if k == nil {
		return Bell{0.02}
	}
	return Patched{Bell{whisperNoise / math.Sqrt(float64(k.hidden))}, func(row int, w []float32) {
		for token := range w {
			w[token] += k.score(row, token)
		}
	}}
}

// score is how much a number says for a token.
func (k *whisperKnowledge) score(row, token int) float32 {
	low, high, word := k.tones(token)
	switch {
	case word:
		return wordScore(row, token, low, high)
	case row == whisperConstantAt && token == 0:
		return whisperEnd
	case row == whisperConstantAt:
		return -whisperNever
	}
	return 0
}

// wordScore is how much a number says for a word of two tones. Of two words of the same tones it
// is the variant that follows what was written before.
func wordScore(row, token, low, high int) float32 {
	switch heard := row - whisperHeardAt; {
	case heard >= whisperTones:
		return 0
	case heard == low, heard == whisperLows+high:
		return 1
	case row == whisperBeforeAt && token%2 == 0:
		return whisperVariant
	case row == whisperBeforeAt:
		return -whisperVariant
	}
	return 0
}
