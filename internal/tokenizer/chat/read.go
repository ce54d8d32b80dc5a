package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// The files in which a tokenizer has its template, and how long they may be.
const (
	configFile   = "tokenizer_config.json"
	templateFile = "chat_template.jinja"
	maxFile      = 4 << 20
)

// Open reads the template in the folder of a tokenizer; nil: there is none.
func Open(folder string) (*Template, error) {
	path := filepath.Join(folder, configFile)
	c := &config{}
	text, err := regular.ReadFile(path, maxFile)
	if err == nil {
		c, err = parseConfig(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	own := filepath.Join(folder, templateFile)
	switch text, err := regular.ReadFile(own, maxFile); {
	case err == nil:
		path, c.template = own, string(text)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if c.template == "" {
		return nil, nil
	}
	t, err := compile(c)
	if err != nil {
		return nil, fmt.Errorf("the chat template of %s: %w", path, err)
	}
	t.Path = path
	return t, nil
}

// A config is what is used of tokenizer_config.json.
type config struct {
	template string
	special  map[string]string // bos_token and the like
}

// specialNames are the special tokens that templates know by name.
var specialNames = []string{"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"}

func parseConfig(text []byte) (*config, error) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	c := &config{special: map[string]string{}}
	for _, name := range specialNames {
		var token specialToken
		if raw := document[name]; raw != nil && string(raw) != "null" { // of which a template can ask whether it is there
			if err := json.Unmarshal(raw, &token); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.special[name] = string(token)
		}
	}
	if raw := document["chat_template"]; raw != nil {
		var t templates
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("chat_template: %w", err)
		}
		c.template = string(t)
	}
	return c, nil
}

// A specialToken is a text, or has one as its content.
type specialToken string

// UnmarshalJSON implements json.Unmarshaler.
func (t *specialToken) UnmarshalJSON(text []byte) error {
	var whole struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(text, (*string)(t)); err == nil {
		return nil
	}
	err := json.Unmarshal(text, &whole)
	*t = specialToken(whole.Content)
	return err
}

// templates are one, or several of which one is the default.
type templates string

// UnmarshalJSON implements json.Unmarshaler.
func (t *templates) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*string)(t)); err == nil {
		return nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(text, &list); err != nil {
		return errors.New("want a text, or a list of names and templates")
	}
	for _, one := range list {
		if one.Name == "default" {
			*t = templates(one.Template)
			return nil
		}
	}
	return errors.New("none of the templates is the default")
}
