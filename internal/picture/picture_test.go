package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/figures"
)

func figure() figures.Figure {
	return figures.Figure{
		ID: "x", Title: "Latency <of> a run", X: figures.Axis{Label: "time", Unit: "s", To: 3}, Y: figures.Axis{Label: "latency", Unit: "ns", Log: true, From: 1e6, To: 1e8},
		Right: &figures.Axis{Unit: "%", To: 100}, At: figures.Values{0.5, 1.5, 2.5},
		Series: []figures.Series{
			{Label: "p50", Kind: figures.Line, Color: figures.Main, Values: figures.Values{2e6, math.NaN(), 4e6}},
			{Label: "slowest", Kind: figures.Dots, Color: figures.Quiet, Values: figures.Values{2e7, 3e7, 4e7}},
			{Label: "share", Kind: figures.Bars, Color: figures.Main, Values: figures.Values{2e6, 3e6, 4e6}},
			{Label: "queue", Kind: figures.Steps, Color: figures.Second, Right: true, Values: figures.Values{10, 20, 30}},
		},
		Marks: []figures.Mark{{Axis: "y", Value: 1e7, Label: "bound 10 ms", Color: figures.Ink}, {Axis: "x", Value: 1, Label: "begin", Color: figures.Good, Dashed: true}, {Axis: "y", Value: math.NaN(), Label: "nothing"}},
	}
}

func TestFiguresAreDrawnInEachFormat(t *testing.T) {
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			if err := Draw(&out, figure(), format); err != nil {
				t.Fatal(err)
			}
			if format == "png" {
				picture, err := png.Decode(&out)
				if err != nil || picture.Bounds().Dx() < 800 {
					t.Fatalf("%v, %v", picture, err)
				}
				return
			}
			text := out.String()
			for _, want := range []string{"Latency &lt;of&gt; a run", "bound 10 ms", "10 ms", "slowest"} {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q", want)
				}
			}
			for d := xml.NewDecoder(strings.NewReader(text)); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestAnotherFormatIsAnError(t *testing.T) {
	if err := Draw(io.Discard, figure(), "bmp"); err == nil {
		t.Error("bmp is drawn")
	}
}
