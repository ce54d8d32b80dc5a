// Package configs holds the configuration files that are part of the program: the
// settings of every round of MLPerf Inference rules, in the syntax of LoadGen's
// mlperf.conf. Package config reads them and knows what they mean.
package configs

import "embed"

//go:embed mlperf-v*.conf
var files embed.FS

// MLPerfConf returns the name and the text of the settings of a round, such as v6.1;
// false if there is no such round.
func MLPerfConf(version string) (name string, text []byte, ok bool) {
	name = "mlperf-" + version + ".conf"
	text, err := files.ReadFile(name)
	return name, text, err == nil
}
