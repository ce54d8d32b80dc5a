package dataset

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

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

// VocabularyPath returns the file of the model's vocabulary, beside the questions.
func VocabularyPath(dir string) string { return filepath.Join(dir, "vocab.txt") }

// OpenSQuAD reads dev-v1.1.json of a folder. Missing fields, repeated ids and
// text that is not UTF-8 are errors, which name the place.
func OpenSQuAD(dir string) (_ *SQuAD, err error) {
	defer opening("SQuAD", &err)
	path := filepath.Join(dir, "dev-v1.1.json")
	data, err := fileio.ReadFile(path, maxText)
	if err != nil {
		return nil, err
	}
	d, err := parseSQuAD(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	vocabulary, err := fileio.ReadFile(VocabularyPath(dir), maxText)
	if err != nil {
		return nil, fmt.Errorf("the model's vocabulary must be beside the questions: %w", err)
	}
	sum := sha256.New()
	sum.Write(data)
	sum.Write(vocabulary)
	d.fingerprint = fmt.Sprintf("%x", sum.Sum(nil)[:10])
	return d, nil
}

// Fingerprint identifies the content of questions and vocabulary.
func (d *SQuAD) Fingerprint() string { return d.fingerprint }

// Truth returns the expected answers.
func (d *SQuAD) Truth() []accuracy.Question {
	truth := make([]accuracy.Question, len(d.Questions))
	for i, q := range d.Questions {
		truth[i] = q.Question
	}
	return truth
}

// parseSQuAD reads SQuAD v1.1. Fields that must exist are pointers.
func parseSQuAD(data []byte) (*SQuAD, error) {
	var file struct {
		Data *[]struct {
			Paragraphs *[]struct {
				Context *string `json:"context"`
				QAs     *[]struct {
					ID       *string `json:"id"`
					Question *string `json:"question"`
					Answers  []struct {
						Text *string `json:"text"`
					} `json:"answers"`
				} `json:"qas"`
			} `json:"paragraphs"`
		} `json:"data"`
	}
	if err := parseJSON(data, &file); err != nil {
		return nil, err
	}
	if file.Data == nil {
		return nil, errors.New(`no "data": not SQuAD`)
	}
	d, ids := &SQuAD{}, make(map[string]bool)
	for i, article := range *file.Data {
		if article.Paragraphs == nil {
			return nil, fmt.Errorf(`data[%d]: expected "paragraphs"`, i)
		}
		for j, p := range *article.Paragraphs {
			if p.Context == nil || p.QAs == nil {
				return nil, fmt.Errorf(`data[%d].paragraphs[%d]: expected "context" and "qas"`, i, j)
			}
			for k, qa := range *p.QAs {
				place := fmt.Sprintf("data[%d].paragraphs[%d].qas[%d]", i, j, k)
				switch {
				case qa.ID == nil || qa.Question == nil:
					return nil, fmt.Errorf(`%s: must be "id" and "question"`, place)
				case ids[*qa.ID]:
					return nil, fmt.Errorf("%s: id %q occurs twice", place, *qa.ID)
				}
				ids[*qa.ID] = true
				q := SQuADQuestion{Text: len(d.Texts), Asked: *qa.Question}
				q.ID = *qa.ID
				for n, answer := range qa.Answers {
					if answer.Text == nil {
						return nil, fmt.Errorf(`%s.answers[%d]: expected "text"`, place, n)
					}
					q.Answers = append(q.Answers, *answer.Text)
				}
				d.Questions = append(d.Questions, q)
			}
			d.Texts = append(d.Texts, *p.Context)
		}
	}
	if len(d.Questions) == 0 {
		return nil, errors.New("no questions")
	}
	return d, nil
}
