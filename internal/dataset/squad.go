package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// longestSQuAD is how large a file of questions or a vocabulary may be: the official ones have 5 MB and less.
const longestSQuAD = 1 << 30

// SQuAD is a set of questions about texts.
type SQuAD struct {
	Texts       []string
	Questions   []SQuADQuestion
	fingerprint string
}

// A SQuADQuestion is a question about one of the texts.
type SQuADQuestion struct {
	accuracy.Question
	Asked string
	Text  int
}

// The files of SQuAD, and of the model's vocabulary, which lies beside them.
const (
	squadData       = "dev-v1.1.json"
	squadVocabulary = "vocab.txt"
)

// VocabularyPath is where the vocabulary of a data set of text lies.
func VocabularyPath(dir string) string { return filepath.Join(dir, squadVocabulary) }

// OpenSQuAD reads dev-v1.1.json of a folder. Questions without an id, ids that repeat and
// text that is not UTF-8 are errors, which name the place.
func OpenSQuAD(dir string) (*SQuAD, error) {
	path := filepath.Join(dir, squadData)
	data, err := fileio.ReadFile(path, longestSQuAD)
	if err != nil {
		return nil, fmt.Errorf("opening SQuAD: %w", err)
	}
	d, err := parseSQuAD(data)
	if err != nil {
		return nil, fmt.Errorf("opening SQuAD: %s: %w", path, err)
	}
	vocabulary, err := fileio.ReadFile(VocabularyPath(dir), longestSQuAD)
	if err != nil {
		return nil, fmt.Errorf("opening SQuAD: the vocabulary of the model has to lie beside the questions: %w", err)
	}
	sum := sha256.New()
	sum.Write(data)
	sum.Write(vocabulary)
	d.fingerprint = fmt.Sprintf("%x", sum.Sum(nil)[:10])
	return d, nil
}

// Fingerprint names the content.
func (d *SQuAD) Fingerprint() string { return d.fingerprint }

// Truth returns the answers that people gave.
func (d *SQuAD) Truth() []accuracy.Question {
	truth := make([]accuracy.Question, len(d.Questions))
	for i, q := range d.Questions {
		truth[i] = q.Question
	}
	return truth
}

// squadFile is the form of SQuAD v1.1. Fields that have to be there are pointers.
type squadFile struct {
	Data *[]struct{ Paragraphs *[]squadParagraph }
}

type squadParagraph struct {
	Context *string
	QAs     *[]squadQuestion
}

type squadQuestion struct {
	ID, Question *string
	Answers      []struct{ Text *string }
}

func parseSQuAD(data []byte) (*SQuAD, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("line %d: the text is not UTF-8", lineOf(data, invalidAt(data)))
	}
	var file squadFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, jsonError(data, err)
	}
	if file.Data == nil {
		return nil, errors.New(`there is no "data": this is not SQuAD`)
	}
	d, ids := &SQuAD{}, make(map[string]bool)
	for i, article := range *file.Data {
		if err := d.addArticle(article.Paragraphs, fmt.Sprintf("data[%d]", i), ids); err != nil {
			return nil, err
		}
	}
	if len(d.Questions) == 0 {
		return nil, errors.New("there is no question")
	}
	return d, nil
}

// addArticle adds the paragraphs of an article. ids are those of the questions before.
func (d *SQuAD) addArticle(paragraphs *[]squadParagraph, place string, ids map[string]bool) error {
	if paragraphs == nil {
		return fmt.Errorf("%s has no \"paragraphs\"", place)
	}
	for i, p := range *paragraphs {
		if err := d.add(p, fmt.Sprintf("%s.paragraphs[%d]", place, i), ids); err != nil {
			return err
		}
	}
	return nil
}

// add adds a paragraph and its questions.
func (d *SQuAD) add(p squadParagraph, place string, ids map[string]bool) error {
	if p.Context == nil || p.QAs == nil {
		return fmt.Errorf("%s: want \"context\" and \"qas\"", place)
	}
	for i, qa := range *p.QAs {
		if err := d.ask(qa, fmt.Sprintf("%s.qas[%d]", place, i), ids); err != nil {
			return err
		}
	}
	d.Texts = append(d.Texts, *p.Context)
	return nil
}

// ask adds a question about the text that is next.
func (d *SQuAD) ask(qa squadQuestion, place string, ids map[string]bool) error {
	switch {
	case qa.ID == nil || qa.Question == nil:
		return fmt.Errorf("%s: want \"id\" and \"question\"", place)
	case ids[*qa.ID]:
		return fmt.Errorf("%s: id %q is there already", place, *qa.ID)
	}
	ids[*qa.ID] = true
	q := SQuADQuestion{Text: len(d.Texts)}
	q.ID, q.Asked = *qa.ID, *qa.Question
	var err error
	if q.Answers, err = qa.answers(); err != nil {
		return fmt.Errorf("%s.%w", place, err)
	}
	d.Questions = append(d.Questions, q)
	return nil
}

// answers are the texts of the answers.
func (q squadQuestion) answers() (texts []string, err error) {
	for i, answer := range q.Answers {
		if answer.Text == nil {
			return nil, fmt.Errorf("answers[%d]: want \"text\"", i)
		}
		texts = append(texts, *answer.Text)
	}
	return texts, nil
}

// jsonError adds the line to an error of encoding/json.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineOf(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %w", lineOf(data, kind.Offset), err)
	}
	return err
}

// lineOf returns the line of a byte, from 1.
func lineOf(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// invalidAt returns where the first byte is that is not UTF-8.
func invalidAt(data []byte) int64 {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return int64(at)
}
