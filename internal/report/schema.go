package report

import _ "embed"

// schemaJSON follows from the types of this package: go test -update writes it anew.
//
//go:embed results.schema.json
var schemaJSON []byte

// JSONSchema is the JSON Schema of results.json.
func JSONSchema() []byte { return schemaJSON }
