package bfcl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ClientAnswer is an answer as the client of mlcommons/endpoints logs it (core/types.py, TextModelOutput): its calls of tools with the pieces
// together, or else its reasoning and its text. Data that are null, of a request that failed, are an empty text.
func ClientAnswer(data jsontext.Value) (string, error) {
	if data == nil || data.Kind() == 'n' {
		return "", nil
	}
	var fields []jsontext.Value
	if err := json.Unmarshal(data, &fields); err != nil || len(fields) == 0 || string(fields[0]) != `"TextModelOutput"` {
		return "", fmt.Errorf("%.40s is not a TextModelOutput", data)
	}
	fields = append(fields, make([]jsontext.Value, 4)...) // those at the end may be left out
	if calls, err := mergedCalls(fields[3]); err != nil || calls != "" {
		return calls, err
	}
	text := ""
	for _, f := range []jsontext.Value{fields[2], fields[1]} {
		parts, err := texts(f)
		if err != nil {
			return "", err
		}
		text += parts
	}
	return text, nil
}

// texts is a text, or several that follow each other.
func texts(v jsontext.Value) (text string, err error) {
	switch v.Kind() {
	case '"':
		err = json.Unmarshal(v, &text, jsontext.AllowInvalidUTF8(true))
	case '[':
		var parts []string
		err = json.Unmarshal(v, &parts, jsontext.AllowInvalidUTF8(true))
		text = strings.Join(parts, "")
	}
	return text, err
}

// mergedCalls are calls as JSON: as they are, or, of a stream, the pieces of each event put together by their index. Empty: there are none.
func mergedCalls(v jsontext.Value) (string, error) {
	var items []jsontext.Value
	if v.Kind() != '[' {
		return "", nil
	}
	if err := json.Unmarshal(v, &items); err != nil || len(items) == 0 {
		return "", err
	}
	if items[0].Kind() != '[' {
		return string(v), nil
	}
	type function struct {
		Arguments string `json:"arguments"`
		Name      string `json:"name,omitempty"`
	}
	type piece struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
		ID       string   `json:"id,omitempty"`
		Index    int      `json:"index,omitzero"`
	}
	merged := map[int]*piece{}
	for _, item := range items {
		var pieces []piece
		if err := json.Unmarshal(item, &pieces, jsontext.AllowInvalidUTF8(true)); err != nil {
			return "", fmt.Errorf("pieces of calls: %w", err)
		}
		for _, p := range pieces {
			c := merged[p.Index]
			if c == nil {
				c = &piece{Type: "function"}
				merged[p.Index] = c
			}
			c.ID, c.Type, c.Function.Name = cmp.Or(p.ID, c.ID), cmp.Or(p.Type, c.Type), cmp.Or(p.Function.Name, c.Function.Name)
			c.Function.Arguments += p.Function.Arguments
		}
	}
	var list []*piece
	for _, i := range slices.Sorted(maps.Keys(merged)) {
		list = append(list, merged[i]) // without its index
	}
	if list == nil {
		return "", nil
	}
	text, err := json.Marshal(list)
	return string(text), err
}
