package models

import (
	"fmt"
	"slices"
	"strings"
)

// All returns the catalogue, in the order in which it is shown. To add a benchmark, add
// a file and a row.
func All() []Model {
	return []Model{
		resnet50(),
		mobilenet(),
		ssdMobileNet(),
		ssdResNet34(),
		retinaNet(),
		unet3D(),
		unet3DHighAccuracy(),
		mobileNetEdgeTPU(),
		ssdMobileNetV2(),
		deepLabV3Plus(),
	}
}

// aliases are other names by which models are known.
var aliases = map[string]string{
	"resnet":       "resnet50",
	"resnet50v1.5": "resnet50",
	"mobilenetv1":  "mobilenet",

	"ssdmobilenetv1": "ssd-mobilenet",
	"ssdsmall":       "ssd-mobilenet",
	"ssdlarge":       "ssd-resnet34",
	"3dunet99":       "3d-unet",
	"3dunetkits19":   "3d-unet",
	"deeplab":        "deeplab-v3plus",
	"deeplabv3+":     "deeplab-v3plus",
}

// Lookup returns the model of a name; case, hyphens and underscores do not matter.
func Lookup(name string) (Model, error) {
	wanted := plain(name)
	if alias, ok := aliases[wanted]; ok {
		wanted = plain(alias)
	}
	var names []string
	for _, m := range All() {
		if plain(m.Name) == wanted {
			return m, nil
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return Model{}, fmt.Errorf("unknown model %q, want one of %s", name, strings.Join(names, ", "))
}

// plain is a name without what does not matter.
func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}
