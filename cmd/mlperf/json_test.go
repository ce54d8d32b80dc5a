package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryDocumentSaysItsForm(t *testing.T) {
	for _, c := range []struct {
		document any
		want     string
	}{
		{struct {
			A int `json:"a"`
		}{5}, `{"schema":"x/1","a":5}`},
		{[]int{1, 2}, `{"schema":"x/1","rows":[1,2]}`},
		{[]int(nil), `{"schema":"x/1","rows":[]}`},
		{struct{}{}, `{"schema":"x/1"}`},
	} {
		text, err := withSchema("x/1", c.document)
		if err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}

// withoutJSON are the verbs that have no use for it, and why.
var withoutJSON = map[string]string{
	"mlperf man":    "writes manual pages",
	"mlperf schema": "prints JSON",
	"mlperf serve":  "answers until it is stopped",
	"mlperf system": "prints JSON, in the form of a submission",
}

func TestEveryVerbHasJSON(t *testing.T) {
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			look(sub)
		}
		name := cmd.CommandPath()
		if cmd.HasSubCommands() || cmd.Hidden || strings.HasPrefix(name, "mlperf completion") || strings.HasPrefix(name, "mlperf help") {
			return
		}
		has := cmd.Flags().Lookup("json") != nil
		if _, exempt := withoutJSON[name]; has == exempt {
			t.Errorf("%s: --json %v, exempt %v", name, has, exempt)
		}
	}
	look(newRoot(io.Discard, io.Discard))
}
