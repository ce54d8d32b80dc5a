//go:build linux && !amd64

package loadgen

// sysSchedSetattr has this number on arm64, riscv64 and loong64; where it has another, the
// call is refused.
const sysSchedSetattr = 274
