package download

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A cocoFile is an annotation file in COCO's form, whose other fields are kept as they
// are, in their order.
type cocoFile struct {
	keys        []string
	other       map[string]json.RawMessage
	images      []cocoEntry
	annotations []cocoEntry
}

// A cocoEntry is an image or an annotation, with all its fields.
type cocoEntry struct {
	ID       int64
	ImageID  int64
	FileName string
	fields   object
}

// readCOCOFile reads an annotation file.
func readCOCOFile(root *os.Root, name string) (*cocoFile, error) {
	data, err := readFile(root, name)
	if err != nil {
		return nil, err
	}
	c, err := parseCOCO(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func parseCOCO(data []byte) (*cocoFile, error) {
	c := &cocoFile{other: map[string]json.RawMessage{}}
	top, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	for _, f := range top {
		c.keys = append(c.keys, f.key)
		switch f.key {
		case "images":
			c.images, err = parseEntries(f.value)
		case "annotations":
			c.annotations, err = parseEntries(f.value)
		default:
			c.other[f.key] = f.value
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
	}
	if len(c.images) == 0 {
		return nil, errors.New("it lists no images")
	}
	return c, nil
}

func parseEntries(data []byte) ([]cocoEntry, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	entries := make([]cocoEntry, len(raw))
	for i, r := range raw {
		var known struct {
			ID       int64  `json:"id"`
			ImageID  int64  `json:"image_id"`
			FileName string `json:"file_name"`
		}
		if err := json.Unmarshal(r, &known); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		fields, err := parseObject(r)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		entries[i] = cocoEntry{known.ID, known.ImageID, known.FileName, fields}
	}
	return entries, nil
}

// cut keeps the images of which keep is true, and their annotations.
func (c *cocoFile) cut(keep map[string]bool) {
	ids := map[int64]bool{}
	images := c.images[:0]
	for _, image := range c.images {
		if keep[image.FileName] {
			images = append(images, image)
			ids[image.ID] = true
		}
	}
	annotations := c.annotations[:0]
	for _, a := range c.annotations {
		if ids[a.ImageID] {
			annotations = append(annotations, a)
		}
	}
	c.images, c.annotations = images, annotations
}

// bytes returns the file's text.
func (c *cocoFile) bytes() []byte {
	var b bytes.Buffer
	for i, key := range c.keys {
		b.WriteString(separator(i, "{", ", "))
		text, _ := json.Marshal(key) // a text can be encoded
		b.Write(text)
		b.WriteString(": ")
		switch key {
		case "images":
			writeEntries(&b, c.images)
		case "annotations":
			writeEntries(&b, c.annotations)
		default:
			b.Write(c.other[key])
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func writeEntries(b *bytes.Buffer, entries []cocoEntry) {
	b.WriteByte('[')
	for i, e := range entries {
		b.WriteString(separator(i, "", ", "))
		e.fields.write(b)
	}
	b.WriteByte(']')
}

func separator(i int, first, other string) string {
	if i == 0 {
		return first
	}
	return other
}

// An object is a JSON object with its fields in order and their values as they are.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// parseObject reads an object. Of a key that comes twice the last value counts, as in
// Python.
func parseObject(data []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("want a JSON object, got %v (%v)", t, err)
	}
	var o object
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		o.set(key, value)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object")
	}
	return o, nil
}

// set changes a field, or adds it.
func (o *object) set(key string, value json.RawMessage) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{key, value})
}

// get decodes a field into v.
func (o object) get(key string, v any) error {
	for _, f := range o {
		if f.key == key {
			return json.Unmarshal(f.value, v)
		}
	}
	return fmt.Errorf("there is no %s", key)
}

func (o object) write(b *bytes.Buffer) {
	b.WriteByte('{')
	for i, f := range o {
		b.WriteString(separator(i, "", ", "))
		key, _ := json.Marshal(f.key)
		b.Write(key)
		b.WriteString(": ")
		b.Write(f.value)
	}
	b.WriteByte('}')
}
