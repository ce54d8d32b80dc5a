package hf

import (
	"encoding/json"
	"fmt"
)

// A templatePart is a special token or the text.
type templatePart struct {
	Special *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

// A templateToken is what a special token of a template stands for.
type templateToken struct {
	IDs []int32 `json:"ids"`
}

// A namedToken is a token with its number.
type namedToken struct {
	name string
	id   int32
}

func (n *namedToken) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&n.name, &n.id})
}

// newProcessor returns the special tokens before and after a text; where is the place in the
// file.
func newProcessor(c *component, where string) (before, after []int32, err error) {
	if c == nil {
		return nil, nil, nil
	}
	switch c.Type {
	case "ByteLevel": // it moves the offsets of tokens, of which nobody asks
		return nil, nil, nil
	case "TemplateProcessing":
		return c.template(where)
	case "BertProcessing", "RobertaProcessing":
		return c.around(where)
	case "Sequence":
		return processors(c.Processors, where+".processors")
	}
	return nil, nil, fmt.Errorf("%s: type %q is not known, want TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or Sequence", where, c.Type)
}

// processors are one after another. Only one may add tokens: to a second one, the library shows
// what the first added as a text of its own.
func processors(parts []component, where string) (before, after []int32, err error) {
	for i := range parts {
		place := fmt.Sprintf("%s[%d]", where, i)
		b, a, err := newProcessor(&parts[i], place)
		if err != nil {
			return nil, nil, err
		}
		if len(b)+len(a) == 0 {
			continue
		}
		if len(before)+len(after) > 0 {
			return nil, nil, fmt.Errorf("%s: %s adds tokens, which a processor before it did already: want one that does", place, parts[i].Type)
		}
		before, after = b, a
	}
	return before, after, nil
}

// around is a token before a text and one behind it.
func (c *component) around(where string) (before, after []int32, err error) {
	if c.Begin == nil || c.End == nil {
		return nil, nil, fmt.Errorf("%s: %s has no cls or no sep", where, c.Type)
	}
	return []int32{c.Begin.id}, []int32{c.End.id}, nil
}

func (c *component) template(where string) (before, after []int32, err error) {
	texts := 0
	for i, part := range c.Single {
		if part.Sequence != nil {
			texts++
			continue
		}
		if part.Special == nil {
			return nil, nil, fmt.Errorf("%s.single[%d]: want a SpecialToken or a Sequence", where, i)
		}
		token, ok := c.Special[part.Special.ID]
		if !ok {
			return nil, nil, fmt.Errorf("%s.single[%d]: %q is not among the special_tokens", where, i, part.Special.ID)
		}
		if texts == 0 {
			before = append(before, token.IDs...)
		} else {
			after = append(after, token.IDs...)
		}
	}
	if texts != 1 {
		return nil, nil, fmt.Errorf("%s.single: the text is there %d times, want once", where, texts)
	}
	return before, after, nil
}

// checkProcessor makes sure that the special tokens around a text are tokens.
func (t *Tokenizer) checkProcessor() error {
	for _, ids := range [][]int32{t.before, t.after} {
		for _, id := range ids {
			if _, ok := t.Token(id); !ok {
				return fmt.Errorf("post_processor: it adds token %d, which the vocabulary of %d does not have", id, t.Size())
			}
		}
	}
	return nil
}
