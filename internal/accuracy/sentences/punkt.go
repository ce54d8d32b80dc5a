package sentences

import "strings"

// annotate says of a run of words which end a sentence.
func (l *language) annotate(words []word) {
	for i := range words {
		l.byKind(&words[i])
	}
	for i := range len(words) - 1 {
		l.byNext(&words[i], &words[i+1])
	}
}

// byKind judges a word alone.
func (l *language) byKind(w *word) {
	switch {
	case len(w.text) == 1 && strings.Contains(".?!", w.text):
		w.ends = true
	case strings.Trim(w.text, ".") == "": // no word is empty
		w.ellipsis = true
	case w.endsWithPeriod() && !strings.HasSuffix(w.text, ".."):
		name := w.name()
		last := name[strings.LastIndexByte(name, '-')+1:]
		w.abbreviation = l.abbreviations[name] || l.abbreviations[last]
		w.ends = !w.abbreviation
	}
}

// byNext judges a word again by the one that follows.
func (l *language) byNext(w, next *word) {
	if !w.endsWithPeriod() {
		return
	}
	starts := l.startsSentence(next)
	switch {
	case l.collocations[[2]string{w.bare(), next.inner()}]:
		w.ends, w.abbreviation = false, true
	case (w.abbreviation || w.ellipsis) && !w.isInitial() && l.opens(next, starts):
		w.ends = true
	case l.belongs(w, next, starts):
		w.ends, w.abbreviation = false, true
	}
}

// opens reports whether a sentence begins with a word that follows an abbreviation or dots.
func (l *language) opens(next *word, starts answer) bool {
	return starts == yes || next.startsUpper() && l.starters[next.inner()]
}

// belongs reports whether an initial or a number belongs to the word that follows.
func (l *language) belongs(w, next *word, starts answer) bool {
	switch starts {
	case no:
		return w.isInitial() || w.bare() == number
	case unknown:
		return w.isInitial() && l.isName(next)
	}
	return false
}

// isName reports whether a word is written with a capital, and was never seen without one.
func (l *language) isName(w *word) bool { return w.startsUpper() && l.writing[w.inner()]&small == 0 }

// What is known of something.
type answer int

const (
	unknown answer = iota
	yes
	no
)

// startsSentence says whether a word is written as only at the beginning of a sentence.
func (l *language) startsSentence(w *word) answer {
	if len(w.text) == 1 && strings.Contains(";:,.!?", w.text) {
		return no
	}
	writing := l.writing[w.inner()]
	switch {
	case w.startsUpper() && writing&small != 0 && writing&capitalInside == 0:
		return yes
	case w.startsLower() && (writing&capital != 0 || writing&smallFirst == 0):
		return no
	}
	return unknown
}
