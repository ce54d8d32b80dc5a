package synth

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A SQuADSpec says everything about a built-in data set of questions about texts, in the
// form of SQuAD v1.1. Equal specs make equal files.
//
// A question asks what follows a name in the text; the answer has as many words as its
// first word says, by its number in the vocabulary.
type SQuADSpec struct {
	Seed      uint64 `json:"seed"`
	Questions int    `json:"questions"`
	// FirstWord is the number in the vocabulary from which on pieces are words, and Lengths is
	// the number of lengths that an answer may have: a word of number n begins one of
	// 1 + n mod Lengths words.
	FirstWord int `json:"first_word"`
	Lengths   int `json:"lengths"`
}

func (s SQuADSpec) check() error {
	switch {
	case s.Questions < 1 || s.Questions > 100_000:
		return fmt.Errorf("questions is %d: must be 1 to 100000", s.Questions)
	case s.FirstWord < 1500 || s.FirstWord > vocabularySize/2:
		return fmt.Errorf("first word is %d: must be 1500 to %d", s.FirstWord, vocabularySize/2)
	case s.Lengths < 1 || s.Lengths > 10:
		return fmt.Errorf("lengths is %d: must be 1 to 10", s.Lengths)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s SQuADSpec) Key() string {
	return "squad-" + keyOf("squad seed %d questions %d first word %d lengths %d", s.Seed, s.Questions, s.FirstWord, s.Lengths)
}

// What a data set looks like.
const (
	perText      = 5  // questions
	longEvery    = 20 // texts, of which one does not fit into a window
	wrongPercent = 6  // questions that people answered otherwise
)

// The form of SQuAD.
type (
	squadFile struct {
		Version string         `json:"version"`
		Data    []squadArticle `json:"data"`
	}
	squadArticle struct {
		Title      string           `json:"title"`
		Paragraphs []squadParagraph `json:"paragraphs"`
	}
	squadParagraph struct {
		Context string          `json:"context"`
		QAs     []squadQuestion `json:"qas"`
	}
	squadQuestion struct {
		ID       string        `json:"id"`
		Question string        `json:"question"`
		Answers  []squadAnswer `json:"answers"`
	}
	squadAnswer struct {
		Text  string `json:"text"`
		Start int    `json:"answer_start"` // in characters
	}
)

// WriteSQuAD makes a data set: dev-v1.1.json, vocab.txt and the Manifest.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteSQuAD(ctx context.Context, dir string, spec SQuADSpec) error {
	return publish(ctx, dir, "SQuAD", &spec, spec.fill, nil)
}

// fill writes the files.
func (s SQuADSpec) fill(folder string) error {
	v := squadVocabulary(s.Seed, s.FirstWord)
	text := strings.Join(v.pieces, "\n") + "\n"
	if err := fileio.WriteFile(filepath.Join(folder, "vocab.txt"), []byte(text), 0o644); err != nil {
		return err
	}
	file := squadFile{Version: "1.1"}
	for asked := 0; asked < s.Questions; asked += perText {
		i := asked / perText
		w := &squadWriter{spec: s, v: v, r: newStream("squad text", s.Seed, uint64(i))}
		p := w.paragraph(i, min(perText, s.Questions-asked))
		file.Data = append(file.Data, squadArticle{Title: fmt.Sprintf("%s_%d", Mark, i), Paragraphs: []squadParagraph{p}})
	}
	data, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return err
	}
	return fileio.WriteFile(filepath.Join(folder, "dev-v1.1.json"), append(data, '\n'), 0o644)
}

// A squadWriter writes one text.
type squadWriter struct {
	spec  SQuADSpec
	v     *vocabulary
	r     *stream
	words []int // that are still to be used: no word is in a text twice
	text  strings.Builder
	chars int
	names []string
	said  []squadAnswer // what follows each name
}

// paragraph writes a text and questions about it.
func (w *squadWriter) paragraph(number, questions int) squadParagraph {
	sentences := w.r.between(5, 10)
	if number%longEvery == longEvery-1 {
		sentences = w.r.between(34, 46)
	}
	w.words = w.v.words(w.r, sentences*(8+w.spec.Lengths))
	for range sentences {
		w.sentence()
	}
	p := squadParagraph{Context: strings.TrimSpace(w.text.String())}
	order := make([]int, len(w.names))
	for i := range order {
		order[i] = i
	}
	w.r.shuffle(order)
	for k := range questions {
		p.QAs = append(p.QAs, w.question(fmt.Sprintf("%05d%d", number, k), order[k]))
	}
	return p
}

// sentence writes one with a name and what follows it.
func (w *squadWriter) sentence() {
	w.put(capital(w.common()))
	w.fillers(w.r.between(1, 3))
	name := w.style(capital(w.word()))
	w.names = append(w.names, name)
	w.put(name)
	first := w.take()
	phrase := w.style(w.v.pieces[first])
	for range first % w.spec.Lengths {
		phrase += " " + w.style(w.word())
	}
	w.said = append(w.said, squadAnswer{phrase, w.chars})
	if w.r.below(3) == 0 {
		w.put(phrase + ",")
	} else {
		w.put(phrase)
	}
	w.put(w.common())
	w.fillers(w.r.between(1, 3))
	w.put(w.word() + ".")
}

// fillers writes words without a question.
func (w *squadWriter) fillers(n int) {
	for range n {
		switch w.r.below(6) {
		case 0:
			w.put(fmt.Sprint(w.r.between(1, 1999)))
		case 1:
			w.put(w.common() + " " + w.word() + "s")
		default:
			w.put(w.common() + " " + w.word())
		}
	}
}

// question asks for a name.
func (w *squadWriter) question(id string, i int) squadQuestion {
	forms := []string{"What comes after %s?", "Which words follow %s in the text?", "What word or words come first after %s?", "%s: what follows it?"}
	q := squadQuestion{ID: id, Question: fmt.Sprintf(forms[w.r.below(len(forms))], w.names[i])}
	if w.r.below(100) < wrongPercent {
		i = (i + 1) % len(w.said)
	}
	q.Answers = []squadAnswer{w.said[i]}
	for range w.r.below(3) {
		q.Answers = append(q.Answers, w.said[i])
	}
	return q
}

// put writes a word and a blank.
func (w *squadWriter) put(word string) {
	w.text.WriteString(word)
	w.text.WriteByte(' ')
	w.chars += utf8.RuneCountInString(word) + 1
}

// take returns the number of a word that was not used yet.
func (w *squadWriter) take() int {
	id := w.words[0]
	w.words = w.words[1:]
	return id
}

func (w *squadWriter) word() string   { return w.v.pieces[w.take()] }
func (w *squadWriter) common() string { return w.v.common[w.r.below(len(w.v.common))] }

// style puts an accent on some words, which the tokenizer takes off again.
func (w *squadWriter) style(word string) string {
	if w.r.below(8) > 0 {
		return word
	}
	return strings.NewReplacer("a", "á", "e", "é", "o", "ö").Replace(word)
}

func capital(word string) string {
	r, n := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(r)) + word[n:]
}
