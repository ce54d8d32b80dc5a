package generative

import (
	"maps"
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/decode"
)

// fields are the names of ports, by the usual ones.
func fields(n *decode.Names) map[string]*string {
	list := map[string]*string{}
	for _, f := range []*string{
		&n.Tokens, &n.Mask, &n.Positions, &n.PastKey, &n.PastValue, &n.LastRows, &n.Lengths, &n.Total,
		&n.Next, &n.Logits, &n.PresentKey, &n.PresentValue,
	} {
		list[*f] = f
	}
	return list
}

// parseNames reads usual=own, separated by commas.
func parseNames(text string) (map[string]string, error) {
	usual := decode.UsualNames()
	return decode.ParseNames(text, slices.Collect(maps.Keys(fields(&usual))))
}

// named puts own names in the place of usual ones.
func named(own ...map[string]string) decode.Names {
	names := decode.UsualNames()
	list := fields(&names)
	for _, m := range own {
		for usual, name := range m {
			*list[usual] = name
		}
	}
	return names
}
