package ort

import (
	"strconv"
	"strings"
)

// facts lists the settings that somebody needs to repeat the run.
func (p plan) facts() map[string]string {
	o := p.options
	mode, inter := "sequential", "1"
	if o.Parallel {
		mode, inter = "parallel", "default"
	}
	facts := map[string]string{
		"intra_threads":  threads(o.IntraThreads, "default"),
		"inter_threads":  threads(o.InterThreads, inter),
		"execution_mode": mode,
		"optimize_level": p.level.name,
		"arena":          onOff(!o.NoArena),
		"memory_pattern": onOff(!o.NoMemoryPattern),
		"spinning":       onOff(p.config[keyIntraSpinning] != "0"),
	}
	addFacts(facts, "config ", p.config)
	addFacts(facts, "config ", p.runConfig)
	for axis, extent := range o.FreeDimensions {
		facts["extent "+axis] = strconv.FormatInt(extent, 10)
	}
	if o.DeviceMemory || p.requests[0].records() {
		facts["device_memory"] = p.requests[0].memory
	}
	if len(o.CustomOps) > 0 {
		facts["custom_ops"] = strings.Join(o.CustomOps, ", ")
	}
	for _, r := range p.requests {
		addFacts(facts, "option "+r.name+" ", r.options)
	}
	return facts
}

// addFacts adds entries to facts, under names with a prefix.
func addFacts(facts map[string]string, prefix string, entries map[string]string) {
	for key, value := range entries {
		facts[prefix+key] = value
	}
}

// threads writes a number of threads; what 0 stands for is said otherwise.
func threads(n int, otherwise string) string {
	if n == 0 {
		return otherwise
	}
	return strconv.Itoa(n)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
