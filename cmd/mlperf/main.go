// Command mlperf runs MLPerf Inference: the load generator, the reference workloads,
// the official metrics. See mlperf --help.
package main

import (
	"os"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}
