// Package scripts has what the program runs of this folder, for where there is no checkout.
//
//	err := os.WriteFile(path, []byte(scripts.InstallONNXRuntime), 0o700)
//
// It runs nothing itself.
package scripts

import _ "embed"

// InstallONNXRuntime is install_onnxruntime.sh.
//
//go:embed install_onnxruntime.sh
var InstallONNXRuntime string
