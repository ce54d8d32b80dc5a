package bfcl

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
)

// schemaTypes are the types of JSON's schemas by those of BFCL; others are texts (bfcl_eval, GORILLA_TO_OPENAPI).
var schemaTypes = map[string]string{
	"integer": "integer", "number": "number", "float": "number", "string": "string", "boolean": "boolean", "bool": "boolean",
	"array": "array", "list": "array", "dict": "object", "object": "object", "tuple": "array", "any": "string",
	"byte": "integer", "short": "integer", "long": "integer", "double": "number", "char": "string", "ArrayList": "array", "Array": "array",
	"HashMap": "object", "Hashtable": "object", "Queue": "array", "Stack": "array", "Any": "string", "String": "string", "Bigint": "integer",
}

// Tools makes OpenAI's tools of the descriptions of functions: names without points, and types of JSON's schemas. Keys keep their order, and
// numbers their digits.
func Tools(functions jsontext.Value) (jsontext.Value, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(functions, &list, lenient); err != nil {
		return nil, fmt.Errorf("function: %w", err)
	}
	tools := []byte{'['}
	for i, text := range list {
		f, err := parseObject(text)
		if err == nil {
			err = f.asTool()
		}
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", i+1, err)
		}
		if i > 0 {
			tools = append(tools, ',')
		}
		tools = append(append(append(tools, `{"type":"function","function":`...), f.value()...), '}')
	}
	return append(tools, ']'), nil
}

// An object is one of JSON whose members keep their order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// parseObject reads the members of an object, with the shortest form of their texts. Of two of a name the last counts, in the first one's place.
func parseObject(text jsontext.Value) (o object, err error) {
	text = slices.Clone(text)
	if err := text.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	if text.Kind() != '{' {
		return nil, fmt.Errorf("%.40s is not an object", text)
	}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		o.set(key, slices.Clone(v))
	}
	return o, nil
}

func (o object) get(name string) jsontext.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// text is a member that is a text.
func (o object) text(name string) (text string, ok bool) {
	v := o.get(name)
	return text, v.Kind() == '"' && json.Unmarshal(v, &text) == nil
}

// set replaces a member, or adds it behind the others.
func (o *object) set(name string, v jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = v
			return
		}
	}
	*o = append(*o, member{name, v})
}

func (o *object) setText(name, text string) {
	o.set(name, quote(text))
}

func quote(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text) // bytes that are not UTF-8 were replaced when the text was read
	return v
}

// value writes the object.
func (o object) value() jsontext.Value {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, quote(m.name)...), ':'), m.value...)
	}
	return append(text, '}')
}

// asTool makes the description of a function that of a tool.
func (o *object) asTool() error {
	name, ok := o.text("name")
	if !ok {
		return fmt.Errorf("the function has no name")
	}
	if strings.Contains(name, ".") {
		o.setText("name", bfcl.CallName(name))
	}
	parameters, err := parseObject(o.get("parameters"))
	if err != nil {
		return fmt.Errorf("%s: parameters: %w", name, err)
	}
	parameters.setText("type", "object")
	properties, err := castAll(parameters.get("properties"))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	parameters.set("properties", properties)
	o.set("parameters", parameters.value())
	return nil
}

// castAll gives properties, or those of an object in one, types of JSON's schemas.
func castAll(text jsontext.Value) (jsontext.Value, error) {
	properties, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	for i := range properties {
		p, err := parseObject(properties[i].value)
		if err == nil {
			err = p.cast()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", properties[i].name, err)
		}
		properties[i].value = p.value()
	}
	return properties.value(), nil
}

// cast gives a property a type of JSON's schemas, and those inside of it.
func (o *object) cast() error {
	kind, _ := o.text("type")
	if kind == "float" {
		o.setText("format", "float")
		description, ok := o.text("description")
		if !ok {
			return fmt.Errorf("a number of the type float must have a description")
		}
		o.setText("description", description+" This is a float type value.")
	}
	schema := schemaTypes[kind]
	if schema == "" {
		schema = "string"
	}
	o.setText("type", schema)
	if schema != "array" && schema != "object" {
		return nil
	}
	if inside := o.get("properties"); inside != nil {
		return o.replace("properties", castAll)
	}
	if o.get("items") == nil {
		return nil
	}
	return o.replace("items", castItems)
}

// replace replaces a member by what becomes of it.
func (o *object) replace(name string, change func(jsontext.Value) (jsontext.Value, error)) error {
	v, err := change(o.get(name))
	if err != nil {
		return err
	}
	o.set(name, v)
	return nil
}

// castItems gives the items of a list types of JSON's schemas, two levels deep.
func castItems(text jsontext.Value) (jsontext.Value, error) {
	items, err := castType(text)
	if err != nil {
		return nil, err
	}
	switch kind, _ := items.text("type"); {
	case kind == "array" && items.get("items") != nil:
		err = items.replace("items", func(text jsontext.Value) (jsontext.Value, error) {
			inside, err := castType(text)
			return inside.value(), err
		})
	case kind == "object" && items.get("properties") != nil:
		err = items.replace("properties", castAll)
	}
	return items.value(), err
}

// castType gives the items of a list a type of JSON's schemas.
func castType(text jsontext.Value) (object, error) {
	items, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	kind, _ := items.text("type")
	schema, known := schemaTypes[kind]
	if !known {
		return nil, fmt.Errorf("items: their type is %q: must be a type of BFCL", kind)
	}
	items.setText("type", schema)
	return items, nil
}
