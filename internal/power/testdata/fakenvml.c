// A library with the functions of NVIDIA's that nvml_linux.go calls, for its tests.
#include <string.h>

static unsigned long long energy = 5000000; // mJ

int nvmlInit_v2(void) {
#ifdef NO_DEVICE
	return 9; // NVML_ERROR_DRIVER_NOT_LOADED
#endif
	return 0;
}
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "fake error"; }
int nvmlDeviceGetCount_v2(unsigned *n) {
#ifdef NO_CARDS
	*n = 0;
#else
	*n = 2;
#endif
	return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) {
	*device = (void *)(unsigned long)(i + 1);
	return 0;
}
int nvmlDeviceGetName(void *device, char *name, unsigned length) {
	strncpy(name, "Fake H100", length);
	return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *mW) {
	*mW = 100000;
#ifdef NOTHING_READ
	return 3; // NVML_ERROR_NOT_SUPPORTED
#endif
	return 0;
}
#ifndef OLD
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mJ) {
#if defined(NO_ENERGY) || defined(NOTHING_READ)
	return 3;
#endif
	if ((unsigned long)device == 1)
		energy += 1000;
	*mJ = energy - 1000;
#ifdef RESET
	if (energy > 5003000)
		*mJ = 7;
#endif
	return 0;
}
#endif
