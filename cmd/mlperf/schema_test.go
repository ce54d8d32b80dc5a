package main

import (
	"encoding/json"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
)

// keeps checks a document by a schema: keeps SCHEMA FILE.
func keeps(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: keeps schema file")
	}
	read := func(name string, into any) {
		text, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		ts.Check(json.Unmarshal(text, into))
	}
	var s jsonschema.Schema
	read(args[0], &s)
	resolved, err := s.Resolve(nil)
	ts.Check(err)
	var document any
	read(args[1], &document)
	err = resolved.Validate(document)
	if neg && err == nil {
		ts.Fatalf("%s keeps %s", args[1], args[0])
	}
	if !neg {
		ts.Check(err)
	}
}
