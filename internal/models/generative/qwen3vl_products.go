package generative

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "embed"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The system messages of both rounds: multimodal/qwen3-vl (task.py, schema.py) of mlcommons/inference, and shopify_product_catalogue
// (presets.py, metadata.py) of mlcommons/endpoints.
var (
	//go:embed qwen3vl_v6.0.txt
	olderSystem string
	//go:embed qwen3vl_v6.1.txt
	newerSystem string
)

// userText is the text of the user's message in both rounds: title, description, categories.
const userText = "The title of the product is the following:\n```text\n%s\n```\n\nThe description of the product is the following:\n```text\n%s\n```\n\n" +
	"The following are the possible product categories:\n```json\n%s\n```\n"

// A productSource is where products are, and what is read of them.
type productSource struct {
	folder      string // or a file
	count       int    // the first so many; 0: all
	interactive bool   // the 8,000 products of Interactive
	older       bool   // messages are those of v6.0
	messages    bool   // and are wanted
}

// A product is a sample.
type product struct {
	accuracy.Product
	messages []backend.Message
}

// read reads the products in the order of the data set.
func (c productSource) read(use func(product)) error {
	files, err := c.files()
	if err != nil {
		return fmt.Errorf("opening the products: %w", err)
	}
	left := c.count
	for _, file := range files {
		t, err := prompts.Read(file, prompts.Options{Count: left})
		if err != nil {
			return err
		}
		for i := range t.Len() {
			p, err := c.product(t, i)
			if err != nil {
				return err
			}
			use(p)
		}
		if left -= t.Len(); c.count > 0 && left <= 0 {
			break
		}
	}
	return nil
}

// files are the Parquet files: those of Hugging Face, where train comes before test, or the one that mlcommons/endpoints makes of them.
func (c productSource) files() ([]string, error) {
	info, err := os.Stat(c.folder)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{c.folder}, nil
	}
	name, splits := "shopify_product_catalogue", []string{"train", "test"}
	if c.interactive {
		name, splits = name+"_8k", splits[:1]
	}
	key := strings.Join(splits, "+")
	made := name + "_" + key + ".parquet"
	for _, path := range []string{made, filepath.Join(key, made), filepath.Join(name, key, made), filepath.Join("dataset_cache", name, key, made)} {
		path = filepath.Join(c.folder, path)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return []string{path}, err
		}
	}
	for _, folder := range []string{c.folder, filepath.Join(c.folder, "data")} {
		var files []string
		for _, split := range splits {
			files = append(files, fileio.Glob(folder, split+"-*.parquet")...)
		}
		if len(files) > 0 {
			return files, nil
		}
	}
	return nil, fmt.Errorf("%s has no %s-*.parquet of Hugging Face, and no %s of mlcommons/endpoints", c.folder, strings.Join(splits, "-*.parquet, "), made)
}

// product reads a row in either form: the picture is a struct of bytes and path, or a text of base64 and its format.
func (c productSource) product(t *prompts.Table, i int) (p product, err error) {
	cached := slices.Contains(t.Columns(), "product_image_base64")
	for column, to := range map[string]*string{"ground_truth_category": &p.Category, "ground_truth_brand": &p.Brand} {
		if *to, err = t.Text(i, column); err != nil {
			return p, err
		}
	}
	const second = "ground_truth_is_secondhand"
	switch v, _ := t.Value(i, second); v {
	case true, "true":
		p.SecondHand = true
	case false, "false":
	default:
		return p, t.At(i, second, fmt.Errorf("expected true or false, got %v", v))
	}
	if !c.messages {
		return p, nil
	}
	categories, err := c.categories(t, i)
	if err != nil {
		return p, err
	}
	read := imageOf
	if cached {
		read = cachedImage
	}
	url, err := read(t, i)
	if err != nil {
		return p, err
	}
	text := fmt.Sprintf(userText, printed(t, i, "product_title"), printed(t, i, "product_description"), categories)
	system := newerSystem
	if c.older {
		system = olderSystem
	}
	user, err := userMessage(text, url)
	p.messages = []backend.Message{{Role: "system", Content: system}, {Role: "user", Content: text, Raw: user}}
	return p, err
}

// printed is the text of a column as an f-string of Python has it.
func printed(t *prompts.Table, i int, column string) string {
	if v, ok := t.Value(i, column); ok {
		return fmt.Sprint(v)
	}
	return "None"
}

// categories are the possible categories as the prompt has them: a list of Python in v6.0, and JSON in v6.1.
func (c productSource) categories(t *prompts.Table, i int) (string, error) {
	const column = "potential_product_categories"
	v, _ := t.Value(i, column)
	var list []any
	switch v := v.(type) {
	case string: // JSON in the file of mlcommons/endpoints
		if !c.older {
			return v, nil
		}
		if err := json.Unmarshal([]byte(v), &list); err != nil {
			return "", t.At(i, column, err)
		}
	case []any:
		list = v
	case []int32: // empty
	default:
		return "", t.At(i, column, fmt.Errorf("expected a list of texts, got %v", v))
	}
	write := pytext.JSON
	if c.older {
		write = pytext.Repr
	}
	var texts []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return "", t.At(i, column, fmt.Errorf("expected texts, got %v", item))
		}
		texts = append(texts, write(text))
	}
	return "[" + strings.Join(texts, ", ") + "]", nil
}

// imageFormats are the first bytes of formats by the names that Pillow has for them. The bytes 4 to 7 of WebP are a size.
var imageFormats = []struct{ begin, name string }{
	{"\xff\xd8\xff", "JPEG"}, {"\x89PNG\r\n\x1a\n", "PNG"}, {"RIFF", "WEBP"}, {"GIF8", "GIF"}, {"BM", "BMP"}, {"II*\x00", "TIFF"}, {"MM\x00*", "TIFF"},
}

// formatOf is the format of a picture; empty: unknown.
func formatOf(picture []byte) string {
	for _, f := range imageFormats {
		if bytes.HasPrefix(picture, []byte(f.begin)) && (f.name != "WEBP" || len(picture) > 12 && string(picture[8:12]) == "WEBP") {
			return f.name
		}
	}
	return ""
}

// imageOf is the address of a picture that lies in the file as it is.
func imageOf(t *prompts.Table, i int) (string, error) {
	const column = "product_image.bytes"
	picture, _ := t.Value(i, column)
	data, ok := picture.(string)
	if !ok || data == "" {
		return "", t.At(i, column, errors.New("the picture is missing"))
	}
	format := formatOf([]byte(data))
	if format == "" {
		return "", t.At(i, column, fmt.Errorf("the picture begins with %.8q: must be JPEG, PNG, WebP, GIF, BMP or TIFF", data))
	}
	return dataURL(format, base64.StdEncoding.EncodeToString([]byte(data))), nil
}

// cachedImage is the address of a picture in the file of mlcommons/endpoints.
func cachedImage(t *prompts.Table, i int) (string, error) {
	const column = "product_image_base64"
	data, err := t.Text(i, column)
	if err != nil {
		return "", err
	}
	picture, err := base64.StdEncoding.DecodeString(data)
	if err == nil && formatOf(picture) == "" {
		err = errors.New("it is no picture")
	}
	if err != nil {
		return "", t.At(i, column, err)
	}
	format, err := t.Text(i, "product_image_format")
	return dataURL(format, data), err
}

// dataURL is the address of a picture, with the format in capitals as both clients have it.
func dataURL(format, data string) string { return "data:image/" + format + ";base64," + data }

// userMessage is the message of the user, with its fields in the order of both clients.
func userMessage(text, url string) (jsontext.Value, error) {
	type address struct {
		URL string `json:"url"`
	}
	type part struct {
		Type  string   `json:"type"`
		Text  string   `json:"text,omitzero"`
		Image *address `json:"image_url,omitzero"`
	}
	return json.Marshal(struct {
		Role    string `json:"role"`
		Content []part `json:"content"`
	}{"user", []part{{Type: "text", Text: text}, {Type: "image_url", Image: &address{url}}}}, jsontext.AllowInvalidUTF8(true))
}
