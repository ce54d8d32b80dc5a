package synth

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// A ProductSpec says everything about a built-in catalogue of products for servers that see pictures, in the layout of Shopify's. Equal
// specs make equal files.
//
// Titles and descriptions are plain words of the server of tokens. The answer is in a comment of the picture's file, behind the mark of
// answers: so that server answers right only if it gets the picture of the product, byte for byte.
type ProductSpec struct {
	Seed     uint64 `json:"seed"`
	Products int    `json:"products"`
}

const mostProducts = 100_000

func (s ProductSpec) check() error {
	if s.Products < 1 || s.Products > mostProducts {
		return fmt.Errorf("products is %d: must be 1 to %d", s.Products, mostProducts)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s ProductSpec) Key() string {
	return "products-" + keyOf("products seed %d products %d", s.Seed, s.Products)
}

// WriteProducts makes a data set: the splits train and test in the columns of Hugging Face, half as many products for Interactive as
// mlcommons/endpoints keeps its 8,000, tokenizer.json and the Manifest. Folder, errors and ctx are as with WriteImageNet.
func WriteProducts(ctx context.Context, dir string, spec ProductSpec) error {
	return publish(ctx, dir, "products", &spec, func(folder string) error { return spec.fill(ctx, folder) }, nil)
}

// A hubProduct is a row in the columns of Shopify/product-catalogue.
type hubProduct struct {
	Mark  bool `parquet:"mlperf_built_in_data"`
	Image struct {
		Bytes []byte `parquet:"bytes"`
		Path  string `parquet:"path"`
	} `parquet:"product_image"`
	Title       string   `parquet:"product_title"`
	Description string   `parquet:"product_description"`
	Categories  []string `parquet:"potential_product_categories,list"`
	Category    string   `parquet:"ground_truth_category"`
	Brand       string   `parquet:"ground_truth_brand"`
	SecondHand  bool     `parquet:"ground_truth_is_secondhand"`
}

// A keptProduct is a row as mlcommons/endpoints keeps it (shopify_product_catalogue/__init__.py).
type keptProduct struct {
	Mark        bool   `parquet:"mlperf_built_in_data"`
	Title       string `parquet:"product_title"`
	Description string `parquet:"product_description"`
	Image       string `parquet:"product_image_base64"`
	Format      string `parquet:"product_image_format"`
	Categories  string `parquet:"potential_product_categories"`
	Category    string `parquet:"ground_truth_category"`
	Brand       string `parquet:"ground_truth_brand"`
	SecondHand  string `parquet:"ground_truth_is_secondhand"`
}

// fill writes the files.
func (s ProductSpec) fill(ctx context.Context, folder string) error {
	if err := writeJSON(filepath.Join(folder, "tokenizer.json"), vocab.Tokenizer()); err != nil {
		return err
	}
	rows := make([]hubProduct, s.Products)
	err := draw(ctx, s.Products, func() func(int) error {
		var p painter
		return func(i int) (err error) {
			rows[i], err = s.product(&p, i)
			return err
		}
	}, nil)
	if err != nil {
		return err
	}
	train := max(1, s.Products*3/4)
	for name, part := range map[string][]hubProduct{"train": rows[:train], "test": rows[train:]} {
		if err := parquet.WriteFile(filepath.Join(folder, name+"-00000-of-00001.parquet"), part); err != nil {
			return err
		}
	}
	const small = "shopify_product_catalogue_8k"
	at := filepath.Join(folder, small, "train")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	var kept []keptProduct
	for i := range max(1, s.Products/2) {
		kept = append(kept, rows[len(rows)-1-i].kept())
	}
	return parquet.WriteFile(filepath.Join(at, small+"_train.parquet"), kept)
}

// kept is the row as mlcommons/endpoints keeps it.
func (h *hubProduct) kept() keptProduct {
	var categories []string // as json.dumps writes them
	for _, c := range h.Categories {
		categories = append(categories, pytext.JSON(c))
	}
	format := "JPEG"
	if bytes.HasPrefix(h.Image.Bytes, []byte("\x89PNG")) {
		format = "PNG"
	}
	return keptProduct{true, h.Title, h.Description, base64.StdEncoding.EncodeToString(h.Image.Bytes), format,
		"[" + strings.Join(categories, ", ") + "]", h.Category, h.Brand, fmt.Sprint(h.SecondHand)}
}

const (
	mostLevels     = 4   // of a category
	mostCategories = 8   // that are offered
	shortestSide   = 96  // pixels of a picture
	longestSide    = 320 // of the same
)

// level draws a word of a category or a brand: of ASCII without quotes, as the answer is JSON in a comment.
func level(r *stream) int32 {
	const first = 42 // some of the words before have other characters
	return int32(first + r.below(vocab.Plain-first))
}

// pathOf is a category as texts have it.
func pathOf(levels []int32) string {
	var words []string
	for _, l := range levels {
		words = append(words, strings.TrimSpace(vocab.Words[l]))
	}
	return strings.Join(words, " > ")
}

// drawLevels draws the levels of a category.
func drawLevels(r *stream) (levels []int32) {
	for range r.between(1, mostLevels) {
		levels = append(levels, level(r))
	}
	return levels
}

// product draws a product, and its picture.
func (s ProductSpec) product(p *painter, i int) (h hubProduct, err error) {
	r := newStream("product", s.Seed, uint64(i))
	words := func(least, most int) string {
		var tokens []int32
		for range r.between(least, most) {
			tokens = append(tokens, int32(r.below(vocab.Plain)))
		}
		return strings.TrimSpace(vocab.Text(tokens))
	}
	right, brand := drawLevels(r), level(r)
	h = hubProduct{Mark: true, Title: words(2, 8), Category: pathOf(right), Brand: strings.TrimSpace(vocab.Words[brand]), SecondHand: r.below(4) == 0}
	h.Description = words(10, 60)
	if r.below(3) == 0 { // as descriptions of shops are
		h.Description = "<div class=\"description\"><p>" + h.Description + "</p></div>"
	}
	h.Categories = []string{h.Category}
	for range r.between(2, mostCategories-1) {
		if other := pathOf(drawLevels(r)); !slices.Contains(h.Categories, other) {
			h.Categories = append(h.Categories, other)
		}
	}
	at := r.below(len(h.Categories))
	h.Categories[0], h.Categories[at] = h.Categories[at], h.Categories[0]

	answer := vocab.Words[vocab.Mark] + vocab.Text(vocab.Product(right, brand, h.SecondHand))
	scene := NewScene(deriveSeed("product", s.Seed, uint64(i)))
	f := frame{width: r.between(shortestSide, longestSide), height: r.between(shortestSide, longestSide), quality: 80}
	if i%3 == 1 {
		var file bytes.Buffer
		err = png.Encode(&file, scene.Render(f.width, f.height))
		h.Image.Bytes, h.Image.Path = withPNGComment(file.Bytes(), markComment+answer), fmt.Sprintf("%d.png", i)
		return h, err
	}
	picture, err := p.draw(&scene, f)
	h.Image.Bytes, h.Image.Path = slices.Insert(picture, 2, jpegComment(answer)...), fmt.Sprintf("%d.jpg", i)
	return h, err
}
