package checker

import (
	"encoding/json"
	"strconv"
)

const (
	aboveLimit = "Uncertainty 1.25%, which is above 1.00% limit for the last sample!"
	json49     = json.Number("49.0")
)

// offline makes a result of Offline with power.
func offline(change func(p *powered)) func(e *edit) {
	return func(e *edit) { power(e, "Offline", change) }
}

// written makes the same and changes it when all files are there.
func written(change func(p *powered)) func(e *edit) {
	return offline(func(p *powered) { p.written = func() { change(p) } })
}

// power5 gives power to a result of v5.1.
func power5(e *edit, change func(p *powered)) {
	powerAt(e, home+"/results/board1/resnet50/Offline", change)
}

// plate makes a result with power of a system with a nameplate, and perhaps a capacity.
func plate(capacity, yaml string) func(e *edit) {
	return offline(func(p *powered) {
		if capacity != "" {
			p.field("open/ExampleOrg/systems/board1.json", "system_power_capacity", capacity)
		}
		p.write("open/ExampleOrg/systems/board1_power.yaml", yaml)
	})
}

func uuids(p *powered) object { return p.client["uuid"].(object) }

func talked(side object, n int) object { return side["messages"].([]any)[n].(object) }

// greet changes the first message of both sides.
func greet(p *powered, client, server string) {
	for _, side := range []object{p.client, p.server} {
		talked(side, 0)["cmd"], talked(side, 0)["reply"] = client, server
	}
}

func dropPhase(side object, mode string) {
	phases := side["phases"].(object)
	list := phases[mode].([]any)
	phases[mode] = list[:len(list)-1]
}

// shiftPhase moves the beginning of a phase on both sides.
func shiftPhase(p *powered, mode string, i int, seconds float64) {
	p.phase(p.client, mode, i, seconds)
	p.phase(p.server, mode, i, seconds)
}

// longRanging makes ranging some times as long as the run.
func longRanging(p *powered, times int) {
	seconds := runSeconds * (times - 1)
	p.set(p.folder+"/ranging/mlperf_log_detail.txt", "power_end", strconv.Quote(p.at(runSeconds+seconds)))
	shiftPhase(p, "ranging", 2, float64(seconds))
	shiftPhase(p, "ranging", 3, float64(seconds))
}

func analyzer(p *powered) object { return p.server["ptd_config"].([]any)[0].(object) }

// channels makes the analyzer one of two channels.
func channels(p *powered, used any, command ...any) {
	a := analyzer(p)
	a["device_type"], a["channel"], a["command"] = 77, used, command
}

// more says one thing more to the daemon.
func (p *powered) more(cmd, reply any) {
	p.server["ptd_messages"] = append(p.server["ptd_messages"].([]any), object{"cmd": cmd, "reply": reply})
}
