// Package configs holds the configuration files that are part of the program: the
// settings of every round of MLPerf Inference rules, in the syntax of LoadGen's
// mlperf.conf, and the manifest of what can be downloaded. Packages config and download
// read them and know what they mean.
package configs

import (
	"embed"
	"strings"
)

//go:embed mlperf-v*.conf downloads.json openimages-mlperf-classes.txt
var files embed.FS

// MLPerfConf returns the name and the text of the settings of a round, such as v6.1;
// false if there is no such round.
func MLPerfConf(version string) (name string, text []byte, ok bool) {
	name = "mlperf-" + version + ".conf"
	text, err := files.ReadFile(name)
	return name, text, err == nil
}

// Downloads returns the manifest of data sets and models.
func Downloads() []byte { return mustRead("downloads.json") }

// OpenImagesClasses returns the names of the classes of OpenImages that MLPerf uses, in
// the order of their category ids (tools/openimages_mlperf.sh of the reference).
func OpenImagesClasses() []string {
	return strings.Split(strings.TrimSpace(string(mustRead("openimages-mlperf-classes.txt"))), "\n")
}

// mustRead reads a file that is embedded.
func mustRead(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return text
}
