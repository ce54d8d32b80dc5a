package checker

import (
	"encoding/json"
	"strconv"
	"strings"
)

// scenarioChanges give power to results of other scenarios than Offline.
var scenarioChanges = []change{
	{"v6.1 power of SingleStream", func(e *edit) { power(e, "SingleStream", func(*powered) {}) }},
	{"v6.1 power of MultiStream", func(e *edit) { power(e, "MultiStream", func(*powered) {}) }},
	{"v6.1 power of MultiStream inferred", func(e *edit) { e.copy("R/SingleStream", "R/MultiStream"); power(e, "MultiStream", func(*powered) {}) }},
	{"v6.1 power of SingleStream without queries", func(e *edit) {
		power(e, "SingleStream", func(p *powered) { p.set(perf(openBench("resnet50/SingleStream")), "result_query_count", "0") })
	}},
	{"v6.1 power of SingleStream, queries a text", func(e *edit) {
		power(e, "SingleStream", func(p *powered) { p.set(perf(openBench("resnet50/SingleStream")), "result_query_count", `" 10 "`) })
	}},
	{"v6.1 power of SingleStream, queries missing", func(e *edit) {
		power(e, "SingleStream", func(p *powered) { p.drop(perf(openBench("resnet50/SingleStream")), "result_query_count") })
	}},
}

// powerChanges are made to the files of results with power.
var powerChanges = []change{
	{"v6.1 power", offline(func(*powered) {})},

	{"v6.1 power without its log of the client", written(func(p *powered) { p.remove(p.folder + "/power/client.log") })},
	{"v6.1 power with one file more", written(func(p *powered) { p.write(p.folder+"/power/notes.txt", "x") })},
	{"v6.1 power with a trace", written(func(p *powered) { p.write(p.folder+"/ranging/mlperf_log_trace.json", "x") })},
	{"v6.1 power with an accuracy log", written(func(p *powered) { p.write(p.folder+"/ranging/mlperf_log_accuracy.json", "x") })},
	{"v6.1 power without ranging", written(func(p *powered) { p.remove(p.folder + "/ranging") })},
	{"v6.1 power without a summary of ranging", written(func(p *powered) { p.remove(p.folder + "/ranging/mlperf_log_summary.txt") })},
	{"v6.1 power without samples of the run", written(func(p *powered) { p.remove(p.folder + "/run_1/spl.txt") })},
	{"v6.1 power is a file", written(func(p *powered) { p.remove(p.folder + "/power"); p.write(p.folder+"/power", "x") })},
	{"v6.1 power is an empty folder", written(func(p *powered) { p.remove(p.folder + "/power"); p.mkdir(p.folder + "/power") })},

	{"v6.1 power, client cut", written(func(p *powered) { p.write(p.folder+"/power/client.json", "{") })},
	{"v6.1 power, client a list", written(func(p *powered) { p.write(p.folder+"/power/client.json", "[]") })},
	{"v6.1 power, server not UTF-8", written(func(p *powered) { p.write(p.folder+"/power/server.json", "\xff") })},
	{"v6.1 power, client without modules", offline(func(p *powered) { delete(p.client, "modules") })},
	{"v6.1 power, server without a timezone", offline(func(p *powered) { delete(p.server, "timezone") })},
	{"v6.1 power, timezone in words", offline(func(p *powered) { p.server["timezone"] = "UTC" })},
	{"v6.1 power, timezone a text", offline(func(p *powered) { p.server["timezone"] = "3600" })},
	{"v6.1 power, timezone of the client null", offline(func(p *powered) { p.client["timezone"] = nil })},
	{"v6.1 power, sources changed", offline(func(p *powered) { p.client["sources"].(map[string]string)["client.py"] = "0" })},
	{"v6.1 power, sources of the server changed", offline(func(p *powered) { delete(p.server["sources"].(map[string]string), "client.py") })},
	{"v6.1 power, one source more", offline(func(p *powered) { p.server["sources"].(map[string]string)["x.py"] = "0" })},
	{"v6.1 power, sources a list", offline(func(p *powered) { p.server["sources"] = []any{} })},
	{"v6.1 power, debug", offline(func(p *powered) { p.server["debug"] = true })},
	{"v6.1 power, debug false", offline(func(p *powered) { p.server["debug"] = false })},
	{"v6.1 power, debug 0", offline(func(p *powered) { p.server["debug"] = 0 })},
	{"v6.1 power, debug of the client", offline(func(p *powered) { p.client["debug"] = true })},

	{"v6.1 power, sessions of two names", offline(func(p *powered) { p.client["session_name"] = "other" })},
	{"v6.1 power, session with a quote in its name", offline(func(p *powered) {
		p.both("session_name", "it's")
		p.daemon[1] = p.at(-1000) + `: Go with mark "it's_ranging"`
	})},
	{"v6.1 power, session of another mark", offline(func(p *powered) { p.both("session_name", "other") })},
	{"v6.1 power, UUID of another server", offline(func(p *powered) { uuids(p)["server"] = "0f8fad5b-d9cb-469f-a165-70867728950f" })},
	{"v6.1 power, UUID of another client", offline(func(p *powered) { uuids(p)["client"] = "0f8fad5b-d9cb-469f-a165-70867728950f" })},
	{"v6.1 power, UUID in capitals and braces", offline(func(p *powered) { uuids(p)["server"] = "{0F8FAD5B-D9CB-469F-A165-70867728950E}" })},
	{"v6.1 power, UUID as a URN", offline(func(p *powered) { uuids(p)["client"] = "urn:uuid:c3b1a9be58d84ac88b0f2d1f7a4b9a10" })},
	{"v6.1 power, UUID too short", offline(func(p *powered) { uuids(p)["client"] = "c3b1" })},
	{"v6.1 power, UUID of Python's digits", offline(func(p *powered) { uuids(p)["client"] = "0xb1a9be58d84ac88b0f2d1f7a4b9a10" })},
	{"v6.1 power, UUID missing", offline(func(p *powered) { delete(uuids(p), "client") })},
	{"v6.1 power, UUID a number", offline(func(p *powered) { uuids(p)["client"] = 1 })},

	{"v6.1 power, clocks 0.75 s apart", offline(func(p *powered) { p.phase(p.client, "ranging", 0, 0.75) })},
	{"v6.1 power, clocks 0.75 s apart the other way", offline(func(p *powered) { p.phase(p.client, "testing", 3, -0.75) })},
	{"v6.1 power, clocks 0.8125 s apart", offline(func(p *powered) { p.phase(p.server, "ranging", 3, 0.8125) })},
	{"v6.1 power, clocks 0.8125 s apart in the run", offline(func(p *powered) { p.phase(p.client, "testing", 0, 0.8125) })},
	{"v6.1 power, one phase less", offline(func(p *powered) { dropPhase(p.client, "testing") })},
	{"v6.1 power, one phase less on both sides", offline(func(p *powered) { dropPhase(p.client, "testing"); dropPhase(p.server, "testing") })},
	{"v6.1 power, two phases less on both sides", offline(func(p *powered) {
		for range 2 {
			dropPhase(p.client, "ranging")
			dropPhase(p.server, "ranging")
		}
	})},
	{"v6.1 power, phases missing", offline(func(p *powered) { delete(p.server["phases"].(object), "testing") })},
	{"v6.1 power, a phase a text", offline(func(p *powered) { p.client["phases"].(object)["testing"].([]any)[3].([]any)[0] = "x" })},
	{"v6.1 power, a run that began before its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, 10.5) })},
	{"v6.1 power, a run that ended after its phase", offline(func(p *powered) { shiftPhase(p, "testing", 2, -10.5) })},
	{"v6.1 power, ranging that ended after its phase", offline(func(p *powered) { shiftPhase(p, "ranging", 2, -10.5) })},
	{"v6.1 power, a run an hour after its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, -3600); shiftPhase(p, "testing", 2, -3600) })},
	{"v6.1 power, a run two hours after its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, -7200); shiftPhase(p, "testing", 2, -7200) })},
	{"v6.1 power, a run an hour before its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, 3600); shiftPhase(p, "testing", 2, 3600) })},
	{"v6.1 power, ranging without its end", offline(func(p *powered) { p.drop(p.folder+"/ranging/mlperf_log_detail.txt", "power_end") })},
	{"v6.1 power, ranging whose end is no time", offline(func(p *powered) { p.set(p.folder+"/ranging/mlperf_log_detail.txt", "power_end", `"soon"`) })},
	{"v6.1 power, ranging that took no time", offline(func(p *powered) {
		p.set(p.folder+"/ranging/mlperf_log_detail.txt", "power_end", strconv.Quote(stamp(p.begin)))
	})},
	{"v6.1 power, ranging with POWER_END in a comment", offline(func(p *powered) {
		path := p.folder + "/ranging/mlperf_log_detail.txt"
		p.write(path, p.read(path)+"# POWER_END at noon\n")
	})},
	{"v6.1 power, ranging with POWER_BEGIN in a comment first", offline(func(p *powered) {
		path := p.folder + "/ranging/mlperf_log_detail.txt"
		p.write(path, "# POWER_BEGIN at noon\n"+p.read(path))
	})},
	{"v6.1 power, a run whose begin is no time", offline(func(p *powered) { p.set(p.folder+"/run_1/mlperf_log_detail.txt", "power_begin", "1") })},

	{"v6.1 power, 4 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(96) })},
	{"v6.1 power, 4.994 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(95.006) })},
	{"v6.1 power, 4.996 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(95.004) })},
	{"v6.1 power, 5 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(95) })},
	{"v6.1 power, more than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(200) })},
	{"v6.1 power, 5 % less than a long ranging", offline(func(p *powered) { longRanging(p, 2); p.samples["run_1"] = p.sampleLines(50) })},
	{"v6.1 power, 5 % less than a longer ranging", offline(func(p *powered) { longRanging(p, 3); p.samples["run_1"] = p.sampleLines(50) })},
	{"v6.1 power, samples of 0 W", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(0) })},
	{"v6.1 power, samples of 0 W in ranging", offline(func(p *powered) { p.samples["ranging"] = p.sampleLines(0) })},
	{"v6.1 power, samples of next to nothing in ranging", offline(func(p *powered) { p.samples["ranging"] = p.sampleLines(0.000001) })},
	{"v6.1 power, some samples below 0", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "-500") })},
	{"v6.1 power, a sample of nan", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "nan") })},
	{"v6.1 power, a sample of inf", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "inf") })},
	{"v6.1 power, a sample in words", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "much") })},
	{"v6.1 power, a sample in words before the run", offline(func(p *powered) { p.samples["run_1"] += p.sample(-61, "much") })},
	{"v6.1 power, a sample at the very begin", offline(func(p *powered) { p.samples["run_1"] += p.sample(0, "much") })},
	{"v6.1 power, a sample at the very end", offline(func(p *powered) { p.samples["run_1"] += p.sample(runSeconds, "much") })},
	{"v6.1 power, a sample that is cut", offline(func(p *powered) { p.samples["run_1"] += "Time," + p.at(runSeconds + 61)[:8] })},
	{"v6.1 power, a sample that is cut behind its time", offline(func(p *powered) { p.samples["run_1"] += "Time," + p.at(runSeconds+61) + ",Wat" })},
	{"v6.1 power, a sample of the run that is cut", offline(func(p *powered) { p.samples["run_1"] += "Time," + p.at(61) + ",Watts,100" })},
	{"v6.1 power, a sample without a time", offline(func(p *powered) { p.samples["run_1"] += "Time\n" })},
	{"v6.1 power, a factor in words", offline(func(p *powered) { p.samples["run_1"] += strings.Replace(p.sample(61, "100"), "0.96", "good", 1) })},
	{"v6.1 power, other lines among samples", offline(func(p *powered) { p.samples["run_1"] = "x\n time\n" + p.samples["run_1"] })},
	{"v6.1 power, samples with carriage returns", offline(func(p *powered) {
		p.samples["run_1"] = strings.ReplaceAll(p.samples["run_1"], "\n", "\r\n")
	})},
	{"v6.1 power, samples not UTF-8", offline(func(p *powered) { p.samples["run_1"] += "\xff\n" })},
	{"v6.1 power, samples of another day", offline(func(p *powered) {
		p.samples["run_1"] = strings.ReplaceAll(p.samples["run_1"], p.at(0)[:10], "01-01-2001")
	})},

	{"v6.1 power, one message less", offline(func(p *powered) { p.client["messages"] = p.client["messages"].([]any)[:2] })},
	{"v6.1 power, no messages", offline(func(p *powered) { p.both("messages", []any{}) })},
	{"v6.1 power, another message", offline(func(p *powered) { talked(p.client, 2)["cmd"] = "old" })},
	{"v6.1 power, another reply", offline(func(p *powered) { talked(p.client, 2)["reply"] = "no" })},
	{"v6.1 power, another reply to time", offline(func(p *powered) { talked(p.client, 1)["reply"] = "2" })},
	{"v6.1 power, no reply to time", offline(func(p *powered) { delete(talked(p.client, 1), "reply") })},
	{"v6.1 power, no reply to another", offline(func(p *powered) { delete(talked(p.client, 2), "reply") })},
	{"v6.1 power, null as the reply of both", offline(func(p *powered) { talked(p.client, 2)["reply"], talked(p.server, 2)["reply"] = nil, nil })},
	{"v6.1 power, null as the reply of one", offline(func(p *powered) { talked(p.client, 2)["reply"] = nil })},
	{"v6.1 power, versions apart", offline(func(p *powered) { greet(p, "mlcommons/power client v3", "mlcommons/power server v4") })},
	{"v6.1 power, versions of two digits", offline(func(p *powered) { greet(p, "a mlcommons/power client v10", "b mlcommons/power server v10\n") })},
	{"v6.1 power, a version with more behind", offline(func(p *powered) { greet(p, "mlcommons/power client v3", "mlcommons/power server v3b") })},

	{"v6.1 power, a result changed", written(func(p *powered) { p.write(p.folder+"/power/client.log", "changed") })},
	{"v6.1 power, checksums of one side only", offline(func(p *powered) { p.client["results"] = object{} })},
	{"v6.1 power, checksums of the other side only", offline(func(p *powered) { p.server["results"] = object{} })},
	{"v6.1 power, checksums of neither side", offline(func(p *powered) { p.both("results", object{}) })},
	{"v6.1 power, checksums that differ", written(func(p *powered) {
		sums := p.sums()
		sums["power/client.log"] = "0"
		p.client["results"] = sums
		p.writeJSON("client.json", p.client)
	})},
	{"v6.1 power, checksums of other files too", written(func(p *powered) {
		sums := p.sums()
		sums["run_1/other.txt"] = "0"
		p.client["results"] = sums
		p.writeJSON("client.json", p.client)
	})},
	{"v6.1 power, checksums a list", offline(func(p *powered) { p.client["results"] = []any{} })},

	{"v6.1 power, daemon of another version", offline(func(p *powered) { p.said("Identify", 1, "Identify", "YokogawaWT310E,version=1.11.2-a") })},
	{"v6.1 power, daemon without a version", offline(func(p *powered) { p.said("Identify", 1, "Identify", "YokogawaWT310E") })},
	{"v6.1 power, daemon without an answer", offline(func(p *powered) { p.said("Identify", 1, "Identify", "") })},
	{"v6.1 power, daemon never asked", offline(func(p *powered) { p.said("Identify", 1, "identify", "x") })},
	{"v6.1 power, analyzer unknown", offline(func(p *powered) { p.said("Identify", 1, "Identify", "Other,version=1.11.1-a") })},
	{"v6.1 power, range not changed", offline(func(p *powered) { p.said("SR,V", 1, "SR,V,Auto", "Error") })},
	{"v6.1 power, not started", offline(func(p *powered) { p.said("Go,1000,", 2, "Go,1000,0,x", "Error") })},
	{"v6.1 power, not stopped", offline(func(p *powered) { p.said("Stop", 1, "Stop", "Error: no measurement to stop") })},
	{"v6.1 power, stopped a third time", offline(func(p *powered) { p.said("Stop", 3, "Stop", "Stopping untimed measurement") })},
	{"v6.1 power, stopped twice", offline(func(p *powered) { p.said("Stop", 3, "Status", "x") })},
	{"v6.1 power, stopped with an argument", offline(func(p *powered) { p.said("Stop", 1, "Stop,1", "Stopping untimed measurement") })},
	{"v6.1 power, amperes not set back", offline(func(p *powered) { p.said("SR,A", 3, "SR,A,1", "Range A changed") })},
	{"v6.1 power, amperes set back later", offline(func(p *powered) {
		p.said("SR,A", 3, "SR,A,1", "Range A changed")
		p.said("SR,A", 4, "SR,A,5.0", "Range A changed")
	})},
	{"v6.1 power, amperes set back too late", offline(func(p *powered) {
		p.said("SR,A", 3, "SR,A,1", "Range A changed")
		p.more("SR,A,5.0", "Range A changed")
	})},
	{"v6.1 power, amperes set three times", offline(func(p *powered) { p.said("SR,A", 4, "x", "Range A changed") })},
	{"v6.1 power, volts not set back", offline(func(p *powered) { p.said("SR,V", 3, "SR,V,300", "Range V changed") })},
	{"v6.1 power, volts never set back", offline(func(p *powered) { p.said("SR,V", 3, "x", "x") })},
	{"v6.1 power, ranges that were automatic", offline(func(p *powered) {
		p.said("RR", 1, "RR", "Ranges,0,0,0,-1")
		p.said("SR,A", 3, "SR,A,Auto", "Range A changed")
	})},
	{"v6.1 power, a range of volts not set back", offline(func(p *powered) { p.said("RR", 1, "RR", "Ranges,0,5.0,0,300.0") })},
	{"v6.1 power, a range of volts set back", offline(func(p *powered) {
		p.said("RR", 1, "RR", "Ranges,0,5.0,0,300.0")
		p.said("SR,V", 3, "SR,V,300.0", "Range V changed")
	})},
	{"v6.1 power, ranges in words", offline(func(p *powered) { p.said("RR", 1, "RR", "Ranges,0,five,1,300.0") })},
	{"v6.1 power, ranges that are cut", offline(func(p *powered) { p.said("RR", 1, "RR", "Ranges,0,5.0") })},
	{"v6.1 power, ranges cut behind the amperes", offline(func(p *powered) { p.said("RR", 1, "RR", "Ranges,0") })},
	{"v6.1 power, two words to the daemon", offline(func(p *powered) { p.server["ptd_messages"] = p.server["ptd_messages"].([]any)[:2] })},
	{"v6.1 power, no words to the daemon", offline(func(p *powered) { delete(p.server, "ptd_messages") })},
	{"v6.1 power, null as a reply that nobody reads", offline(func(p *powered) { p.said("Hello", 1, "Hello", nil) })},
	{"v6.1 power, a command that is a number", offline(func(p *powered) { p.said("Hello", 1, 5, "x") })},

	{"v6.1 power, analyzer 8", offline(func(p *powered) { analyzer(p)["device_type"] = 8 })},
	{"v6.1 power, analyzer 9", offline(func(p *powered) { analyzer(p)["device_type"] = 9 })},
	{"v6.1 power, analyzer 49.0", offline(func(p *powered) { analyzer(p)["device_type"] = json49 })},
	{"v6.1 power, analyzer without a type", offline(func(p *powered) { delete(analyzer(p), "device_type") })},
	{"v6.1 power, no analyzer", offline(func(p *powered) { p.server["ptd_config"] = []any{} })},
	{"v6.1 power, analyzers missing", offline(func(p *powered) { delete(p.server, "ptd_config") })},
	{"v6.1 power, two channels", offline(func(p *powered) { channels(p, []any{1, 2}, "-c", "1,2") })},
	{"v6.1 power, two channels but one used", offline(func(p *powered) { channels(p, []any{1}, "-c", "1,2") })},
	{"v6.1 power, two channels used but one", offline(func(p *powered) { channels(p, []any{1, 2}, "-c", "1") })},
	{"v6.1 power, two channels and none named", offline(func(p *powered) { channels(p, []any{1, 2}, "-p", "1,2") })},
	{"v6.1 power, two channels, cut", offline(func(p *powered) { channels(p, []any{1, 2}, "-c") })},
	{"v6.1 power, channels null", offline(func(p *powered) { channels(p, nil, "-c", "1,2") })},
	{"v6.1 power, channels a text", offline(func(p *powered) { channels(p, "12", "-c", "1,2") })},

	{"v6.1 power, no ranging in the daemon's log", offline(func(p *powered) { p.daemon[1] = p.at(-1000) + ": Go with mark 'session_testing'" })},
	{"v6.1 power, ranging without an end in the daemon's log", offline(func(p *powered) { p.daemon = p.daemon[:2] })},
	{"v6.1 power, uncertainty not checked", offline(func(p *powered) { p.daemon = p.daemon[1:] })},
	{"v6.1 power, uncertainty checked too late", offline(func(p *powered) { p.daemon[0] = p.at(-999) + ": Uncertainty checking for YokogawaX is activated" })},
	{"v6.1 power, uncertainty checked at no time", offline(func(p *powered) { p.daemon[0] = "Uncertainty checking for YokogawaX is activated" })},
	{"v6.1 power, uncertainty of a meter with a space", offline(func(p *powered) { p.daemon[0] = p.at(-2000) + ": Uncertainty checking for Yokogawa X is activated" })},
	{"v6.1 power, uncertain in the run", offline(func(p *powered) { p.logged(1500, ": WARNING: "+aboveLimit) })},
	{"v6.1 power, uncertain soon after the begin", offline(func(p *powered) { p.logged(800, ": WARNING: "+aboveLimit) })},
	{"v6.1 power, uncertain soon before the end", offline(func(p *powered) { p.logged(runSeconds-800, ": WARNING: "+aboveLimit) })},
	{"v6.1 power, uncertain at no time", offline(func(p *powered) { p.daemon = append(p.daemon, "WARNING: "+aboveLimit) })},
	{"v6.1 power, another warning before an error", offline(func(p *powered) { p.logged(1500, ": WARNING: x"); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, another warning too early to end the check", offline(func(p *powered) { p.logged(1, ": WARNING: x"); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, an empty warning", offline(func(p *powered) { p.logged(1500, ": WARNING:"); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, an error in the run", offline(func(p *powered) { p.logged(1500, ": ERROR: Bad watts reading nan from x") })},
	{"v6.1 power, an error of USB in the run", offline(func(p *powered) { p.logged(1500, ": ERROR: USB."); p.logged(1501, ": ERROR: y") })},
	{"v6.1 power, a usual error in ranging", offline(func(p *powered) { p.logged(-700, ": ERROR: Bad watts reading nan from x") })},
	{"v6.1 power, a usual error in ranging before another", offline(func(p *powered) {
		p.logged(-700, ": ERROR: Bad watts reading nan from x")
		p.logged(1500, ": ERROR: y")
	})},
	{"v6.1 power, an unusual error in ranging before another", offline(func(p *powered) { p.logged(-700, ": ERROR: x"); p.logged(1500, ": ERROR: y") })},
	{"v6.1 power, an error when ranging ends", offline(func(p *powered) { p.logged(-500, ": ERROR: x") })},
	{"v6.1 power, an error when ranging begins", offline(func(p *powered) { p.logged(-1000, ": ERROR: x") })},
	{"v6.1 power, an error at no time", offline(func(p *powered) { p.daemon = append(p.daemon, "ERROR: x") })},
	{"v6.1 power, a time that is none", offline(func(p *powered) { p.daemon = append([]string{"13-01-2026 10:00:00.000: x"}, p.daemon...) })},
	{"v6.1 power, a time that is none behind ranging", offline(func(p *powered) { p.daemon = append(p.daemon, "13-01-2026 10:00:00.000: x") })},
	{"v6.1 power, a time with a comma", offline(func(p *powered) { p.daemon[0] = strings.Replace(p.daemon[0], ".", ",", 1) })},
	{"v6.1 power, the daemon's log not UTF-8", offline(func(p *powered) { p.daemon = append(p.daemon, "\xff") })},
	{"v6.1 power, the daemon's log empty", offline(func(p *powered) { p.daemon = nil })},

	{"v6.1 nameplate and capacity", plate(`"1200"`, "x")},
	{"v6.1 nameplate of power", plate("", "node:\n  PSUs:\n  - PowerCapacityWatts: 800\n  - PowerCapacityWatts: 900\n  Min PSUs Needed: 1\n")},
	{"v6.1 nameplate of several nodes", plate("", "- a: {psus: [{PowerCapacityWatts: 800.5}], MIN PSUS NEEDED: 3}\n- b: [{PSUs: [{}, {PowerCapacityWatts: 1}], Min PSUs Needed: 1}]\n- 5\n")},
	{"v6.1 nameplate empty", plate("", "")},
	{"v6.1 nameplate a text", plate("", "hello\n")},
	{"v6.1 nameplate without a count", plate("", "PSUs: [{PowerCapacityWatts: 800}]\n")},
	{"v6.1 nameplate with a count of -1", plate("", "{PSUs: [{PowerCapacityWatts: 800}, {PowerCapacityWatts: 700}], Min PSUs Needed: -1}\n")},
	{"v6.1 nameplate with a count of null", plate("", "{PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: null}\n")},
	{"v6.1 nameplate with a count of true", plate("", "{PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: true}\n")},
	{"v6.1 nameplate with a count of 1.0", plate("", "{PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: 1.0}\n")},
	{"v6.1 nameplate with a count in quotes", plate("", "{PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: '1'}\n")},
	{"v6.1 nameplate with watts in quotes", plate("", "{PSUs: [{PowerCapacityWatts: '800'}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with watts of 1e3", plate("", "{PSUs: [{PowerCapacityWatts: 1e3}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with watts of 1.0e+3", plate("", "{PSUs: [{PowerCapacityWatts: 1.0e+3}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with watts of null", plate("", "{PSUs: [{PowerCapacityWatts: null}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with a supply that is a number", plate("", "{PSUs: [800], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with supplies that are a number", plate("", "{PSUs: 800, Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with a number as a name", plate("", "1:\n  PSUs: [{PowerCapacityWatts: 800}]\n  Min PSUs Needed: 1\n")},
	{"v6.1 nameplate with a name twice", plate("", "a: 1\na: {PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: 1}\n")},
	{"v6.1 nameplate with an anchor", plate("", "a: &a {PSUs: [{PowerCapacityWatts: 800}], Min PSUs Needed: 1}\nb: *a\n")},
	{"v6.1 nameplate of two documents", plate("", "a: 1\n---\nb: 2\n")},
	{"v6.1 nameplate with a tab", plate("", "a:\n\tb: 1\n")},
}

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
