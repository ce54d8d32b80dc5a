package report

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/requests"
)

// comments are those of the fields of structs, by type and field.
func comments(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					gather(all, spec)
				}
				return true
			})
		}
	}
	return all
}

func gather(all map[string]string, spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			all[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		}
	}
}

// describe adds to a schema what the comments say, and takes away that it is closed: fields
// may be added without another version.
func describe(s *jsonschema.Schema, of reflect.Type, comments map[string]string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		if s = cmpOr(s.Items, s.AdditionalProperties, s); of.Kind() == reflect.Map {
			of = of.Elem()
			continue
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || s.Properties == nil {
		return
	}
	s.AdditionalProperties = nil
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		switch {
		case f.Anonymous:
			describe(s, f.Type, comments)
		case p != nil:
			p.Description = comments[of.Name()+"."+f.Name]
			describe(p, f.Type, comments)
		}
	}
}

func cmpOr(list ...*jsonschema.Schema) *jsonschema.Schema {
	for _, s := range list[:len(list)-1] {
		if s != nil && s.Not == nil {
			return s
		}
	}
	return list[len(list)-1]
}

// generated is the schema that follows from the types.
func generated(t *testing.T) []byte {
	t.Helper()
	type setting Setting
	quantity, err := jsonschema.For[loadgen.Quantity](nil)
	if err != nil {
		t.Fatal(err)
	}
	withQuantity, err := jsonschema.For[setting](nil)
	if err != nil {
		t.Fatal(err)
	}
	withQuantity.Properties["quantity"] = quantity
	limited, err := jsonschema.For[limitation.Limitation](nil)
	if err != nil {
		t.Fatal(err)
	}
	limited.Properties["text"] = &jsonschema.Schema{Type: "string", Description: "the limitation in words"}
	limited.Required = append(limited.Required, "text")
	s, err := jsonschema.For[Results](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Setting](): withQuantity, reflect.TypeFor[Test](): testSchema(t), reflect.TypeFor[Limitations](): {Type: "array", Items: limited},
	}})
	if err != nil {
		t.Fatal(err)
	}
	comments := comments(t, "*.go", "../loadgen/*.go", "../config/limitation/*.go")
	describe(s, reflect.TypeFor[Results](), comments)
	describeTest(s.Properties["test"], comments)
	for _, name := range []string{"right", "resampled"} {
		p := s.Properties["accuracy"].Properties[name]
		p.Type, p.Types, p.Items, p.ContentEncoding = "string", nil, nil, "base64"
	}
	s.Schema, s.ID = "https://json-schema.org/draft/2020-12/schema", "urn:mlperf-go:results:4"
	s.Properties["created"].Format = "date-time"
	s.Title = "results.json of mlperf: one run, with every number's unit in its name or beside it"
	s.Properties["schema"].Enum = []any{Schema}
	s.Properties["result"].Enum = []any{Valid, Invalid, Interrupted}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// testSchema is the schema of the settings of a test, which follows from their table.
func testSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(testDocument(), &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[loadgen.Arrivals](): {Type: "string"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// describeTest adds the comments of the settings' fields.
func describeTest(s *jsonschema.Schema, comments map[string]string) {
	var e loadgen.EffectiveSettings
	of := map[any]string{} // comments by pointers to fields
	for _, f := range reflect.VisibleFields(reflect.TypeOf(e)) {
		owner := "EffectiveSettings"
		if len(f.Index) > 1 {
			owner = "Common"
		}
		of[reflect.ValueOf(&e).Elem().FieldByIndex(f.Index).Addr().Interface()] = comments[owner+"."+f.Name]
	}
	for _, row := range recorded() {
		name, options, _ := strings.Cut(row.JSON, ",")
		p := s.Properties[name]
		p.Description = of[row.Effective(&e)]
		if options == "string" {
			p.Type, p.Types, p.Minimum, p.Pattern = "string", nil, nil, "^[0-9]+$"
			p.Description += "; a text, because many readers of JSON keep 53 bits of its 64"
		}
	}
}

// plain is the schema of a document of plain types.
func plain[T any](t *testing.T, id, title, schema string, files ...string) []byte {
	t.Helper()
	s, err := jsonschema.For[T](nil)
	if err != nil {
		t.Fatal(err)
	}
	describe(s, reflect.TypeFor[T](), comments(t, files...))
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", id, title
	if schema != "" {
		s.Properties["schema"].Enum = []any{schema}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func TestSchemaFollowsFromTheTypes(t *testing.T) {
	for name, want := range map[string][]byte{
		"results": generated(t),
		"sweep":   plain[Sweep](t, "urn:mlperf-go:sweep:2", "sweep.json of mlperf: runs at one load after the other", SweepSchema, "sweep.go"),
		"requests": plain[requests.Request](t, "urn:mlperf-go:requests:1", "a line of requests.jsonl.gz of mlperf, but the first, which has the schema "+requests.Schema+": what became of a request", "",
			"requests/file.go"),
	} {
		if *update {
			if err := os.WriteFile(name+".schema.json", want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue // what is embedded is that of before
		}
		if diff := cmp.Diff(string(want), string(JSONSchemas()[name])); diff != "" {
			t.Errorf("%s.schema.json (-want +got; go test -update writes it anew):\n%s", name, diff)
		}
	}
}

func resolvedSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(JSONSchemas()["results"], &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDocumentsFitTheSchema(t *testing.T) {
	schema := resolvedSchema(t)
	for _, f := range fixtures() {
		t.Run(f.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := JSON(&out, f.r); err != nil {
				t.Fatal(err)
			}
			var document any
			if err := json.Unmarshal(out.Bytes(), &document); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(document); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSchemaRefusesOtherDocuments(t *testing.T) {
	schema := resolvedSchema(t)
	var out bytes.Buffer
	if err := JSON(&out, fixtures()[0].r); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]any){
		"another schema":        func(d map[string]any) { d["schema"] = "mlperf-go/results/1" },
		"a verdict of its own":  func(d map[string]any) { d["result"] = "GREAT" },
		"no settings":           func(d map[string]any) { delete(d, "settings") },
		"a text for a number":   func(d map[string]any) { d["metric"].(map[string]any)["value"] = "12 ms" },
		"a bound without units": func(d map[string]any) { d["constraints"].([]any)[0].(map[string]any)["required"] = 5.0 },
		"a seed that is rounded": func(d map[string]any) {
			d["test"].(map[string]any)["qsl_rng_seed"] = 1.8446744073709552e19
		},
	} {
		t.Run(name, func(t *testing.T) {
			document := map[string]any{}
			if err := json.Unmarshal(out.Bytes(), &document); err != nil {
				t.Fatal(err)
			}
			if change(document); schema.Validate(document) == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}
