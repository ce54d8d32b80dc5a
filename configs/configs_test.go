package configs_test

import (
	"bytes"
	"testing"

	"github.com/mlperf-go/mlperf/configs"
)

func TestEveryRoundIsEmbedded(t *testing.T) {
	for _, version := range []string{
		"v0.5", "v0.7", "v1.0", "v1.1", "v2.0", "v2.1", "v3.0", "v3.1", "v4.0", "v4.1", "v5.0", "v5.1", "v6.0", "v6.1",
	} {
		name, text, ok := configs.MLPerfConf(version)
		if !ok || name != "mlperf-"+version+".conf" || !bytes.Contains(text, []byte("*.*.qsl_rng_seed = ")) {
			t.Errorf("MLPerfConf(%s) = %q, %d bytes, %v", version, name, len(text), ok)
		}
	}
}

func TestAnUnknownRoundHasNoSettings(t *testing.T) {
	for _, version := range []string{"", "v0.6", "6.1", "../configs", "v6.1.conf/.."} {
		if name, _, ok := configs.MLPerfConf(version); ok {
			t.Errorf("MLPerfConf(%q) finds %s", version, name)
		}
	}
}
