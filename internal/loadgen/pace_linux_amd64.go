package loadgen

const sysSchedSetattr = 314
