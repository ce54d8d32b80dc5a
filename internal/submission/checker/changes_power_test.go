package checker

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// A powered is a result of the open division whose power was measured, before it is
// written.
type powered struct {
	*edit
	folder         string // performance
	client, server object
	daemon         []string          // lines of ptd_logs.txt
	samples        map[string]string // spl.txt by run
	begin, end     time.Time         // of the runs, both of them
	written        func()            // called when all files are there
}

type object = map[string]any

const runSeconds = 3000 // how long a run with power takes

// power leaves one result, in the open division, gives it power and lets change have it
// before it is written.
func power(e *edit, scenario string, change func(p *powered)) {
	alone(e, scenario)
	powerAt(e, openBench("resnet50/"+scenario), change)
}

// alone leaves one result, in the open division, if there are others.
func alone(e *edit, scenario string) {
	if !e.exists("closed") {
		return
	}
	open(e)
	for _, other := range []string{"SingleStream", "MultiStream", "Offline"} {
		if other != scenario {
			e.remove(openBench("resnet50/" + other))
		}
	}
	for _, test := range []string{"TEST01", "TEST04"} {
		e.remove(openBench("resnet50/" + scenario + "/" + test))
	}
}

func powerAt(e *edit, result string, change func(p *powered)) {
	p := &powered{edit: e, folder: result + "/performance", samples: map[string]string{}, written: func() {}}
	p.begin = stampOf(e, e.read(perf(result)), "power_begin")
	p.end = p.begin.Add(runSeconds * time.Second)
	e.set(perf(result), "power_end", `"`+stamp(p.end)+`"`)
	for _, run := range []string{"ranging", "run_1"} {
		p.samples[run] = p.sampleLines(100)
	}
	e.copy(p.folder+"/run_1", p.folder+"/ranging")
	p.client, p.server = p.side(), p.side()
	p.server["ptd_messages"] = daemonTalk("YokogawaWT310E")
	p.server["ptd_config"] = []any{object{"device_type": 49, "channel": nil, "command": []any{"-p", "8888"}}}
	p.daemon = p.daemonLines()
	change(p)
	p.writeAll()
}

func stampOf(e *edit, log, key string) time.Time {
	m := regexp.MustCompile(`"key": "` + key + `", "value": "([^"]*)"`).FindStringSubmatch(log)
	t, err := parseStamp(m[1])
	e.ok(err)
	return t
}

func stamp(t time.Time) string { return t.Format("01-02-2006 15:04:05.000") }

// sampleLines are samples of the whole run, one a minute, and of some time around it.
func (p *powered) sampleLines(watts float64) string {
	lines := ""
	for second := -30; second < runSeconds+60; second += 60 {
		lines += p.sample(second, fmt.Sprint(watts))
	}
	return lines
}

func (p *powered) sample(second int, watts string) string {
	return "Time," + p.at(second) + ",Watts," + watts + ",Volts,230.1,Amps,0.45,PF,0.96,Mark,x\n"
}

// at is a time so many seconds after the runs began.
func (p *powered) at(second int) string {
	return stamp(p.begin.Add(time.Duration(second) * time.Second))
}

// side is what the client writes of a session, and the server too.
func (p *powered) side() object {
	at := func(second float64) []any { return []any{float64(p.begin.UnixMilli())/1000 + second, second} }
	phases := func() []any { return []any{at(-20), at(-10), at(runSeconds + 10), at(runSeconds + 20)} }
	talk := []any{
		object{"cmd": "mlcommons/power client v3", "reply": "mlcommons/power server v3"},
		object{"cmd": "time", "reply": "1"},
		object{"cmd": "new,x,1", "reply": "OK"},
	}
	return object{
		"version": 3, "timezone": 3600, "modules": object{}, "sources": maps.Clone(rounds.PowerSources()[0]), "messages": talk,
		"uuid":         object{"client": "c3b1a9be-58d8-4ac8-8b0f-2d1f7a4b9a10", "server": "0f8fad5b-d9cb-469f-a165-70867728950e"},
		"session_name": "session", "phases": object{"ranging": phases(), "testing": phases()},
	}
}

// daemonTalk is what the server says to the daemon, and hears.
func daemonTalk(model string) []any {
	talk := []any{}
	for _, line := range [][2]string{
		{"Hello", "Hello, PTDaemon here!"},
		{"Identify", model + ",Firmware,version=1.11.1-abc"},
		{"RR", "Ranges,0,5.0,1,300.0"},
		{"SR,A,Auto", "Range A changed"}, {"SR,V,Auto", "Range V changed"},
		{"Go,1000,0,session_ranging", "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"},
		{"Stop", "Stopping untimed measurement"},
		{"SR,A,1", "Range A changed"}, {"SR,V,300", "Range V changed"},
		{"Go,1000,0,session_testing", "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"},
		{"Stop", "Stopping untimed measurement"}, {"Stop", "Error: no measurement to stop"},
		{"SR,A,5.0", "Range A changed"}, {"SR,V,Auto", "Range V changed"},
		{"SR,A,2", "Range A changed"},
	} {
		talk = append(talk, object{"cmd": line[0], "reply": line[1]})
	}
	return talk
}

// daemonLines are what the daemon logs. Ranging is over when the run begins.
func (p *powered) daemonLines() []string {
	return []string{
		p.at(-2000) + ": Uncertainty checking for YokogawaWT310E is activated",
		p.at(-1000) + ": Go with mark 'session_ranging'",
		p.at(-500) + ": Completed test",
		p.at(-5) + ": Go with mark 'session_testing'",
		p.at(runSeconds+5) + ": Completed test",
	}
}

// logged puts a line into the daemon's log, seconds after the run began.
func (p *powered) logged(second int, text string) {
	p.daemon = append(p.daemon, p.at(second)+text)
}

func (p *powered) writeAll() {
	for run, text := range p.samples {
		p.write(p.folder+"/"+run+"/spl.txt", text)
	}
	for _, name := range []string{"client.log", "server.log"} {
		p.write(p.folder+"/power/"+name, name+"\n")
	}
	p.write(p.folder+"/power/ptd_logs.txt", strings.Join(p.daemon, "\n")+"\n")
	for _, side := range []object{p.client, p.server} {
		if _, has := side["results"]; !has {
			side["results"] = p.sums()
		}
	}
	p.writeJSON("client.json", p.client)
	p.writeJSON("server.json", p.server)
	p.written()
}

func (p *powered) sums() object {
	sums := object{}
	for _, name := range hashed {
		sum := sha1.Sum([]byte(p.read(p.folder + "/" + name)))
		sums[name] = hex.EncodeToString(sum[:])
	}
	return sums
}

func (p *powered) writeJSON(name string, v any) {
	text, err := json.MarshalIndent(v, "", " ")
	p.ok(err)
	p.write(p.folder+"/power/"+name, string(text))
}

// phase moves the beginning of a phase, on one side.
func (p *powered) phase(side object, mode string, i int, seconds float64) {
	at := side["phases"].(object)[mode].([]any)[i].([]any)
	at[0] = at[0].(float64) + seconds
}

// command changes the n-th command to the daemon that starts so, and its reply.
func (p *powered) command(start string, n int, cmd, reply any) {
	for _, c := range p.server["ptd_messages"].([]any) {
		message := c.(object)
		if text, _ := message["cmd"].(string); strings.HasPrefix(text, start) {
			if n--; n == 0 {
				message["cmd"], message["reply"] = cmd, reply
				return
			}
		}
	}
	p.t.Fatalf("no command %s", start)
}

// both gives a member of both sides' JSON another value.
func (p *powered) both(name string, v any) { p.client[name], p.server[name] = v, v }

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

func message(side object, n int) object { return side["messages"].([]any)[n].(object) }

// greet changes the first message of both sides.
func greet(p *powered, client, server string) {
	for _, side := range []object{p.client, p.server} {
		message(side, 0)["cmd"], message(side, 0)["reply"] = client, server
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
