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
	case w.text == "." || w.text == "?" || w.text == "!":
		w.ends = true
	case len(w.text) >= 2 && strings.Trim(w.text, ".") == "":
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
	kind, nextKind, initial := w.bare(), next.inner(), w.isInitial()
	if l.collocations[[2]string{kind, nextKind}] {
		w.ends, w.abbreviation = false, true
		return
	}
	starts := l.startsSentence(next)
	if (w.abbreviation || w.ellipsis) && !initial {
		if starts == yes || next.startsUpper() && l.starters[nextKind] {
			w.ends = true
			return
		}
	}
	if !initial && kind != number {
		return
	}
	if starts == no || starts == unknown && initial && next.startsUpper() && l.writing[nextKind]&small == 0 {
		w.ends, w.abbreviation = false, true
	}
}

// What is known of something.
type answer int

const (
	unknown answer = iota
	yes
	no
)

// startsSentence says whether a word is written as only at the beginning of a sentence.
func (l *language) startsSentence(w *word) answer {
	if strings.Contains(";:,.!?", w.text) && len(w.text) == 1 {
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
