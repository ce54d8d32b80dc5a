package generative

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const qwenData = "testdata/qwen3vl"

func readGolden(t *testing.T, name string, to any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(qwenData, name))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openQwen opens products under rules.
func openQwen(t *testing.T, s workload.Setup) *productPrompts {
	t.Helper()
	w, err := openProducts(s)
	if err != nil {
		t.Fatal(err)
	}
	return w.Prompts.(*productPrompts)
}

type qwenPart struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image *struct {
		URL string `json:"url"`
	} `json:"image_url,omitempty"`
}

type qwenMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// The messages are the official ones of both rounds, but for the bytes of pictures, which the official clients save anew.
func TestMessagesOfProducts(t *testing.T) {
	var golden struct {
		Older []struct {
			Messages []qwenMessage `json:"messages"`
		} `json:"v60_loadgen"`
		Newer []struct {
			System string     `json:"system"`
			Prompt []qwenPart `json:"prompt"`
		} `json:"v61_endpoints"`
	}
	readGolden(t, "messages.json", &golden)
	for version, most := range map[string]int{"v6.0": 0, "v6.1": 150, "": 150} {
		p := openQwen(t, workload.Setup{DatasetDir: qwenData, Rules: version})
		if len(p.prompts) != 12 {
			t.Fatalf("%d products, want 12", len(p.prompts))
		}
		equal := 0
		for i := range golden.Newer {
			system, parts := golden.Newer[i].System, golden.Newer[i].Prompt
			if version == "v6.0" {
				messages := golden.Older[i].Messages
				parts = nil
				if err := errors.Join(json.Unmarshal(messages[0].Content, &system), json.Unmarshal(messages[1].Content, &parts)); err != nil {
					t.Fatal(err)
				}
			}
			got := p.Prompt(i)
			var user qwenMessage
			var own []qwenPart
			if err := errors.Join(json.Unmarshal(got.Messages[1].Raw, &user), json.Unmarshal(user.Content, &own)); err != nil {
				t.Fatal(err)
			}
			url := &own[1].Image.URL
			if want := parts[1].Image.URL; *url == want {
				equal++
			} else if format, _, _ := strings.Cut(want, ","); strings.HasPrefix(*url, format+",") {
				*url = want
			}
			if diff := cmp.Diff(parts, own); diff != "" || got.Messages[0].Content != system || user.Role != "user" || got.MaxTokens != most {
				t.Errorf("%s, product %d: %d tokens, %s%s", version, i, got.MaxTokens, diff, cmp.Diff(system, got.Messages[0].Content))
			}
		}
		if equal < 3 { // PNG files stay the same
			t.Errorf("%s: %d pictures are equal", version, equal)
		}
	}
}

// recording keeps the bodies of the requests for chats.
type recording struct {
	http.Handler
	bodies chan []byte
}

func (r recording) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	if strings.HasSuffix(q.URL.Path, "/chat/completions") {
		r.bodies <- body
	}
	r.Handler.ServeHTTP(w, q)
}

// plain is a text of JSON without spaces and with as few escapes as can be.
func plain(t *testing.T, text []byte) string {
	t.Helper()
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Format(jsontext.Multiline(false), jsontext.SpaceAfterColon(false), jsontext.SpaceAfterComma(false)); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

// TestRequestsOfProducts compares whole requests with those of the official client, on the same file of base64.
func TestRequestsOfProducts(t *testing.T) {
	var golden []struct {
		Body jsontext.Value `json:"body"`
	}
	readGolden(t, "requests.json", &golden)
	type row struct {
		Title       string `parquet:"product_title"`
		Description string `parquet:"product_description"`
		Image       string `parquet:"product_image_base64"`
		Format      string `parquet:"product_image_format"`
		Categories  string `parquet:"potential_product_categories"`
		Category    string `parquet:"ground_truth_category"`
		Brand       string `parquet:"ground_truth_brand"`
		Second      string `parquet:"ground_truth_is_secondhand"`
	}
	var rows []row
	for _, g := range golden {
		var body struct {
			Messages []qwenMessage `json:"messages"`
		}
		var parts []qwenPart
		if err := errors.Join(json.Unmarshal(g.Body, &body), json.Unmarshal(body.Messages[1].Content, &parts)); err != nil {
			t.Fatal(err)
		}
		texts := strings.Split(strings.ReplaceAll(parts[0].Text, "```json\n", "```text\n"), "\n```\n")
		value := func(i int) string { _, v, _ := strings.Cut(texts[i], "```text\n"); return v }
		head, picture, _ := strings.Cut(parts[1].Image.URL, ";base64,")
		rows = append(rows, row{value(0), value(1), picture, strings.TrimPrefix(head, "data:image/"), value(2), "A", "b", "false"})
	}
	file := filepath.Join(t.TempDir(), "shopify_product_catalogue_train+test.parquet")
	if err := parquet.WriteFile(file, rows); err != nil {
		t.Fatal(err)
	}
	for i, g := range golden {
		synctest.Test(t, func(t *testing.T) {
			server := recording{tokenserver.New(tokenserver.Options{}), make(chan []byte, 8)}
			e, err := openai.New(openai.Config{URLs: []string{"http://server"}, Dial: tokentest.Serve(t, server).Dial, Stream: i < 5,
				Model: "Qwen/Qwen3-VL-235B-A22B-Instruct"})
			if err != nil {
				t.Fatal(err)
			}
			p := openQwen(t, workload.Setup{DatasetDir: filepath.Dir(file)})
			s, err := e.Open(t.Context(), backend.Options{Texts: p.Texts()})
			if err != nil {
				t.Fatal(err)
			}
			predictor, err := workload.NewPromptPredictor(workload.Sessions{workload.Only: s}, p)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // by which the client finds out what the server understands, and whether its model takes pictures
				<-server.bodies
			}
			if err := predictor.Answer(t.Context(), workload.Item{Index: i}, &kept{}); err != nil {
				t.Fatal(err)
			}
			if got, want := string(<-server.bodies), plain(t, g.Body); got != want {
				t.Errorf("request %d:\n%s\nwant:\n%s", i, got, want)
			}
			if err := errors.Join(s.Close(), e.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFilesOfProducts(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(qwenData, "train-00000-of-00001.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	const small = "shopify_product_catalogue_8k"
	for _, c := range []struct {
		name        string
		files       []string
		interactive bool
		want        string // files in their order, or the words of an error
	}{
		{"Hugging Face", []string{"data/train-1.parquet", "data/train-0.parquet", "data/test-0.parquet"}, false, "data/train-0.parquet data/train-1.parquet data/test-0.parquet"},
		{"Interactive has train only", []string{"train-0.parquet", "test-0.parquet"}, true, "train-0.parquet"},
		{"kept by the other client", []string{"dataset_cache/shopify_product_catalogue/train+test/shopify_product_catalogue_train+test.parquet", "train-0.parquet"}, false,
			"dataset_cache/shopify_product_catalogue/train+test/shopify_product_catalogue_train+test.parquet"},
		{"the small one", []string{small + "/train/" + small + "_train.parquet", "train-0.parquet"}, true, small + "/train/" + small + "_train.parquet"},
		{"none", []string{"validation-0.parquet"}, false, "train- … test- … shopify_product_catalogue_train+test.parquet"},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = string(data)
		}
		dir := t.TempDir()
		for f, text := range files {
			path := filepath.Join(dir, f)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := productSource{folder: dir, interactive: c.interactive}.files()
		for i := range got {
			got[i], _ = filepath.Rel(dir, got[i])
		}
		if err != nil && testenv.Names(err, c.want) {
			continue
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if p := openQwen(t, workload.Setup{DatasetDir: filepath.Join(qwenData, "train-00000-of-00001.parquet"), Count: 3}); len(p.prompts) != 3 {
		t.Errorf("%d products of the first 3", len(p.prompts))
	}
	if _, err := openProducts(workload.Setup{DatasetDir: qwenData, Count: 13}); !testenv.Names(err, "13 … 12") {
		t.Errorf("more products than there are: %v", err)
	}
}

// Errors name the row and the column.
func TestDamagedProducts(t *testing.T) {
	jpeg := base64.StdEncoding.EncodeToString([]byte("\xff\xd8\xff\xe0"))
	type row map[string]any
	good := func() row {
		return row{"product_title": "t", "product_description": "d", "product_image_base64": jpeg, "product_image_format": "JPEG",
			"potential_product_categories": `["A > B"]`, "ground_truth_category": "A > B", "ground_truth_brand": "b", "ground_truth_is_secondhand": true}
	}
	for _, c := range []struct {
		column string
		value  any // nil: none
		rules  string
		want   string // empty: it is fine
	}{
		{"product_title", nil, "", ""}, {"product_description", "", "", ""},
		{"ground_truth_category", nil, "", "row 1 … ground_truth_category"},
		{"ground_truth_category", []string{"A"}, "", "row 1 … ground_truth_category"},
		{"ground_truth_brand", nil, "", "row 1 … ground_truth_brand"},
		{"ground_truth_is_secondhand", "yes", "", "row 1 … ground_truth_is_secondhand … yes"},
		{"ground_truth_is_secondhand", nil, "", "row 1 … ground_truth_is_secondhand"},
		{"ground_truth_is_secondhand", "false", "", ""},
		{"product_image_base64", "!", "", "row 1 … product_image_base64"},
		{"product_image_base64", "aGVsbG8=", "", "row 1 … product_image_base64 … picture"},
		{"product_image_format", nil, "", "row 1 … product_image_format"},
		{"potential_product_categories", nil, "", "row 1 … potential_product_categories"},
		{"potential_product_categories", "[1", "v6.0", "row 1 … potential_product_categories"},
		{"potential_product_categories", "[1]", "v6.0", "row 1 … potential_product_categories … 1"},
		{"potential_product_categories", []any{"A", 5}, "", "row 1 … potential_product_categories … 5"},
		{"potential_product_categories", []any{}, "", ""},
	} {
		bad := good()
		if bad[c.column] = c.value; c.value == nil {
			delete(bad, c.column)
		}
		var lines []byte
		for _, r := range []row{good(), bad} {
			line, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		file := filepath.Join(t.TempDir(), "products.jsonl")
		if err := os.WriteFile(file, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := openProducts(workload.Setup{DatasetDir: file, Rules: c.rules})
		if want := strings.Replace(c.want, "row 1", "line 2", 1); c.want == "" && err != nil || c.want != "" && !testenv.Names(err, want) {
			t.Errorf("%s %v: %v, want %q", c.column, c.value, err, want)
		}
	}
}

func TestFormatsOfPictures(t *testing.T) {
	for head, want := range map[string]string{"\xff\xd8\xff\xdb": "JPEG", "\x89PNG\r\n\x1a\n": "PNG", "RIFF\x01\x00\x00\x00WEBPVP8 ": "WEBP", "RIFF\x01\x00\x00\x00WAVEfmt ": "",
		"RIFF": "", "GIF89a": "GIF", "BM\x00": "BMP", "": "", "<svg": ""} {
		if got := formatOf([]byte(head)); got != want {
			t.Errorf("formatOf(%q) = %q, want %q", head, got, want)
		}
	}
	if p := openQwen(t, workload.Setup{DatasetDir: qwenData}); slices.ContainsFunc(p.prompts, func(p backend.Prompt) bool { return len(p.Messages) != 2 }) {
		t.Error("a product without its picture")
	}
}
