package generative

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/generate"
)

// fields are the names of ports, by the usual ones.
func fields(n *generate.Names) map[string]*string {
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
	names := map[string]string{}
	if text == "" {
		return names, nil
	}
	usual := generate.UsualNames()
	known := fields(&usual)
	for part := range strings.SplitSeq(text, ",") {
		of, own, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || own == "" {
			return nil, fmt.Errorf("%q is not a usual name, =, and the model's own", part)
		}
		if known[of] == nil {
			var choices []string
			for name := range known {
				choices = append(choices, name)
			}
			slices.Sort(choices)
			return nil, fmt.Errorf("%q is not one of %s", of, strings.Join(choices, ", "))
		}
		if strings.Contains(of, "%d") != strings.Contains(own, "%d") {
			return nil, fmt.Errorf("%s=%s: %%d stands for the number of a layer, on both sides or none", of, own)
		}
		names[of] = own
	}
	return names, nil
}

// named puts own names in the place of usual ones.
func named(own ...map[string]string) generate.Names {
	names := generate.UsualNames()
	list := fields(&names)
	for _, m := range own {
		for usual, name := range m {
			*list[usual] = name
		}
	}
	return names
}
