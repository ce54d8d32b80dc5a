package oip

import (
	"strings"
	"testing"
)

func TestErrorsAboutJSONAreInItsWords(t *testing.T) {
	type inner struct {
		Whole  int32    `json:"whole"`
		Count  uint64   `json:"count"`
		Number float32  `json:"number"`
		List   []string `json:"list"`
	}
	type value struct {
		Flag  bool             `json:"flag"`
		Text  string           `json:"text"`
		Inner []inner          `json:"inner"`
		Map   map[string]inner `json:"map"`
	}
	for text, want := range map[string]string{
		`[]`:                             "a list where an object should be",
		`{"flag":0}`:                     "flag: a number where true or false should be",
		`{"text":true}`:                  "text: true or false where a text should be",
		`{"inner":{}}`:                   "inner: an object where a list should be",
		`{"inner":["a"]}`:                "inner: a text where an object should be",
		`{"inner":[{"whole":1.5}]}`:      "inner.whole: 1.5 where a whole number of 32 bits should be",
		`{"inner":[{"whole":1e99}]}`:     "inner.whole: 1e99 where a whole number of 32 bits should be",
		`{"inner":[{"count":-1}]}`:       "inner.count: -1 where a whole number of 64 bits, from 0, should be",
		`{"inner":[{"number":"x"}]}`:     "inner.number: a text where a number should be",
		`{"inner":[{"list":[7]}]}`:       "inner.list: a number where a text should be",
		`{"map":[]}`:                     "map: a list where an object should be",
		`{"text":"a"`:                    "unexpected end of JSON input (byte 11)",
		`{"text":"a"} x`:                 "invalid character 'x' after top-level value (byte 14)",
		"{\"text\":\"\xff\"}":            "it is not UTF-8",
		`{"text":"a","text":"b"}`:        `an object has two keys "text"`,
		`{"text":"a","Text":"b"}`:        `an object has two keys "text"`,
		strings.Repeat(`{"map":`, 10001): "exceeded max depth",
	} {
		if err := ReadJSON([]byte(text), &value{}, "text"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "json:") {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	var v value
	if err := ReadJSON([]byte(`{"text":"a","other":1,"other":2,"inner":[{"whole":-7,"text":"b"}]}`), &v, "text"); err != nil || v.Text != "a" || v.Inner[0].Whole != -7 {
		t.Errorf("%+v, %v", v, err)
	}
}
